"""Which global slots a segment runs: against hand-made layouts, and against what a real k6 starts."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from fractions import Fraction as F
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auditor.facts.stripes import WHOLE, Stripe, arrival_stripes, stripes
from auditor.ingest.k6.points_json import stamp_ns


def test_equal_segments_take_turns() -> None:
    assert stripes([F(1, 3)] * 3) == (Stripe(3, (0,)), Stripe(3, (1,)), Stripe(3, (2,)))
    assert stripes([F(1)]) == (WHOLE,)


def test_the_largest_is_served_first() -> None:
    """Of ten slots the segment of 7/10 is behind its share at 0, 2, 3, 5, 6, 8 and 9; 3/10 gets the rest."""
    assert stripes([F(3, 10), F(7, 10)]) == (Stripe(10, (1, 4, 7)), Stripe(10, (0, 2, 3, 5, 6, 8, 9)))


def test_an_empty_segment_has_no_stripe() -> None:
    assert stripes([F(1, 2), F(0), F(1, 2)])[1] is None
    # Two VUs for three equal segments: the last one gets none.
    assert arrival_stripes([F(1, 3)] * 3, 2) == (Stripe(2, (0,)), Stripe(2, (1,)), None)


def test_ten_vus_over_three_segments_are_four_three_and_three() -> None:
    shares = [s.share for s in arrival_stripes([F(1, 3)] * 3, 10) if s is not None]
    assert shares == [F(4, 10), F(3, 10), F(3, 10)]


def test_what_does_not_lead_from_0_to_1_is_refused() -> None:
    with pytest.raises(ValueError, match="from 0 to 1"):
        stripes([F(1, 3), F(1, 3)])


@settings(max_examples=150, deadline=None)
@given(st.lists(st.integers(0, 9), min_size=1, max_size=6).filter(any), st.integers(0, 40))
def test_every_slot_belongs_to_one_segment(parts: list[int], slots: int) -> None:
    found = stripes([F(n, sum(parts)) for n in parts])
    owners = [0] * slots
    for stripe, n in zip(found, parts, strict=True):
        assert (stripe is None) == (n == 0)
        if stripe is None:
            continue
        assert stripe.share == F(n, sum(parts))
        places = stripe.places(60)
        assert (np.diff(places) > 0).all()
        assert stripe.count(slots) == int((places < slots).sum())
        for place in places[places < slots]:
            owners[place] += 1
    assert owners == [1] * slots


K6 = next((p for p in (Path(sys.executable).parent / "k6", shutil.which("k6")) if p and Path(p).exists()), None)
SCRIPT = """
export const options = { scenarios: { a: { executor: 'constant-arrival-rate', rate: 40, timeUnit: '1s',
  duration: '2s', preAllocatedVUs: VUS, maxVUs: VUS, gracefulStop: '0s' } } };
export default function () {}
"""


@pytest.mark.live
@pytest.mark.skipif(K6 is None, reason="no k6 on this machine")
@pytest.mark.parametrize(
    ("segment", "sequence", "lengths", "index", "vus"),
    [
        ("0:3/10", "", [F(3, 10), F(7, 10)], 0, 10),
        ("3/10:6/10", "", [F(3, 10), F(3, 10), F(4, 10)], 1, 20),
        ("0:1/3", "0,1/3,2/3,1", [F(1, 3)] * 3, 0, 10),
    ],
)
def test_a_real_k6_starts_these_slots(
    segment: str, sequence: str, lengths: list[F], index: int, vus: int, tmp_path: Path
) -> None:
    (tmp_path / "s.js").write_text(SCRIPT.replace("VUS", str(vus)))
    command = [
        str(K6),
        "run",
        "-q",
        "--no-usage-report",
        "--execution-segment",
        segment,
        "--out",
        "json=k6.json",
        "s.js",
    ]
    if sequence:
        command += ["--execution-segment-sequence", sequence]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, timeout=60)
    starts_ns = []
    for line in (tmp_path / "k6.json").read_text().splitlines():
        item = json.loads(line)
        if item["type"] == "Point" and item["metric"] == "iteration_duration":
            starts_ns.append(stamp_ns(item["data"]["time"]) - item["data"]["value"] * 1e6)
    gaps = np.rint(np.diff(sorted(starts_ns)) / 25e6).astype(int).tolist()
    stripe = arrival_stripes(lengths, vus)[index]
    assert stripe is not None
    expected = np.diff(stripe.places(len(starts_ns))).tolist()
    late = sum(a != b for a, b in zip(gaps, expected, strict=True))
    assert late <= 4, (gaps, expected)  # a start that is late on a busy machine moves two gaps
