"""The report of every kind of run: its model, its machine contract, its words, and that no string escapes."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path

import pytest

from auditor.engine.audit import Audit
from auditor.errors import AuditError
from auditor.facts.header import FIELDS
from auditor.present import html, markdown
from auditor.present.embedded import REPORT_VERSION, embed, extract
from auditor.present.json_v1 import as_json
from auditor.present.model import model
from auditor.present.render import RENDERERS
from tests.present.conftest import HOSTILE, KINDS

LIMIT_BYTES = 500_000


class Elements(HTMLParser):
    """All start tags with their attributes, and the text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


@pytest.mark.parametrize("kind", KINDS)
def test_a_report_renders_again_byte_for_byte(audits: Mapping[str, Audit], kind: str) -> None:
    made = model(audits[kind])
    assert made["report_version"] == REPORT_VERSION
    page = html.render(made)
    again = extract(page, "x")
    assert again == made
    for render in RENDERERS.values():
        assert render(again) == render(made)
    assert RENDERERS["json"](made) == as_json(audits[kind])
    assert len(page.encode()) <= LIMIT_BYTES


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_machine_reads(audits: Mapping[str, Audit], kind: str) -> None:
    audit = audits[kind]
    found = Elements(html.render(model(audit)))
    rows = [row for row in found.all("tr") if "data-field" in row]
    assert [(r["data-field"], r["data-unit"]) for r in rows] == [(name, unit) for name, _, unit in FIELDS]
    for row in rows:
        field = audit.header.fields[row["data-field"] or ""]
        assert row["data-status"] == field.status
        if field.value is None:
            assert row["data-value"] == ""
        else:
            assert float(row["data-value"] or "nan") == pytest.approx(field.value, rel=1e-14)
    named = {m["name"]: m["content"] for m in found.all("meta") if "name" in m}
    assert named["k6-audit-verdict"] == audit.verdict
    assert named["k6-audit-version"] == audit.tool_version
    assert [s["id"] for s in found.all("script")] == ["k6-audit-result"]


def test_no_script_no_inline_style_no_address(audits: Mapping[str, Audit]) -> None:
    for audit in audits.values():
        page = html.render(model(audit))
        found = Elements(page)
        assert [s["type"] for s in found.all("script")] == ["application/json"]
        for _, attributes in found.tags:
            assert "style" not in attributes
            assert "src" not in attributes
            assert not any(name.startswith("on") for name in attributes)
            assert (attributes.get("href") or "#").startswith("#")
        policy = next(m["content"] for m in found.all("meta") if m.get("http-equiv"))
        assert policy is not None
        assert policy.startswith("default-src 'none'; style-src 'sha256-")
        targets = {a["id"] for _, a in found.tags if "id" in a}
        assert {(a["href"] or "")[1:] for a in found.all("a")} <= targets


def test_ids_are_unique(audits: Mapping[str, Audit]) -> None:
    for audit in audits.values():
        ids = [a["id"] for _, a in Elements(html.render(model(audit))).tags if "id" in a]
        assert len(ids) == len(set(ids))


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("starved", ["over offered demand", "not identified", "do not rely on the figures", "OL01"]),
        ("closed", ["of what was sent", "no starts were planned", "What was to be offered is not known"]),
        ("unproven", ["too little is known", "keeps the run from being proven", "no host metrics"]),
        ("cut", ["not reached", "in flight at the end", "exit code 137"]),
        ("empty", ["Not drawn:", "INVALID"]),
        ("several", ["browse", "buy", "Accounting by scenario", "and 21 more, left out here"]),
        ("waived", ["1 waived", "this verdict rests on waivers", "Waived: "]),
    ],
)
def test_the_page_says(audits: Mapping[str, Audit], kind: str, words: list[str]) -> None:
    text = " ".join(" ".join(Elements(html.render(model(audits[kind]))).words).split())
    for one in words:
        assert one in text


def test_waivers_stand_wherever_the_verdict_does(audits: Mapping[str, Audit]) -> None:
    made = model(audits["waived"])
    page = html.render(made)
    words = audits["waived"].verdict_words
    assert re.search(rf"<title>{words}: ", page)
    assert f"</span>{words}</h2>" in page
    assert markdown.render(made).startswith(f"# ✓ {words}: ")


def test_every_figure_is_drawn_for_a_whole_run(audits: Mapping[str, Audit]) -> None:
    made = model(audits["starved"])
    for figure in made["figures"].values():
        assert "why_not" not in figure
        assert len(figure["rows"]) <= 60
        for series in figure["series"].values():
            assert len(series["x"]) == len(series["y"]) <= 800
    planned, started = (made["figures"]["load"]["series"][name] for name in ("planned", "started"))
    assert planned["y"][:29] == [100] * 29
    assert sum(y for y in started["y"] if y) == 2250
    share = made["figures"]["percentiles"]["known_share"]
    assert share == pytest.approx(0.75, abs=0.001)
    assert max(made["figures"]["percentiles"]["series"]["offered"]["x"]) <= math.log10(4) + 1e-3


def test_a_broken_fact_does_not_keep_the_report_from_being_written(
    audits: Mapping[str, Audit], monkeypatch: pytest.MonkeyPatch
) -> None:
    from auditor.present import model as module

    def broken(facts: object) -> dict[str, object]:
        raise ZeroDivisionError("oops")

    monkeypatch.setitem(module.FIGURES, "load", broken)
    made = model(audits["healthy"])
    assert made["figures"]["load"]["why_not"] == "it could not be made: ZeroDivisionError: oops"
    assert "ZeroDivisionError: oops" in html.render(made)


def test_the_json_inside_cannot_be_ended_by_a_string() -> None:
    made = {"x": "</script><!--<script>&\u2028\u2029\ud800", "y": [1.5, None]}
    text = embed(made)
    assert not set("<>&\u2028\u2029") & set(text)
    assert text.isascii()
    assert json.loads(text) == made


@pytest.mark.parametrize(
    ("page", "says"),
    [
        ("<html></html>", "no embedded k6-audit result"),
        ('<script type="application/json" id="k6-audit-result">{"a"</script>', "damaged"),
        ('<script type="application/json" id="k6-audit-result">{"report_version":2}</script>', "version 2"),
        ('<script type="application/json" id="k6-audit-result">[]</script>', "version None"),
    ],
)
def test_a_page_without_a_whole_result_is_refused(page: str, says: str) -> None:
    with pytest.raises(AuditError, match=says):
        extract(page, "x.html")


def test_markdown_has_the_fields_in_order_and_one_table_each(audits: Mapping[str, Audit]) -> None:
    text = markdown.render(model(audits["starved"]))
    table = text[text.index("| Field | Value | Detail |") :].split("\n\n")[0].splitlines()
    assert [line.split(" | ")[0].removeprefix("| ") for line in table[2:]] == [label for _, label, _ in FIELDS]
    assert "≥ " in table[-2]
    assert "not identified" in table[-2]
    assert "over offered demand" in table[-2]
    order = ["| Field", "Accounting:", "## Why, and what to do", "## The run in tables", "## Provenance"]
    places = [text.index(word) for word in order]
    assert places == sorted(places)
    root = re.search(r"^- \*\*(\w+)\*\*.*\n(?:  - .*\n)+", text, re.M)
    assert root is not None


def test_markdown_of_hostile_strings_is_inert(audits: Mapping[str, Audit]) -> None:
    text = markdown.render(model(audits["hostile"]))
    assert not set(text) & set("\x00\x1b\u202e\u2066\u2028")
    outside = re.sub(r"(?<![`\\])(`+)(?!`).*?(?<!`)\1(?!`)", "", text)
    assert "<" not in outside
    assert not re.search(r"(?<!\\)\[", outside)
    assert not re.search(r"(?<!\\)://", outside)
    for block in text.split("\n\n"):
        lines = [line for line in block.splitlines() if line.startswith("|")]
        widths = {len(re.findall(r"(?<!\\)\|", line)) for line in lines}
        assert len(widths) <= 1, block


@pytest.mark.parametrize("text", HOSTILE)
def test_code_spans_hold_any_string(text: str) -> None:
    span = markdown.code(text)
    fence = re.match("`+", span)
    assert fence is not None
    inside = span[len(fence[0]) : -len(fence[0])]
    assert fence[0] not in inside
    assert span.endswith(fence[0])
    assert not re.search(r"(?<!\\)\|", span)


def test_a_long_run_stays_small(tmp_path: Path, rules: tuple[object, ...]) -> None:
    """40 minutes, with a name and an error of its own for nearly every request."""
    from tests.builder import Answer, Run, Scenario
    from tests.present.conftest import judged

    long = Scenario(
        rate=2,
        duration_s=2400,
        request_name=lambda i: f"GET /{i}/" + "x" * 200,
        answer=lambda i, at: Answer(30.0 + i % 17, "500", i % 3 == 0, "1500", f"error {i} " + "y" * 900),
    )
    page = html.render(model(judged(Run([long]).write(tmp_path / "long"), rules)))  # type: ignore[arg-type]
    assert len(page.encode()) <= LIMIT_BYTES
