"""Markdown and plain text as blocks: pipe tables, headings, and lines; emphasis and list marks taken off.

A reader of its own, and small: what is needed of Markdown are its tables, and of prose its lines. It is linear
in the length of the text, whatever the text is.
"""

from __future__ import annotations

import re

from auditor.report_lint.read.blocks import LONGEST_TEXT, Block, Heading, Line, Row, Table, tidy

_RULE = re.compile(r"\s*\|?[\s:|-]*-[\s:|-]*\|?\s*")
_MARK = re.compile(r"\s*(?:[-*+•]\s+|\d{1,3}[.)]\s+|>\s*)*(?:\[[ xX]\]\s+)?")
_EMPHASIS = re.compile(r"\*\*|__|`|(?<!\w)[*_](?=\S)|(?<=\S)[*_](?!\w)")
_FENCE = re.compile(r"\s*(?:```|~~~)")


def read_markdown(text: str) -> tuple[Block, ...]:
    blocks: list[Block] = []
    lines = text.splitlines()
    i = 0
    while i < len(lines):
        line = lines[i][: 4 * LONGEST_TEXT]
        where = f"line {i + 1}"
        below = lines[i + 1][: 4 * LONGEST_TEXT] if i + 1 < len(lines) else ""
        if "|" in line and "-" in below and "|" in below and _RULE.fullmatch(below):
            end = i + 2
            while end < len(lines) and "|" in lines[end]:
                end += 1
            blocks.append(_table(lines, i, end))
            i = end
            continue
        if line.lstrip().startswith("#"):
            blocks.append(Heading(plain(line.strip().strip("#")), where))
        elif line.strip() and below.strip() and set(below.strip()) in ({"="}, {"-"}):
            blocks.append(Heading(plain(line), where))
            i += 1
        elif line.strip() and not _FENCE.match(line):
            blocks.append(Line(plain(line), where))
        i += 1
    return tuple(blocks)


def _table(lines: list[str], start: int, end: int) -> Table:
    rows = []
    for i in (start, *range(start + 2, end)):
        cells = tuple(plain(cell) for cell in _cells(lines[i][: 4 * LONGEST_TEXT]))
        rows.append(Row(cells, f"line {i + 1}", heads=len(cells) if i == start else 0))
    return Table(tuple(rows))


def _cells(line: str) -> list[str]:
    inner = line.strip().removeprefix("|")
    if inner.endswith("|") and not inner.endswith("\\|"):
        inner = inner[:-1]
    return [cell.replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", inner)]


def plain(text: str) -> str:
    """Without list marks and emphasis; runs of two or more spaces stay two, since they divide columns."""
    text = text[: 4 * LONGEST_TEXT]
    if mark := _MARK.match(text):
        text = text[mark.end() :] if text[mark.end() :].strip() else text
    text = _EMPHASIS.sub("", text)
    return "  ".join(tidy(part) for part in re.split(r"\t+|  +", text.strip()) if part.strip())[:LONGEST_TEXT]
