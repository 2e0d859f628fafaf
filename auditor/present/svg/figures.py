"""The figures drawn from the model, each with its caption, its legend and its own table."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from auditor.fields import CHARTED, LABEL_OF
from auditor.present.printed_tables import MISSING
from auditor.present.svg import chart
from auditor.present.svg.chart import BLUE, GREY, ORANGE, RED, VIOLET, Line, Mark, Part, Span

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from auditor.present.view import AccountRow


@dataclass(frozen=True)
class Key:
    """A word of a legend, and what stands before it."""

    svg: str
    word: str


@dataclass(frozen=True)
class Figure:
    """A drawn figure, or why it could not be drawn."""

    id: str
    title: str
    caption: str = ""
    svg: str = ""
    legend: tuple[Key, ...] = ()
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    why_not: str = ""
    fix: str = ""


_BAR = (BLUE, VIOLET, RED, ORANGE, GREY, "#b3b8c2")
"""Hues of the parts of the accounting, in their order."""


_PERCENTILE_STYLES = ((RED, "8 3 2 3"), (VIOLET, "5 3"), (BLUE, ""), (GREY, "2 3"))
"""Hue and dash of the lines over time, the highest percentile first."""


def accounting_bar(account: AccountRow) -> tuple[str, tuple[Key, ...]]:
    """The bar of the accounting, and a key for every part of it."""
    parts = [Part(word, value or 0, hue) for (word, value), hue in zip(account.parts, _BAR, strict=True)]
    words = ", ".join(f"{p.value:,.0f} {p.label}" for p in parts)
    if not any(p.value > 0 for p in parts):
        return "", ()
    svg = chart.bar("What the planned iterations became", f"{account.planned:,} planned: {words}", parts)
    return svg, tuple(Key(chart.swatch(p.hue, block=True), p.label) for p in parts)


def figures(model: Mapping[str, Any]) -> list[Figure]:
    """All figures, in the order of the report."""
    makers = (
        ("load", "Iterations per second", _load),
        ("latency", "Latency over time", _latency),
        ("percentiles", "Latency by percentile", _percentiles),
        ("cpu", "The generator's CPU", _cpu),
    )
    drawn = []
    for name, title, make in makers:
        data = model["figures"][name]
        if "why_not" in data:
            drawn.append(Figure(name, title, why_not=data["why_not"], fix=data["fix"]))
        else:
            drawn.append(make(name, title, data, model))
    return drawn


def _lines(data: Mapping[str, Any], styles: Sequence[tuple[str, str, str, str]]) -> dict[str, Line]:
    """Series that the figure has, styled: (name, word, hue, dash)."""
    return {
        name: Line(word, data["series"][name]["x"], data["series"][name]["y"], hue, dash)
        for name, word, hue, dash in styles
        if name in data["series"]
    }


def _figure(
    name: str, title: str, caption: str, svg: str, lines: Sequence[Line], data: Mapping[str, Any]
) -> Figure:
    legend = tuple(Key(chart.swatch(line.hue, line.dash), line.label) for line in lines)
    table = [[_cell(value) for value in row] for row in data["rows"]]
    return Figure(name, title, caption, svg, legend, data["columns"], table)


def _cell(value: float | str | None) -> str:
    if value is None:
        return MISSING
    return value if isinstance(value, str) else f"{value:,.6g}" if abs(value) < 1e6 else f"{value:,.0f}"


def _listed(words: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _bucket(seconds: int) -> str:
    return "second by second" if seconds == 1 else f"in steps of {seconds:,} s"


def _warmup(data: Mapping[str, Any]) -> list[Span]:
    until = data["warmup_until_s"]
    return [Span(0, until, "warm-up", GREY)] if until > 0 else []


def _warmup_words(data: Mapping[str, Any]) -> str:
    return " Grey: the warm-up, excluded from the header." if data["warmup_until_s"] > 0 else ""


def _load(name: str, title: str, data: Mapping[str, Any], model: Mapping[str, Any]) -> Figure:
    lines = _lines(
        data,
        (
            ("planned", "planned", GREY, "6 4"),
            ("started", "started", BLUE, ""),
            ("completed", "completed", VIOLET, "2 3"),
            ("dropped", "dropped", RED, "8 3 2 3"),
        ),
    )
    planned, started = lines.get("planned"), lines["started"]
    lost = sum(
        (one[part] or 0)
        for one in model["result"]["accounting"].values()
        for part in ("dropped", "silent", "not_reached")
    )
    gap = (planned, started) if planned is not None and lost else None
    caption = f"Planned, started, completed and dropped, {_bucket(data['bucket_s'])}."
    if gap is not None:
        caption += " The shaded part between planned and started was due and never offered."
    if planned is None:
        caption += " No rate was planned, or the plan is not known."
    desc = f"{', '.join(line.label for line in lines.values())} over {data['until_s']:,} s. {caption}"
    svg = chart.time_chart(
        title, desc, "per s", data["until_s"], list(lines.values()), spans=_warmup(data), gap=gap
    )
    return _figure(name, title, caption + _warmup_words(data), svg, list(lines.values()), data)


def _latency(name: str, title: str, data: Mapping[str, Any], model: Mapping[str, Any]) -> Figure:
    highest_first = [name for name in reversed(CHARTED) if name in data["series"]]
    styles = zip(highest_first, itertools.cycle(_PERCENTILE_STYLES), strict=False)
    lines = list(_lines(data, [(name, LABEL_OF[name], *style) for name, style in styles]).values())
    stalls = data["stalls"]
    spans = [
        *_warmup(data),
        *(Span(a, b, "stall" if i == 0 else "", ORANGE) for i, (a, b) in enumerate(stalls)),
    ]
    caption = (
        f"{data['metric']} of what was sent, by the time at which the request started, "
        f"{_bucket(data['bucket_s'])}."
    )
    if stalls:
        many = "a stall" if len(stalls) == 1 else f"{len(stalls)} stalls"
        caption += f" Orange: {many}, in which nothing was completed."
    desc = f"{_listed([line.label for line in reversed(lines)])} in ms. {caption}"
    svg = chart.time_chart(title, desc, "ms", data["until_s"], lines, spans=spans)
    return _figure(name, title, caption + _warmup_words(data), svg, lines, data)


def _percentiles(name: str, title: str, data: Mapping[str, Any], model: Mapping[str, Any]) -> Figure:
    lines = list(
        _lines(
            data,
            (("offered", "over offered demand", RED, ""), ("sent", "of what was sent", BLUE, "5 4")),
        ).values()
    )
    count = data["n"]
    caption = f"The measurement window. Of what was sent: {count['sent']:,} requests."
    end = None
    if "offered" in count:
        caption += f" Over offered demand: {count['offered']:,}"
        if data["censored"]:
            caption += (
                f", of which {data['censored']:,} have no latency: they failed or were never sent. "
                f"The curve ends at p{100 * data['known_share']:.4g}, and no percentile above it is identified"
            )
            end = chart.tail(data["known_share"]) if data["known_share"] < 1 else None
        caption += "."
    else:
        caption += " The offered demand is not known, so only this curve can be drawn."
    svg = chart.tail_chart(title, caption, "ms", lines, end, "not known" if end is not None else "")
    return _figure(name, title, caption, svg, lines, data)


def _cpu(name: str, title: str, data: Mapping[str, Any], model: Mapping[str, Any]) -> Figure:
    lines = list(
        _lines(data, (("core", "busiest core", ORANGE, "3 3"), ("cpu", "all cores", BLUE, ""))).values()
    )
    limits = model["limits"]
    marks = [
        Mark(value, f"limit of {words}, {value:g} %")
        for key, words in (("mean", "the mean"), ("highest_5s", "any 5 s"))
        if (value := limits.get(key)) is not None
    ]
    caption = "CPU of the generator's host, sample by sample"
    if data["hosts"] > 1:
        caption += f", the highest of {data['hosts']} hosts"
    caption += ". Dotted: the limits in force."
    svg = chart.time_chart(
        title, caption, "%", data["until_s"], lines, spans=_warmup(data), marks=marks, top=100
    )
    return _figure(name, title, caption, svg, lines, data)
