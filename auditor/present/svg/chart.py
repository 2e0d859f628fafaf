"""Figures as SVG text, from plain lists: nothing but presentation attributes and currentColor.

No style, script, id or reference, so that a figure is the same under any content security policy, in light
and in dark, on screen and on paper. Every line differs from the others by its dashes as well as by its hue;
the hues have a contrast of 4:1 on white and on the dark ground alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

from auditor.present.words import plain

BLUE, ORANGE, VIOLET, RED, GREY = "#2f7ed8", "#c2620e", "#8b68d4", "#d64545", "#7a8190"
WIDTH, HEIGHT = 480, 250
LEFT, RIGHT, TOP, BOTTOM = 48, 468, 22, 214
MOST_LABEL = 60

Points = Sequence[float | None]


@dataclass(frozen=True)
class Line:
    """A series; None in ``y`` is a gap."""

    label: str
    x: Sequence[float]
    y: Points
    hue: str
    dash: str = ""


@dataclass(frozen=True)
class Span:
    """A stretch of the x axis, shaded, with its own word."""

    start: float
    end: float
    label: str
    hue: str = GREY


@dataclass(frozen=True)
class Mark:
    """A limit: a thin horizontal line with its word."""

    y: float
    label: str


@dataclass(frozen=True)
class Part:
    """A piece of a stacked bar."""

    label: str
    value: float
    hue: str
    dash: str = ""


def nice_step(span: float, most: int) -> float:
    """The smallest of 1, 2, 5 × 10^k that divides ``span`` into at most ``most`` steps."""
    if span <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(span / most))
    return next(m * power for m in (1, 2, 5, 10, 20) if span / (m * power) <= most * (1 + 1e-9))


def ticks(high: float, most: int = 5) -> list[float]:
    """Nice values from 0 up to the first at or above ``high``."""
    step = nice_step(high, most)
    count = max(1, math.ceil(high / step - 1e-9))
    return [round(i * step, 10) for i in range(count + 1)]


def time_ticks(span_s: float, most: int = 6) -> tuple[list[float], float, str]:
    """Tick times in seconds within the span, the seconds of one unit, and the unit's name."""
    for step in (1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200):
        if span_s / step <= most:
            break
    else:
        step = 86_400 * math.ceil(span_s / 86_400 / most)
    unit_s, unit = (1, "s") if span_s <= 300 else (60, "min") if span_s <= 10_800 else (3600, "h")
    return [float(i * step) for i in range(int(span_s / step + 1e-9) + 1)], unit_s, unit


def scale(low: float, high: float, start: float, end: float) -> Callable[[float], float]:
    """The linear map of low..high to start..end; a span of no length maps to its start."""
    factor = (end - start) / (high - low) if high > low else 0.0
    return lambda value: start + (value - low) * factor


def number(value: float) -> str:
    """A tick's label: "4,000", "0.5"."""
    return f"{value:,.0f}" if value >= 1000 or value == int(value) else f"{value:.10g}"


def path(x: Sequence[float], y: Points, to_x: Callable[[float], float], to_y: Callable[[float], float]) -> str:
    """The d of a line; a None begins a new stroke, a point alone becomes a dot of the line's width."""
    parts: list[str] = []
    pen = False
    for index, (at, value) in enumerate(zip(x, y, strict=True)):
        if value is None:
            pen = False
            continue
        parts.append(f"{'L' if pen else 'M'}{to_x(at):.1f} {to_y(value):.1f}")
        if not pen and (index + 1 == len(y) or y[index + 1] is None):
            parts.append("h0.1")
        pen = True
    return "".join(parts)


def time_chart(
    title: str,
    desc: str,
    unit: str,
    until_s: float,
    lines: Sequence[Line],
    *,
    spans: Sequence[Span] = (),
    marks: Sequence[Mark] = (),
    gap: tuple[Line, Line] | None = None,
    top: float | None = None,
) -> str:
    """Series over seconds since the start. ``gap`` shades what lies between two of them."""
    rows = ticks(top if top is not None else _highest(lines, marks))
    to_x, to_y = scale(0, until_s, LEFT, RIGHT), scale(0, rows[-1], BOTTOM, TOP)
    body = [_shade(span, until_s, to_x) for span in spans]
    if gap is not None:
        body.append(_between(*gap, to_x, to_y))
    times, unit_s, unit_name = time_ticks(until_s)
    body += _grid(rows, to_y, unit)
    body += [_x_label(to_x(t), number(t / unit_s)) for t in times]
    body.append(_x_unit(f"{unit_name} since the start"))
    body += [_mark(mark, to_y) for mark in marks]
    body += _strokes(lines, to_x, to_y)
    return _svg(title, desc, body)


TAIL = (("50", 0.5), ("90", 0.9), ("99", 0.99), ("99.9", 0.999), ("99.99", 0.9999), ("99.999", 0.99999))


def tail(share: float) -> float:
    """Where a percentile stands on the tail axis: the median at 0.3, p90 at 1, p99 at 2."""
    return -math.log10(1 - share)


def tail_chart(
    title: str, desc: str, unit: str, lines: Sequence[Line], end: float | None = None, end_label: str = ""
) -> str:
    """Percentile curves over a log tail axis (x = −log10(1 − p)); ``end`` is where one stops being known."""
    rows = ticks(_highest(lines, ()))
    far = max([1.0, *(x for line in lines for x in line.x)])
    to_x, to_y = scale(0, far, LEFT, RIGHT), scale(0, rows[-1], BOTTOM, TOP)
    body = _grid(rows, to_y, unit)
    for label, share in (("0", 0.0), *TAIL):
        if tail(share) <= far + 1e-9:
            at = to_x(tail(share))
            body.append(_segment(at, at, TOP, BOTTOM, 0.12))
            body.append(_x_label(at, label))
    body.append(_x_unit("percentile (log tail)"))
    if end is not None:
        body.append(_shade(Span(end, far, end_label, RED), far, to_x))
    body += _strokes(lines, to_x, to_y)
    return _svg(title, desc, body)


def bar(title: str, desc: str, parts: Sequence[Part]) -> str:
    """One stacked bar; a part that is not empty is never thinner than can be seen."""
    full = [p for p in parts if p.value > 0]
    total = sum(p.value for p in full)
    sizes = [max(p.value / total * 1000, 4.0) for p in full]
    sizes = [size * 1000 / sum(sizes) for size in sizes]
    body, at = [], 0.0
    for part, size in zip(full, sizes, strict=True):
        body.append(f'<rect x="{at:.1f}" y="0" width="{size:.1f}" height="16" fill="{part.hue}"/>')
        if at:
            body.append(f'<path d="M{at:.1f} 0V16" stroke="#fff" stroke-width="3"/>')
        at += size
    return (
        f'<svg class="bar" viewBox="0 0 1000 16" width="480" height="16" preserveAspectRatio="none" role="img">'
        f"<title>{_text(title)}</title><desc>{_text(desc)}</desc>{''.join(body)}</svg>"
    )


def swatch(hue: str, dash: str = "", *, block: bool = False) -> str:
    """What a legend shows before a word."""
    inner = (
        f'<rect width="12" height="12" y="0" fill="{hue}"/>'
        if block
        else f'<path d="M0 6H28" stroke="{hue}" stroke-width="2.5"{_dashes(dash)}/>'
    )
    width = 12 if block else 28
    return f'<svg viewBox="0 0 {width} 12" width="{width}" height="12" aria-hidden="true">{inner}</svg>'


def _highest(lines: Sequence[Line], marks: Sequence[Mark]) -> float:
    values = [v for line in lines for v in line.y if v is not None] + [m.y for m in marks]
    return max(values, default=0.0) or 1.0


def _svg(title: str, desc: str, body: Sequence[str]) -> str:
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img" '
        f'font-family="system-ui, sans-serif" font-size="12" fill="currentColor">'
        f"<title>{_text(title)}</title><desc>{_text(desc)}</desc>\n" + "\n".join(body) + "\n</svg>"
    )


def _text(words: str) -> str:
    return escape(plain(words, 2000), quote=True)


def _grid(rows: Sequence[float], to_y: Callable[[float], float], unit: str) -> list[str]:
    found = [_segment(LEFT, RIGHT, to_y(v), to_y(v), 0.4 if v == 0 else 0.12) for v in rows]
    found += [
        f'<text x="{LEFT - 6}" y="{to_y(v) + 4:.1f}" text-anchor="end" opacity="0.75">{number(v)}</text>'
        for v in rows
    ]
    return [*found, f'<text x="{LEFT - 6}" y="10" text-anchor="end" opacity="0.75">{_text(unit)}</text>']


def _segment(x1: float, x2: float, y1: float, y2: float, opacity: float) -> str:
    return f'<path d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" stroke="currentColor" opacity="{opacity}"/>'


def _x_label(at: float, label: str) -> str:
    return f'<text x="{at:.1f}" y="{BOTTOM + 16}" text-anchor="middle" opacity="0.75">{label}</text>'


def _x_unit(words: str) -> str:
    return f'<text x="{RIGHT}" y="{BOTTOM + 33}" text-anchor="end" opacity="0.75">{words}</text>'


def _shade(span: Span, far: float, to_x: Callable[[float], float]) -> str:
    start, end = to_x(max(span.start, 0)), to_x(min(span.end, far))
    width = max(end - start, 2.0)
    words = ""
    if span.label:
        # Beside its left edge where there is room to the right, else before it.
        at, anchor = (start + 4, "start") if start < (LEFT + RIGHT) / 2 else (start + width, "end")
        words = (
            f'<text x="{at:.1f}" y="{TOP - 5}" text-anchor="{anchor}" opacity="0.75">'
            f"{_text(plain(span.label, MOST_LABEL))}</text>"
        )
    return (
        f'<rect x="{start:.1f}" y="{TOP}" width="{width:.1f}" height="{BOTTOM - TOP}" fill="{span.hue}" '
        f'opacity="0.16"/>{words}'
    )


def _mark(mark: Mark, to_y: Callable[[float], float]) -> str:
    y = to_y(mark.y)
    return (
        f'<path d="M{LEFT} {y:.1f}H{RIGHT}" stroke="{RED}" stroke-dasharray="2 3"/>'
        f'<text x="{RIGHT}" y="{y - 4:.1f}" text-anchor="end" opacity="0.75">{_text(mark.label)}</text>'
    )


def _between(upper: Line, lower: Line, to_x: Callable[[float], float], to_y: Callable[[float], float]) -> str:
    there, back = (
        [f"{to_x(x):.1f} {to_y(y):.1f}" for x, y in zip(line.x, line.y, strict=True) if y is not None]
        for line in (upper, lower)
    )
    if not there or not back:
        return ""
    return f'<path d="M{"L".join([*there, *reversed(back)])}Z" fill="{RED}" opacity="0.16"/>'


def _strokes(
    lines: Sequence[Line], to_x: Callable[[float], float], to_y: Callable[[float], float]
) -> list[str]:
    """Solid lines below dashed ones, so that neither hides the other where they agree."""
    return [
        _stroke(line, path(line.x, line.y, to_x, to_y))
        for line in sorted(lines, key=lambda one: bool(one.dash))
    ]


def _stroke(line: Line, d: str) -> str:
    return (
        f'<path d="{d}" fill="none" stroke="{line.hue}" stroke-width="1.8" stroke-linejoin="round" '
        f'stroke-linecap="{"butt" if line.dash else "round"}"{_dashes(line.dash)}/>'
    )


def _dashes(dash: str) -> str:
    return f' stroke-dasharray="{dash}"' if dash else ""
