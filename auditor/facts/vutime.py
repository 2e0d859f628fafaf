"""VU time spent against VUs configured (docs/semantics.md §8): more of it than there were VUs is no run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from auditor.facts.iterations import Iterations
from auditor.facts.keys import Key
from auditor.facts.plan import Plan
from auditor.facts.requests import Requests
from auditor.facts.store import provides

NS_PER_S = 1_000_000_000


@dataclass(frozen=True)
class KeyVuTime:
    """Mean VUs busy over the time from the first start to the last end."""

    key: Key
    max_vus: int
    length_s: float
    iteration_vus: float
    """Σ iteration time ÷ length."""
    request_vus: float
    """Σ (blocked + duration) of requests ÷ length; parallel requests (http.batch) raise it."""
    setup_requests: int


@dataclass(frozen=True)
class VuTime:
    """Keys whose VU limit is known."""

    by_key: Mapping[Key, KeyVuTime]


@provides
def vu_time(iterations: Iterations, requests: Requests, plan: Plan) -> VuTime:
    """Sum iteration and request time per key."""
    found: dict[Key, KeyVuTime] = {}
    for key, one in plan.keys.items():
        mine = iterations.by_key[key]
        if not one.max_vus or not len(mine.start_ns):
            continue
        length_s = max(int(mine.end_ns.max()) - int(mine.start_ns.min()), 1) / NS_PER_S
        own = requests.by_generator.get(key.generator)
        request_ms = setup = 0.0
        if own is not None:
            request_ms = float(own.felt_ms[own.of(key.scenario)].sum())
            column = own.samples.column(requests.metric)
            setup = float(own.samples.outside_iterations[column.tagset].sum()) if len(column) else 0.0
        found[key] = KeyVuTime(
            key=key,
            max_vus=one.max_vus,
            length_s=length_s,
            iteration_vus=float(mine.duration_ms.sum()) / 1000 / length_s,
            request_vus=request_ms / 1000 / length_s,
            setup_requests=int(setup),
        )
    return VuTime(found)
