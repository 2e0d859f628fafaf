"""Figures: where a value lands, which ticks stand beside it, and the drawing as a whole."""

from __future__ import annotations

import os
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from auditor.present.svg.chart import (
    BLUE,
    BOTTOM,
    LEFT,
    RED,
    RIGHT,
    TOP,
    Line,
    Mark,
    Part,
    Span,
    bar,
    nice_step,
    path,
    scale,
    swatch,
    tail,
    tail_chart,
    ticks,
    time_chart,
    time_ticks,
)

SNAPSHOTS = Path(__file__).parent / "snapshots"


def same(name: str, drawn: str) -> None:
    """Compare with the golden file; UPDATE_SNAPSHOTS=1 writes it anew, to be looked at before it is kept."""
    golden = SNAPSHOTS / name
    if os.environ.get("UPDATE_SNAPSHOTS"):
        golden.write_text(drawn + "\n", encoding="utf-8")
    assert drawn + "\n" == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("span", "most", "step"),
    [(100, 5, 20), (400, 5, 100), (1, 5, 0.2), (5000, 5, 1000), (7, 5, 2), (0, 5, 1), (0.03, 5, 0.01)],
)
def test_steps_are_1_2_or_5(span: float, most: int, step: float) -> None:
    assert nice_step(span, most) == pytest.approx(step)


@pytest.mark.parametrize(
    ("high", "expected"),
    [
        (400, [0, 100, 200, 300, 400]),
        (401, [0, 100, 200, 300, 400, 500]),
        (0.35, [0, 0.1, 0.2, 0.3, 0.4]),
        (1, [0, 0.2, 0.4, 0.6, 0.8, 1]),
        (4970, [0, 1000, 2000, 3000, 4000, 5000]),
    ],
)
def test_ticks_reach_the_highest_value(high: float, expected: list[float]) -> None:
    assert ticks(high) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("span", "expected", "unit"),
    [
        (50, [0, 10, 20, 30, 40, 50], "s"),
        (300, [0, 60, 120, 180, 240, 300], "s"),
        (420, [0, 120, 240, 360], "min"),
        (10_800, [0, 1800, 3600, 5400, 7200, 9000, 10_800], "min"),
        (43_200, [0, 7200, 14_400, 21_600, 28_800, 36_000, 43_200], "h"),
        (604_800, [0, 172_800, 345_600, 518_400], "h"),
    ],
)
def test_times_have_one_unit(span: float, expected: list[float], unit: str) -> None:
    found, _, name = time_ticks(span)
    assert found == expected
    assert name == unit


def test_scale_is_linear_and_survives_a_span_of_no_length() -> None:
    to = scale(0, 50, 100, 200)
    assert (to(0), to(25), to(50)) == (100, 150, 200)
    assert scale(3, 3, 100, 200)(3) == 100


def test_a_gap_begins_a_new_stroke_and_a_lone_point_is_seen() -> None:
    to = scale(0, 10, 0, 10)
    assert path([0, 1, 2, 3, 4], [1, 2, None, 4, None], to, to) == "M0.0 1.0L1.0 2.0M3.0 4.0h0.1"


def test_the_tail_axis_has_a_decade_for_every_nine() -> None:
    assert tail(0.9) == pytest.approx(1)
    assert tail(0.999) == pytest.approx(3)
    assert tail(0.5) == pytest.approx(0.30103, abs=1e-5)


def test_corners_of_the_plot() -> None:
    svg = time_chart("t", "d", "per s", 100, [Line("x", [0, 100], [0, 500], BLUE)])
    assert f'd="M{LEFT:.1f} {BOTTOM:.1f}L{RIGHT:.1f} {TOP:.1f}"' in svg


def test_a_bar_is_in_proportion_and_a_small_part_is_still_seen() -> None:
    svg = bar("t", "d", [Part("a", 3, BLUE), Part("none", 0, "#000"), Part("b", 1, RED)])
    assert re.findall(r'x="([\d.]+)" y="0" width="([\d.]+)"', svg) == [("0.0", "750.0"), ("750.0", "250.0")]
    thin = bar("t", "d", [Part("a", 1_000_000, BLUE), Part("b", 1, RED)])
    widths = [float(w) for w in re.findall(r'y="0" width="([\d.]+)"', thin)]
    assert widths[1] >= 3.9
    assert sum(widths) == pytest.approx(1000, abs=0.2)


def drawings() -> dict[str, str]:
    """One of each kind, small."""
    started = Line("started", [0.5, 1.5, 2.5, 3.5], [10, 12, 6, 6], BLUE)
    planned = Line("planned", [0.5, 1.5, 2.5, 3.5], [10, 12, 14, 16], "#7a8190", "6 4")
    curve = Line("sent", [0, 0.5, 1, 2, 3], [1, 5, 20, 80, 300], BLUE)
    part = Line("offered", [0, 0.5, 1], [1, 6, 40], RED)
    return {
        "load.svg": time_chart(
            "Load <&\"'>", "Planned \u202eand", "per s", 4, [started, planned], gap=(planned, started)
        ),
        "latency.svg": time_chart(
            "Latency",
            "p99",
            "ms",
            90,
            [Line("p99", [1, 3, 5, 7], [20, None, 4000, 21], RED, "8 3 2 3")],
            spans=[Span(0, 10, "warm-up"), Span(40, 45, "stall", "#c2620e")],
        ),
        "cpu.svg": time_chart(
            "CPU", "of two cores", "%", 600, [started], marks=[Mark(80, "limit, 80 %")], top=100
        ),
        "tail.svg": tail_chart("Percentiles", "of two populations", "ms", [part, curve], 1.0, "not known"),
        "bar.svg": bar("Accounting", "3 planned", [Part("completed", 2, BLUE), Part("dropped", 1, RED)]),
        "swatch.svg": swatch(BLUE, "6 4") + "\n" + swatch(RED, block=True),
        "empty.svg": time_chart("Nothing", "no value", "ms", 10, []),
    }


@pytest.mark.parametrize("name", sorted(drawings()))
def test_drawing_is_as_it_was(name: str) -> None:
    same(name, drawings()[name])


@pytest.mark.parametrize("name", sorted(set(drawings()) - {"swatch.svg"}))
def test_a_drawing_is_well_formed_named_and_has_no_style(name: str) -> None:
    root = ElementTree.fromstring(drawings()[name])
    assert root.get("role") == "img"
    assert [child.tag for child in root][:2] == ["title", "desc"]
    for element in root.iter():
        assert (
            not {"style", "class", "id", "href", "onload"} & set(element.attrib)
            or element.get("class") == "bar"
        )
