"""Requests of every generator: when each started, how long it took, whether it failed, and why.

k6 writes a request as eight or nine samples with one stamp and one tag set (docs/formats.md). Definitions:
docs/semantics.md §3 (a request belongs by its own start, end − blocked − duration) and §4 (failure).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from auditor.evidence import Declared, Evidence
from auditor.facts.iterations import as_ns
from auditor.facts.plan import StatedPlan
from auditor.facts.samples import Samples
from auditor.facts.store import Unknown, provides
from auditor.samples.columns import Column, GeneratorSamples
from auditor.samples.reduce import PROTOCOL_DURATIONS, Floats, Ints

HTTP = "http_req_duration"
GRPC = "grpc_req_duration"
BROWSER = "browser_http_req_duration"
SystemTags = tuple[str, ...] | None
"""The system tags that the options name; None if they are not known."""
NOBODYS = -2
"""Index of the scenario of requests that carry the name of one which neither ran nor was planned."""
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
def requests(samples: Samples, plan: StatedPlan, declared: Declared, evidence: Evidence) -> Requests:
    """The requests of the run's protocol.

    Raises:
        Unknown: if several protocols have samples and the policy names none.
    """
    metric = _latency_metric(samples, declared)
    return Requests(
        metric,
        {
            name: requests_of(
                name,
                generator,
                metric,
                [k.scenario for k in plan.keys if k.generator == name],
                system_tags(evidence, name),
            )
            for name, generator in samples.by_generator.items()
        },
    )


def system_tags(evidence: Evidence, generator: str) -> SystemTags:
    """The system tags of a generator's run, of the best source that says them."""
    mine = next(g for g in evidence.generators if g.name == generator)
    source = mine.source_of("systemTags")
    return source.system_tags if source is not None else None


def _latency_metric(samples: Samples, declared: Declared) -> str:
    if declared.latency_metric:
        if declared.latency_metric in NO_LATENCY:
            raise Unknown(
                f"{declared.latency_metric!r} is no latency of a request", "correct latency_metric", needs="add"
            )
        if not _has(samples, declared.latency_metric):
            raise Unknown(
                f"the latency metric {declared.latency_metric!r} has no sample",
                "correct latency_metric",
                needs="add",
            )
        if _is_custom(declared.latency_metric) and not declared.latency_reason and _has(samples, HTTP):
            raise Unknown(
                f"{declared.latency_metric!r} is a trend of the script's, beside HTTP requests: why it is "
                "their latency is not declared",
                f'declare it: latency_reason = "…" in k6-audit.toml; or latency_metric = "{HTTP}"',
                needs="add",
            )
        return declared.latency_metric
    present = [metric for metric in PROTOCOL_DURATIONS if _has(samples, metric)]
    if len(present) > 1:
        raise Unknown(
            f"several protocols have samples ({', '.join(present)}) and none is named",
            'name one: latency_metric = "http_req_duration" in k6-audit.toml',
            needs="add",
        )
    return present[0] if present else ""


def _has(samples: Samples, metric: str) -> bool:
    return any(len(g.column(metric)) for g in samples.by_generator.values())


def _is_custom(metric: str) -> bool:
    """Whether a metric is the script's own, not one that k6 writes for a protocol."""
    return not metric.startswith(("http_req_", "grpc_", "ws_", "browser_"))


def requests_of(
    name: str, samples: GeneratorSamples, metric: str, planned: list[str], system_tags: SystemTags
) -> GeneratorRequests:
    """The requests of one generator as samples of one metric; ``planned`` are the scenarios of its plan."""
    column = samples.column(metric)
    if samples.outside_iterations.any():
        column = column.where(~samples.outside_iterations[column.tagset])
    names, scenario_of = _scenarios(samples, planned)
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
    failed = _failed(samples, column, metric, system_tags)
    if (
        samples.untagged
        and not samples.grouped
        and (inside := _inside_iterations(samples, start, column)) is not None
    ):
        column, start, felt, failed = column.where(inside), start[inside], felt[inside], failed[inside]
    return GeneratorRequests(
        generator=name,
        start_ns=start,
        end_ns=column.time_ns,
        duration_ms=column.value,
        felt_ms=felt,
        failed=failed,
        scenario=scenario_of[column.tagset] if len(column) else np.empty(0, np.int32),
        scenarios=names,
        tagset=column.tagset,
        samples=samples,
    )


def _scenarios(samples: GeneratorSamples, planned: list[str]) -> tuple[tuple[str, ...], npt.NDArray[np.int32]]:
    """Scenario names, and for every tag set the index of its scenario (-1: none, -2: one that ran nothing).

    A tag `scenario` that no iteration and no plan carries is the script's own: where one scenario ran, the
    request is its.
    """
    if samples.untagged and len(planned) == 1:
        return tuple(planned), np.zeros(len(samples.tagsets), dtype=np.int32)
    names = samples.scenarios
    index = {scenario: i for i, scenario in enumerate(names)}
    strange = 0 if len(names) == 1 else NOBODYS
    known = {**dict.fromkeys(planned, -1), "": -1, **index}
    return names, np.array([known.get(s, strange) for s in samples.tag("scenario")], dtype=np.int32)


def _inside_iterations(samples: GeneratorSamples, start: Ints, column: Column) -> npt.NDArray[np.bool_] | None:
    """Which requests iterations made, by time: those before the first of them are of setup(), those after the
    last of teardown(). None if no iteration has a time."""
    iterations = samples.column("iteration_duration")
    if not len(iterations) or not len(column):
        return None
    first = int((iterations.time_ns - as_ns(iterations.value)).min())
    sent = samples.column("data_sent").time_ns
    last = int(iterations.time_ns.max())
    cut_off = sent[sent > last]
    if len(cut_off) > 1:  # interrupted iterations; the last sample may be teardown()'s
        last = int(cut_off[-2])
    inside: npt.NDArray[np.bool_] = (column.time_ns > first) & (start < last)
    return inside


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


def _failed(
    samples: GeneratorSamples, column: Column, metric: str, system_tags: SystemTags
) -> npt.NDArray[np.bool_]:
    """HTTP: http_req_failed 1, or expected_response "false", or status 0; status ≥ 400 where neither exists.
    Others: `browser_http_req_failed` 1, and what their status says (`_status_failed`)."""
    if not len(column):
        return np.empty(0, dtype=bool)
    expected = samples.tag("expected_response", "?")
    by_tag = (expected == "false")[column.tagset]
    if metric != HTTP:
        bad = by_tag | _status_failed(samples, metric, system_tags)[column.tagset]
        if metric == BROWSER:
            bad |= aligned(column, samples.column("browser_http_req_failed"), missing=0.0) > 0
        return np.asarray(bad, dtype=bool)
    told = aligned(column, samples.column("http_req_failed"), missing=-1.0)
    status = samples.tag("status", "?")
    by_status = np.array([_bad_status(s) for s in status], dtype=bool)[column.tagset]
    untold = (told < 0) & (expected == "?")[column.tagset]
    no_answer = (status == "0")[column.tagset]  # never a success, whatever the script declares to be expected
    return np.asarray((told > 0) | by_tag | no_answer | (untold & by_status), dtype=bool)


def requests_with_error(samples: GeneratorSamples) -> int | None:
    """HTTP requests of the whole file, setup() included, that failed or name an error; None if none tells."""
    column = samples.column(HTTP)
    status, code = samples.tag("status", "?"), samples.tag("error_code", "")
    failed = samples.column("http_req_failed")
    if not len(column):
        return 0 if not samples.count_of.get("http_reqs") else None
    if not len(failed) and not (status[np.unique(column.tagset)] != "?").any():
        return None
    bad = np.array([s == "0" for s in status]) | np.array([bool(c) for c in code])
    return int((bad[column.tagset] | (aligned(column, failed) > 0)).sum())


def _bad_status(status: str) -> bool:
    return status.isdigit() and (int(status) == 0 or int(status) >= 400)


def _status_failed(samples: GeneratorSamples, metric: str, system_tags: SystemTags) -> npt.NDArray[np.bool_]:
    """For every tag set: whether its status is that of a failure. gRPC: any code but 0 (OK). WebSocket: any but
    101; an absent one too, where the tag was on. Browser: 0 or an error."""
    status = samples.tag("status", "?")
    if metric == GRPC:
        return np.array([s not in ("0", "?", "OK") for s in status], dtype=bool)
    if metric == BROWSER:
        return np.array([_bad_status(s) for s in status], dtype=bool)
    if metric.startswith("ws_"):
        tagged = _has_status(samples, metric, system_tags)
        return np.array([s != "101" and (s != "?" or tagged) for s in status], dtype=bool)
    return np.zeros(len(status), dtype=bool)


def _has_status(samples: GeneratorSamples, metric: str, system_tags: SystemTags) -> bool:
    """Whether the tag `status` was on: a sample of the metric carries it, or the options name it."""
    if system_tags is not None and "status" in system_tags:
        return True
    used = np.unique(samples.column(metric).tagset)
    return bool((samples.tag("status", "?")[used] != "?").any()) if len(used) else False


def outcome_told(
    samples: GeneratorSamples, tagset: npt.NDArray[np.int32], metric: str, system_tags: SystemTags
) -> npt.NDArray[np.bool_]:
    """Of which requests some evidence says whether they failed.

    HTTP: http_req_failed, expected_response or a status. gRPC and WebSocket: a status; a handshake without one
    has failed if the tag was on (``system_tags`` of the options, None if they are not known).
    """
    status = samples.tag("status", "?") != "?"
    if metric == HTTP:
        if len(samples.column("http_req_failed")):
            return np.ones(len(tagset), dtype=bool)
        told = status | (samples.tag("expected_response", "?") != "?")
    elif metric == BROWSER:
        told = status | bool(len(samples.column("browser_http_req_failed")))
    elif metric.startswith("ws_"):
        told = status | _has_status(samples, metric, system_tags)
    else:
        told = status
    return np.asarray(told[tagset], dtype=bool)
