"""A page as blocks: tables, definition lists, headings and lines of its visible text, and machine names.

The parser is lexbor's (a browser's rules: it takes anything). The tree is walked without recursion, since a
hostile page nests as deep as it likes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from auditor.report_lint.read.blocks import Block, Heading, Line, Machine, Pair, Row, Table, tidy

if TYPE_CHECKING:
    from collections.abc import Iterator

RESULT_ID = "k6-audit-result"
VERDICT_META = "k6-audit-verdict"
_UNSEEN = frozenset(
    {"head", "script", "style", "template", "svg", "canvas", "noscript", "object", "iframe", "textarea"}
)
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6", "caption", "figcaption", "legend", "summary"})
# fmt: off
_INLINE = frozenset({
    "a", "abbr", "b", "bdi", "bdo", "cite", "code", "data", "em", "font", "i", "img", "input", "kbd", "label",
    "mark", "meter", "output", "q", "s", "samp", "small", "span", "strong", "sub", "sup", "time", "u", "var",
    "wbr",
})
# fmt: on
_CELLS = frozenset({"td", "th", "dt", "dd"})


_TAG = re.compile(r"<(/?)([a-z][a-z0-9-]*)", re.I)
# fmt: off
_NEED_NO_END = frozenset({
    "area", "base", "body", "br", "caption", "col", "colgroup", "dd", "dt", "embed", "head", "hr", "html",
    "img", "input", "li", "link", "meta", "optgroup", "option", "p", "rp", "rt", "source", "tbody", "td",
    "tfoot", "th", "thead", "tr", "track", "wbr",
})
_DRAWING = frozenset({
    "circle", "clippath", "defs", "ellipse", "g", "image", "line", "lineargradient", "marker", "mask", "path",
    "pattern", "polygon", "polyline", "rect", "stop", "svg", "symbol", "text", "tspan", "use",
})
# fmt: on
"""Elements that may close themselves, inside a drawing."""
DEEPEST = 1_000
"""Elements inside each other that are read. The parser's time grows with the square of the depth, and no page
that people read is nested a tenth as deep."""


@dataclass(frozen=True)
class Page:
    blocks: tuple[Block, ...]
    result: str = ""
    """The embedded result, as text."""
    verdict: str = ""
    """The verdict in the page's metadata."""
    cut: bool = False
    """Whether the rest was not read, because it is nested too deeply."""
    drawn: bool = False
    """Whether figures are kept as compressed data that a script draws (k6's own dashboard)."""


@dataclass
class _Table:
    rows: list[Row] = field(default_factory=list)
    cells: list[str] = field(default_factory=list)
    heads: int = 0
    machine: Machine | None = None
    number: int = 0


@dataclass
class _Walk:
    """What is open while the tree is walked."""

    blocks: list[Block] = field(default_factory=list)
    sinks: list[list[str]] = field(default_factory=lambda: [[]])
    """Text goes to the last: the line, or the cells that are open."""
    tables: list[_Table] = field(default_factory=list)
    terms: list[str] = field(default_factory=list)
    lines: int = 0
    found_tables: int = 0

    def flush(self) -> None:
        if len(self.sinks) > 1:
            self.sinks[-1].append(" ")
            return
        text = tidy("".join(self.sinks[0]))
        self.sinks[0].clear()
        if text:
            self.lines += 1
            self.blocks.append(Line(text, f"text {self.lines}"))


def read_html(text: str) -> Page:
    """Read a page, whatever it is."""
    from selectolax.lexbor import LexborHTMLParser

    end = _shallow(text)
    tree = LexborHTMLParser(text[:end])
    walk = _Walk()
    root: Any = tree.root
    if root is not None:
        for node, entering in _events(root):
            (_enter if entering else _leave)(node, walk)
    walk.flush()
    result = tree.css_first(f"script#{RESULT_ID}")
    meta = tree.css_first(f'meta[name="{VERDICT_META}"]')
    data = tree.css_first("script#data")
    return Page(
        tuple(walk.blocks),
        result=(result.text() or "") if result is not None else "",
        verdict=(meta.attributes.get("content") or "") if meta is not None else "",
        cut=end < len(text),
        drawn=data is not None and "base64" in (data.attributes.get("type") or ""),
    )


def _shallow(text: str) -> int:
    """Where a page begins to be nested deeper than is read; its length if it never is."""
    depth, place = 0, 0
    drawing = False
    while tag := _TAG.search(text, place):
        place = tag.end()
        name = tag[2].lower()
        drawing = (drawing or name == "svg") and name in _DRAWING and not (name == "svg" and tag[1])
        if name in _NEED_NO_END:
            continue
        if drawing and not tag[1]:
            end = text.find(">", place, place + _LONGEST_TAG)
            if end > 0 and text[end - 1] == "/":
                continue
        depth = max(0, depth - 1) if tag[1] else depth + 1
        if depth > DEEPEST:
            return tag.start()
        if name in _CLOSE and not tag[1]:
            close = _CLOSE[name].search(text, place)
            if close is None:
                break
            depth -= 1
            place = close.end()
    return len(text)


_LONGEST_TAG = 200_000
_CLOSE = {name: re.compile(f"</{name}", re.I) for name in ("script", "style")}


def _events(root: Any) -> Iterator[tuple[Any, bool]]:
    """Every visible node on entering and on leaving it, in document order."""
    stack: list[tuple[Any, bool]] = [(root, True)]
    while stack:
        node, entering = stack.pop()
        if not entering:
            yield node, False
            continue
        if _hidden(node):
            continue
        yield node, True
        stack.append((node, False))
        children = []
        child = node.child
        while child is not None:
            children.append((child, True))
            child = child.next
        stack.extend(reversed(children))


def _hidden(node: Any) -> bool:
    tag = node.tag
    if tag == "-text":
        return False
    if tag is None or tag.startswith(("-", "!")) or tag in _UNSEEN:
        return tag not in ("-document", "-undef")
    attributes = node.attributes
    style = (attributes.get("style") or "").replace(" ", "").lower()
    return "hidden" in attributes or "display:none" in style or "visibility:hidden" in style


def _enter(node: Any, walk: _Walk) -> None:
    tag = node.tag
    if tag == "-text":
        walk.sinks[-1].append(node.text_content or "")
    elif tag == "br":
        walk.flush()
    elif tag == "table":
        walk.flush()
        walk.found_tables += 1
        walk.tables.append(_Table(number=walk.found_tables))
    elif tag == "tr" and walk.tables:
        table = walk.tables[-1]
        table.cells, table.heads, table.machine = [], 0, _machine(node)
    elif tag in _CELLS or tag in _HEADINGS or _named(node):
        walk.flush()
        walk.sinks.append([])
    elif tag not in _INLINE:
        walk.flush()


def _leave(node: Any, walk: _Walk) -> None:
    tag = node.tag
    if tag in ("-text", "br"):
        return
    if tag == "table" and walk.tables:
        table = walk.tables.pop()
        if table.rows:
            walk.blocks.append(Table(tuple(table.rows)))
    elif tag == "tr" and walk.tables:
        table = walk.tables[-1]
        if table.cells:
            where = f"table {table.number}, row {len(table.rows) + 1}"
            table.rows.append(Row(tuple(table.cells), where, table.heads, table.machine))
        table.cells, table.heads, table.machine = [], 0, None
    elif (tag in _CELLS or tag in _HEADINGS or _named(node)) and len(walk.sinks) > 1:
        _close(node, tidy("".join(walk.sinks.pop())), walk)
    elif tag not in _INLINE:
        walk.flush()


def _close(node: Any, text: str, walk: _Walk) -> None:
    tag = node.tag
    where = f"<{tag}> {len(walk.blocks) + 1}"
    if _named(node):
        machine = _machine(node)
        walk.blocks.append(Pair(walk.terms[-1] if walk.terms and tag == "dd" else "", text, where, machine))
    elif tag in _HEADINGS:
        walk.blocks.append(Heading(text, where))
    elif tag == "dt":
        walk.terms.append(text)
    elif tag == "dd":
        walk.blocks.append(Pair(walk.terms[-1] if walk.terms else "", text, where))
    elif walk.tables:
        table = walk.tables[-1]
        table.cells.append(text)
        table.heads += tag == "th"
    else:
        walk.blocks.append(Line(text, where))


def _named(node: Any) -> bool:
    """An element other than a table row that names its field."""
    return node.tag != "tr" and "data-field" in node.attributes


def _machine(node: Any) -> Machine | None:
    given = node.attributes
    if "data-field" not in given:
        return None
    return Machine(*(tidy(given.get(f"data-{name}") or "") for name in ("field", "value", "unit", "status")))
