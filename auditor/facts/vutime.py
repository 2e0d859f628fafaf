"""VU time spent against VUs configured (docs/semantics.md §8): more of it than there were VUs is no run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from auditor.evidence import Summary
from auditor.facts.count_sources import CountSources
from auditor.facts.iterations import Iterations
from auditor.facts.keys import Key
from auditor.facts.plan import KeyPlan, Plan
from auditor.facts.requests import Requests
from auditor.facts.store import provides
from auditor.units import NS_PER_S


@dataclass(frozen=True)
class KeyVuTime:
    """Mean VUs busy over the time from the first start to the last end."""

    key: Key
    max_vus: int
    length_s: float
    iteration_vus: float | None
    """Σ iteration time ÷ length; None if a summary does not say how long iterations took."""
    request_vus: float
    """Σ (blocked + duration) of requests ÷ length; parallel requests (http.batch) raise it."""


@dataclass(frozen=True)
class VuTime:
    """Keys whose VU limit is known."""

    by_key: Mapping[Key, KeyVuTime]


@provides
def vu_time(counted: CountSources, iterations: Iterations, requests: Requests | None, plan: Plan) -> VuTime:
    """Sum iteration and request time per key; of a summary, rate × mean (Little's law)."""
    found: dict[Key, KeyVuTime] = {}
    for name, summary in counted.summaries.items():
        planned = [one for key, one in plan.keys.items() if key.generator == name]
        used = _of_summary(planned[0], summary) if len(planned) == 1 else None
        if used is not None:
            found[used.key] = used
    for key, one in plan.keys.items():
        mine = iterations.by_key[key]
        if not one.max_vus or not len(mine.start_ns):
            continue
        own = requests.by_generator.get(key.generator) if requests is not None else None
        # The last end may be later than its stamp says, the first start as well: the longer time is taken.
        slack = own.samples.coarse_ns if own is not None else 0
        length_s = max(int(mine.end_ns.max()) - int(mine.start_ns.min()) + slack, 1) / NS_PER_S
        request_ms = float(own.felt_ms[own.of(key.scenario)].sum()) if own is not None else 0.0
        found[key] = KeyVuTime(
            key=key,
            max_vus=one.max_vus,
            length_s=length_s,
            iteration_vus=float(mine.duration_ms.sum()) / 1000 / length_s,
            request_vus=request_ms / 1000 / length_s,
        )
    return VuTime(found)


def _of_summary(one: KeyPlan, summary: Summary) -> KeyVuTime | None:
    def busy(count_of: str, trend: str) -> float | None:
        rate, mean_ms = summary.value(count_of, "rate"), summary.value(trend, "avg")
        return None if rate is None or mean_ms is None else rate * mean_ms / 1000

    by_requests = busy("http_reqs", "http_req_duration")
    by_iterations = busy("iterations", "iteration_duration")
    count, rate = summary.value("http_reqs", "count"), summary.value("http_reqs", "rate")
    if (by_requests is None and by_iterations is None) or not one.max_vus:
        return None
    return KeyVuTime(
        key=one.key,
        max_vus=one.max_vus,
        length_s=count / rate if count and rate else summary.duration_s or 0.0,
        iteration_vus=by_iterations,
        request_vus=by_requests or 0.0,
    )
