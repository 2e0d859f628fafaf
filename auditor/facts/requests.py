"""Requests of every generator: when each started, how long it took, whether it failed, and why.

k6 writes a request as eight or nine samples with one stamp and one tag set (docs/formats.md). Definitions:
docs/semantics.md §3 (a request belongs by its own start, end − blocked − duration) and §4 (failure).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from auditor.evidence import Declared
from auditor.facts.iterations import as_ns
from auditor.facts.plan import Plan
from auditor.facts.samples import Samples
from auditor.facts.store import Unknown, provides
from auditor.samples.columns import Column, GeneratorSamples
from auditor.samples.reduce import PROTOCOL_DURATIONS, Floats, Ints

NS_PER_MS = 1_000_000
HTTP = "http_req_duration"
NO_LATENCY = frozenset(
    {
        "iterations",
        "iteration_duration",
        "dropped_iterations",
        "group_duration",
        "checks",
        "vus",
        "vus_max",
        "data_sent",
        "data_received",
        "http_reqs",
        "http_req_failed",
        "http_req_blocked",
        "http_req_connecting",
        "http_req_tls_handshaking",
        "http_req_sending",
        "http_req_waiting",
        "http_req_receiving",
    }
)
"""k6's own metrics that cannot stand for the latency of a request."""


@dataclass(frozen=True)
class GeneratorRequests:
    """Columns of one generator's requests outside setup() and teardown()."""

    generator: str
    start_ns: Ints
    end_ns: Ints
    duration_ms: Floats
    """The latency metric itself: sending + waiting + receiving for HTTP."""
    felt_ms: Floats
    """What the client felt: max(blocked, connecting + TLS) + duration."""
    failed: npt.NDArray[np.bool_]
    scenario: npt.NDArray[np.int32]
    """Index into `scenarios`; -1 where a request belongs to none."""
    scenarios: tuple[str, ...]
    tagset: npt.NDArray[np.int32]
    samples: GeneratorSamples

    def __len__(self) -> int:
        return len(self.start_ns)

    def of(self, scenario: str) -> npt.NDArray[np.bool_]:
        """Which requests belong to a scenario."""
        if scenario not in self.scenarios:
            return np.zeros(len(self), dtype=bool)
        mine: npt.NDArray[np.bool_] = self.scenario == self.scenarios.index(scenario)
        return mine


@dataclass(frozen=True)
class Requests:
    """By generator; ``metric`` is the latency metric they are measured by, "" if no request was made."""

    metric: str
    by_generator: Mapping[str, GeneratorRequests]


@provides
def requests(samples: Samples, plan: Plan, declared: Declared) -> Requests:
    """The requests of the run's protocol.

    Raises:
        Unknown: if several protocols have samples and the policy names none.
    """
    metric = _latency_metric(samples, declared)
    return Requests(
        metric,
        {
            name: _of_generator(name, generator, metric, [k.scenario for k in plan.keys if k.generator == name])
            for name, generator in samples.by_generator.items()
        },
    )


def _latency_metric(samples: Samples, declared: Declared) -> str:
    if declared.latency_metric:
        if declared.latency_metric in NO_LATENCY:
            raise Unknown(
                f"{declared.latency_metric!r} is no latency of a request", "correct latency_metric", needs="add"
            )
        if declared.latency_metric != HTTP and any(
            g.column("http_req_failed").value.any() for g in samples.by_generator.values()
        ):
            raise Unknown(
                f"HTTP requests failed, and {declared.latency_metric!r} leaves them out",
                f'measure them: latency_metric = "{HTTP}"',
                needs="add",
            )
        if not any(len(g.column(declared.latency_metric)) for g in samples.by_generator.values()):
            raise Unknown(
                f"the latency metric {declared.latency_metric!r} has no sample",
                "correct latency_metric",
                needs="add",
            )
        return declared.latency_metric
    present = [m for m in PROTOCOL_DURATIONS if any(len(g.column(m)) for g in samples.by_generator.values())]
    if len(present) > 1:
        raise Unknown(
            f"several protocols have samples ({', '.join(present)}) and none is named",
            'name one: latency_metric = "http_req_duration" in k6-audit.toml',
            needs="add",
        )
    return present[0] if present else ""


def _of_generator(name: str, samples: GeneratorSamples, metric: str, planned: list[str]) -> GeneratorRequests:
    column = samples.column(metric)
    if samples.outside_iterations.any():
        column = column.where(~samples.outside_iterations[column.tagset])
    names = samples.scenarios
    if samples.untagged and len(planned) == 1:
        names, scenario_of = tuple(planned), np.zeros(len(samples.tagsets), dtype=np.int32)
    else:
        index = {scenario: i for i, scenario in enumerate(names)}
        tags = samples.tag("scenario")
        scenario_of = np.array([index.get(s, -1) for s in tags], dtype=np.int32)
    if metric == HTTP:
        blocked = aligned(column, samples.column("http_req_blocked"))
        handshake = aligned(column, samples.column("http_req_connecting")) + aligned(
            column, samples.column("http_req_tls_handshaking")
        )
    else:
        blocked = handshake = np.zeros(len(column))
    start = column.time_ns - as_ns(column.value + blocked)
    felt = np.maximum(blocked, handshake)
    felt += column.value
    return GeneratorRequests(
        generator=name,
        start_ns=start,
        end_ns=column.time_ns,
        duration_ms=column.value,
        felt_ms=felt,
        failed=_failed(samples, column, metric),
        scenario=scenario_of[column.tagset] if len(column) else np.empty(0, np.int32),
        scenarios=names,
        tagset=column.tagset,
        samples=samples,
    )


def aligned(reference: Column, other: Column, missing: float = 0.0) -> Floats:
    """``other``'s values at the (time, tag set) of each sample of ``reference``; equal keys pair by rank.

    Both are sorted by (time, tag set). Samples that ``other`` lacks become ``missing``.
    """
    if len(reference) == len(other) and (
        np.array_equal(reference.time_ns, other.time_ns) and np.array_equal(reference.tagset, other.tagset)
    ):
        return other.value
    out = np.full(len(reference), missing)
    if not len(other) or not len(reference):
        return out
    keys = np.concatenate([_keys(reference), _keys(other)])
    _, code = np.unique(keys, return_inverse=True, axis=0)
    mine = _with_rank(code[: len(reference)])
    theirs = _with_rank(code[len(reference) :])
    order = np.lexsort((theirs[:, 1], theirs[:, 0]))
    stride = np.int64(len(keys) + 1)
    sought, have = mine[:, 0] * stride + mine[:, 1], (theirs[:, 0] * stride + theirs[:, 1])[order]
    at = np.searchsorted(have, sought)
    hit = (at < len(have)) & (have[np.minimum(at, len(have) - 1)] == sought)
    out[hit] = other.value[order][at[hit]]
    return out


def _keys(column: Column) -> Ints:
    return np.stack([column.time_ns, column.tagset.astype(np.int64)], axis=1)


def _with_rank(code: Ints) -> Ints:
    """(code, how many equal codes came before) for each row; the codes are grouped, as the keys are sorted."""
    code = code.reshape(-1)
    starts = np.flatnonzero(np.concatenate([[True], code[1:] != code[:-1]]))
    rank = np.arange(len(code)) - np.repeat(starts, np.diff(np.append(starts, len(code))))
    return np.stack([code, rank], axis=1)


def _failed(samples: GeneratorSamples, column: Column, metric: str) -> npt.NDArray[np.bool_]:
    """http_req_failed 1, or expected_response "false"; or status 0 / ≥ 400 where neither exists."""
    if not len(column):
        return np.empty(0, dtype=bool)
    expected = samples.tag("expected_response", "?")
    by_tag = (expected == "false")[column.tagset]
    if metric != HTTP:
        return np.asarray(by_tag | _non_http_failed(samples, metric)[column.tagset], dtype=bool)
    told = aligned(column, samples.column("http_req_failed"), missing=-1.0)
    by_status = np.array([_bad_status(s) for s in samples.tag("status", "?")], dtype=bool)[column.tagset]
    untold = (told < 0) & (expected == "?")[column.tagset]
    return np.asarray((told > 0) | by_tag | (untold & by_status), dtype=bool)


def _bad_status(status: str) -> bool:
    return status.isdigit() and (int(status) == 0 or int(status) >= 400)


def _non_http_failed(samples: GeneratorSamples, metric: str) -> npt.NDArray[np.bool_]:
    """gRPC: any code but "0" (OK). Browser: a status outside 200–399."""
    status = samples.tag("status", "?")
    if metric == "grpc_req_duration":
        return np.array([s not in ("0", "?", "OK") for s in status], dtype=bool)
    if metric == "browser_http_req_duration":
        return np.array([s.isdigit() and not 200 <= int(s) < 400 for s in status], dtype=bool)
    return np.zeros(len(status), dtype=bool)
