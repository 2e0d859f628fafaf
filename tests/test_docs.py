"""What the documentation names exists: files, rules, commands, options and keys of the configuration."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer.main

from auditor.cli.app import app
from auditor.engine.loader import load_rules
from auditor.engine.rule import FAMILIES

ROOT = Path(__file__).resolve().parent.parent
PAGES = [
    *sorted((ROOT / "docs").glob("*.md")),
    *(ROOT / f"{n}.md" for n in ("README", "CONTRIBUTING", "SECURITY")),
]
EVERY_PAGE = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)

FOLDERS = "auditor|rules|templates|tests|docs|sample_runs|benchmarks"
FILE = re.compile(rf"(?<![\w/.-])(?:{FOLDERS})/[\w./*-]*")
LINK = re.compile(r"\]\(([^)#\s]*)(?:#([\w-]+))?\)")
RULE_ID = re.compile(rf"\b(?:{'|'.join(FAMILIES)})\d\d\b")
PLACEHOLDERS = ("FAMILY", "STORY", "RUN")

COMMAND = typer.main.get_command(app)
COMMANDS: dict[str, object] = dict(COMMAND.commands)  # type: ignore[attr-defined]
OF_OTHER_TOOLS = {
    # k6, pip, sadf and git, as the pages name them
    "--execution-requirements", "--execution-segment", "--execution-segment-sequence", "--group", "--iterations",
    "--log-format", "--log-output", "--out", "--rps", "--summary-export",
    "--require-hashes",
}  # fmt: skip


def _options() -> set[str]:
    def of(command: object) -> Iterator[str]:
        for parameter in getattr(command, "params", ()):
            yield from parameter.opts
            yield from parameter.secondary_opts
        for sub in getattr(command, "commands", {}).values():
            yield from of(sub)

    return {name for name in of(COMMAND) if name.startswith("--")} | {"--help"}


OPTIONS = _options()
RULES = {rule.meta.id for rule in load_rules()}


def _slug(heading: str) -> str:
    """The anchor of a heading, as code hosts make it."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


@EVERY_PAGE
def test_files_exist(page: Path) -> None:
    missing = []
    for found in FILE.finditer(page.read_text()):
        name = found[0].rstrip(".,;:*")
        if any(word in name for word in PLACEHOLDERS) or "*" in found[0]:
            continue
        if not (ROOT / name).exists():
            missing.append(name)
    assert not missing


@EVERY_PAGE
def test_links_lead_somewhere(page: Path) -> None:
    broken = []
    for target, anchor in LINK.findall(page.read_text()):
        if "://" in target:
            continue
        file = page.parent / target if target else page
        if not file.exists():
            broken.append(target)
        elif anchor:
            headings = re.findall(r"^#+ (.*)$", file.read_text(), re.M)
            if anchor not in map(_slug, headings):
                broken.append(f"{target}#{anchor}")
    assert not broken


@EVERY_PAGE
def test_rules_exist(page: Path) -> None:
    assert set(RULE_ID.findall(page.read_text())) <= RULES


@EVERY_PAGE
def test_commands_and_options_exist(page: Path) -> None:
    text = page.read_text()
    named = re.findall(r"(?:^\s*|`|\$ |; )k6-audit ([a-z]+)", text, re.M)
    assert set(named) <= set(COMMANDS)
    # An extra's or a URL's "--" never begins a word.
    options = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text))
    assert options <= OPTIONS | OF_OTHER_TOOLS | set(_script_options())


def _script_options() -> Iterator[str]:
    """Options of the scripts that the pages show, as those declare them."""
    for script in (*(ROOT / "benchmarks").glob("*.py"), *(ROOT / "sample_runs").glob("*.py")):
        yield from re.findall(r"""add_argument\(\s*["'](--[a-z-]+)""", script.read_text())


def test_no_line_of_the_definitions_is_too_long_to_read() -> None:
    lines = (ROOT / "docs" / "semantics.md").read_text().splitlines()
    assert not [line for line in lines if len(line) > 110 and not line.startswith("|")]


def test_sections_that_rules_refer_to_exist() -> None:
    sections = set(re.findall(r"^## (\d+)\. ", (ROOT / "docs" / "semantics.md").read_text(), re.M))
    named = {
        number
        for rule in load_rules()
        for reference in rule.meta.references
        for number in re.findall(r"semantics §(\d+)", reference)
    }
    assert named <= sections


def test_every_family_has_a_rule() -> None:
    assert {rule[:2] for rule in RULES} == set(FAMILIES)


def test_the_readme_shows_what_the_tool_prints() -> None:
    """Line by line; the README leaves out trailing spaces."""
    shown = re.search(
        r"^\$ (k6-audit lint [^\n]*)\n(.*?)\n\$ echo", (ROOT / "README.md").read_text(), re.M | re.S
    )
    assert shown is not None
    done = subprocess.run(
        [sys.executable, "-m", "auditor", *shown[1].split()[1:]],
        cwd=ROOT, capture_output=True, text=True, env={"COLUMNS": "100", "PATH": "/usr/bin:/bin"}, check=False,
    )  # fmt: skip
    printed = [line.rstrip() for line in done.stdout.strip("\n").splitlines()]
    assert done.returncode == 1
    assert shown[2].strip("\n").splitlines() == printed
