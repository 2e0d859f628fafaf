"""The HTML report in a real browser: silent, offline, on every width, in both schemes, and on paper."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from auditor.fields import FIELDS
from tests.present.conftest import KINDS

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

FIRST_SCREEN_PX = 900


@contextmanager
def opened(browser: Browser, path: Path, width: int = 1280, **context: Any) -> Iterator[tuple[Page, list[str]]]:
    """The page, and everything that it asked for or complained about."""
    noise: list[str] = []
    with browser.new_context(viewport={"width": width, "height": 900}, **context) as tab:
        page = tab.new_page()
        page.on("request", lambda request: noise.append(f"request {request.url}"))
        page.on("console", lambda message: noise.append(f"console {message.text}"))
        page.on("pageerror", lambda error: noise.append(f"error {error}"))
        page.goto(path.as_uri())
        noise.remove(f"request {path.as_uri()}")
        yield page, noise


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("width", [1280, 390])
def test_silent_offline_and_within_its_width(
    browser: Browser, pages: Mapping[str, Path], kind: str, width: int
) -> None:
    with opened(browser, pages[kind], width) as (page, noise):
        assert noise == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.title() != "owned"


@pytest.mark.parametrize("kind", ["healthy", "starved", "unproven", "closed", "cut", "empty"])
@pytest.mark.parametrize("width", [1280, 390])
def test_the_header_is_on_the_first_screen(
    browser: Browser, pages: Mapping[str, Path], kind: str, width: int
) -> None:
    with opened(browser, pages[kind], width) as (page, _):
        rows = page.locator("tr[data-field]").evaluate_all(
            "rows => rows.map(r => [r.dataset.field, r.cells[0].textContent, r.getBoundingClientRect().bottom])"
        )
    assert [(name, label) for name, label, _ in rows] == [(field.name, field.label) for field in FIELDS]
    assert max(bottom for _, _, bottom in rows) <= FIRST_SCREEN_PX


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_accessibility_findings(browser: Browser, pages: Mapping[str, Path], kind: str, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    with opened(browser, pages[kind], color_scheme=scheme, bypass_csp=True) as (page, _):
        page.locator("details").evaluate_all("all => all.forEach(one => one.open = true)")
        found = axe.run(page)
    assert found.violations_count == 0, found.generate_report()


@pytest.mark.parametrize(
    ("kind", "band"),
    [
        ("starved", "INVALID: do not rely"),
        ("unproven", "NOT PROVEN: too little is known"),
        ("empty", "INVALID"),
    ],
)
def test_the_band_is_on_every_printed_page(
    browser: Browser, pages: Mapping[str, Path], kind: str, band: str
) -> None:
    pypdf = pytest.importorskip("pypdf")
    with opened(browser, pages[kind]) as (page, _):
        printed = pypdf.PdfReader(io.BytesIO(page.pdf(prefer_css_page_size=True, print_background=True)))
    texts = [" ".join(sheet.extract_text().split()) for sheet in printed.pages]
    assert len(texts) >= 2
    assert all(band in text for text in texts)


def test_a_valid_run_has_no_band(browser: Browser, pages: Mapping[str, Path]) -> None:
    with opened(browser, pages["healthy"]) as (page, _):
        assert page.locator(".band").count() == 0
        assert page.locator("h2#verdict").inner_text().endswith("VALID")


def test_hostile_strings_make_nothing(browser: Browser, pages: Mapping[str, Path]) -> None:
    """Neither an element nor an attribute of the page comes from the run, and nothing of it runs."""
    names = "all => [...new Set(all.map(one => one.localName))].sort()"
    with opened(browser, pages["starved"]) as (page, _):
        ordinary = set(page.locator("*").evaluate_all(names))
    with opened(browser, pages["hostile"]) as (page, noise):
        assert noise == []
        assert page.title().startswith("INVALID")
        assert set(page.locator("*").evaluate_all(names)) <= ordinary
        assert page.locator("script").count() == 1
        handlers = page.locator("*").evaluate_all(
            "all => all.flatMap(one => one.getAttributeNames()).filter(name => name.startsWith('on') || name == 'style')"
        )
        assert handlers == []
        links = page.locator("[href], [src]").evaluate_all("all => all.map(one => one.getAttribute('href'))")
        assert all(link.startswith("#") for link in links)
        text = page.locator("body").inner_text()
        assert "<img src=x onerror=" in text
        assert not set(text) & set("\u202e\u2066\x1b\u2028")


def test_readable_in_order_without_its_style_sheet(
    browser: Browser, pages: Mapping[str, Path], tmp_path: Path
) -> None:
    """As under Jenkins' default policy, which allows neither a script nor a style of the page's own."""
    bare = tmp_path / "bare.html"
    text = pages["starved"].read_text(encoding="utf-8")
    start, end = text.index("<style>"), text.index("</style>")
    bare.write_text(text[:start] + text[end + len("</style>") :], encoding="utf-8")
    with opened(browser, bare, java_script_enabled=False) as (page, noise):
        assert noise == []
        words = page.locator("body").inner_text()
        order = ["INVALID", "planned =", "Target rate", "p99.9", "Why, and what to do", "Iterations per second"]
        places = [words.index(word) for word in [*order, "The run in tables", "Provenance"]]
        assert places == sorted(places)
        for svg in page.locator("figure > svg").all():
            box = svg.bounding_box()
            assert box is not None
            assert box["width"] == pytest.approx(480)
            assert box["height"] == pytest.approx(250)
