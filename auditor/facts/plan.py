"""What was planned: which options really ran, and the schedule of every (generator, scenario).

Definitions: docs/semantics.md §9 and §10. The banner decides which options ran; the exact numbers come from
the best source of options (inspect, archive, script) that agrees with the banner to its printed rounding.
What disagrees, with the banner or with a better source, is kept as a disagreement, never chosen over silently.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise

from auditor.evidence import (
    ITERATION_EXECUTORS,
    LOOPING_EXECUTORS,
    OPEN_EXECUTORS,
    BannerScenario,
    Console,
    Declared,
    Evidence,
    GeneratorEvidence,
    Options,
    ScenarioOptions,
)
from auditor.facts.keys import Key
from auditor.facts.schedule import Schedule
from auditor.facts.store import provides
from auditor.facts.stripes import WHOLE, Stripe, arrival_stripes, stripes

PRINTED = Fraction(51, 10000)
"""Half a unit of the banner's second decimal, and a little for the rounding of a float."""
MOST_INSTANCES = 64
"""With more instances than this the segment of one is not sought among all: its share is laid out evenly."""


@dataclass(frozen=True)
class KeyPlan:
    """What one generator was to run of one scenario; rates and VUs are its own share."""

    key: Key
    executor: str
    """k6's name of the executor, or "" if nothing says it."""
    source: str
    """Where the numbers come from, in words."""
    schedule: Schedule | None = None
    parts: tuple[Schedule, ...] = ()
    """What its part of the schedule may be, where no evidence names the segment; the best guess first."""
    start_time_s: Fraction = Fraction(0)
    duration_s: Fraction | None = None
    """Planned length without gracefulStop; None where the plan gives no end (iterations, unknown)."""
    graceful_stop_s: Fraction = Fraction(30)
    max_vus: int | None = None
    """V: configured maxVUs of an arrival-rate executor, VUs of the others."""
    pre_allocated_vus: int | None = None
    closed_declared: bool = False
    support: bool = False
    rate_doubt_per_s: Fraction = Fraction(0)
    """How far the true rate may be from the schedule's: of a banner, which prints two decimals."""
    iterations: int | None = None
    """Iterations that an iteration-bounded executor is to run in all; None for the others."""
    max_duration_s: Fraction | None = None
    """The time after which an iteration-bounded executor is cut off."""
    min_iteration_s: Fraction = Fraction(0)
    """minIterationDuration: how long an iteration holds its VU at the least."""

    @property
    def is_open(self) -> bool:
        return self.executor in OPEN_EXECUTORS

    @property
    def is_closed(self) -> bool:
        return self.executor in LOOPING_EXECUTORS or self.executor in ITERATION_EXECUTORS


@dataclass(frozen=True)
class Disagreement:
    """Two pieces of evidence that contradict each other about what ran."""

    generator: str
    scenario: str
    message: str
    is_invalid: bool
    """Executor, rate or scenario names differ (the rest is a warning)."""
    evidence: str


@dataclass(frozen=True)
class Share:
    """The part of the global plan that a generator runs."""

    generator: str
    fraction: Fraction | None
    """None for one of several generators that left neither a segment nor a banner: nobody knows its part."""
    segment: tuple[Fraction, Fraction] | None
    percent: Fraction | None
    source: str
    sequence: tuple[Fraction, ...] | None = None
    """The edges of all segments, where the options name them."""


@dataclass(frozen=True)
class Plan:
    """The plan of every key, in the order of generators and scenarios."""

    keys: Mapping[Key, KeyPlan]
    disagreements: tuple[Disagreement, ...]
    shares: Mapping[str, Share]
    without_banner: tuple[str, ...]
    """Generators whose plan rests on options alone, since they left no banner."""

    def measured(self) -> list[KeyPlan]:
        """Plans of the scenarios that count: not seeding, not probes."""
        return [plan for plan in self.keys.values() if not plan.support]

    def unscheduled(self) -> list[Key]:
        """Measured keys of the plan that nothing gives a schedule, and that are not closed."""
        return [plan.key for plan in self.measured() if plan.schedule is None and not plan.is_closed]

    @property
    def scenarios(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(key.scenario for key in self.keys))

    def of_scenario(self, scenario: str) -> list[KeyPlan]:
        return [plan for key, plan in self.keys.items() if key.scenario == scenario]


def share_of(percent: Fraction) -> Fraction:
    """The nearest k/n to a percentage printed with two decimals, the smallest n first."""
    target = percent / 100
    for n in range(1, 1001):
        k = round(target * n)
        if k and abs(Fraction(k, n) - target) <= Fraction(5, 100_000):
            return Fraction(k, n)
    return target


class StatedPlan(Plan):
    """The plan as options and banners state it: which segment a generator ran may still be open (``parts``)."""


@provides
def stated_plan(evidence: Evidence, declared: Declared) -> StatedPlan:
    """What each generator was to run. Never unknown as a whole: a key may lack a schedule."""
    keys: dict[Key, KeyPlan] = {}
    disagreements: list[Disagreement] = []
    shares: dict[str, Share] = {}
    without_banner: list[str] = []
    for generator in evidence.generators:
        shares[generator.name] = _share(generator, alone=len(evidence.generators) == 1)
        console = generator.console
        if console is not None and console.has_banner:
            found = _from_banner(generator, console, shares[generator.name], disagreements)
        elif generator.options is not None:
            without_banner.append(generator.name)
            found = _from_options(generator, shares[generator.name], disagreements)
        else:
            found = []
        for one in found:
            keys[one.key] = replace(
                one,
                closed_declared=declared.is_closed(one.key.scenario),
                support=declared.is_support(one.key.scenario),
            )
    return StatedPlan(keys, tuple(disagreements), shares, tuple(without_banner))


def _share(generator: GeneratorEvidence, *, alone: bool) -> Share:
    console = generator.console
    explicit = next((o for o in generator.option_sources if o.execution_segment is not None), None)
    percent = console.segment_percent if console is not None else None
    if explicit is not None and explicit.execution_segment is not None:
        start, end = explicit.execution_segment
        return Share(
            generator.name, end - start, (start, end), percent, explicit.path, explicit.segment_sequence
        )
    if percent is not None and console is not None:
        return Share(generator.name, share_of(percent), None, percent, console.path)
    if alone:
        return Share(generator.name, Fraction(1), None, None, "no banner and no segment: taken as the whole")
    return Share(generator.name, None, None, None, "one of several, with neither banner nor segment")


def _from_banner(
    generator: GeneratorEvidence, console: Console, part: Share, disagreements: list[Disagreement]
) -> list[KeyPlan]:
    share = part.fraction
    assert share is not None  # the banner prints it
    sources = generator.option_sources
    described = {source.path: {s.name: s for s in source.scenarios} for source in sources}

    def disagree(scenario: str, message: str, is_invalid: bool, *paths: str) -> None:
        files = ", ".join((console.path, *paths))
        disagreements.append(Disagreement(generator.name, scenario, message, is_invalid, files))

    for text in console.unread:
        disagree(
            "", f"the banner has a line that cannot be read: {text!r}", True, *(s.path for s in sources[:1])
        )
    found = []
    agreed: set[tuple[str, str]] = set()
    for banner in console.scenarios:
        best: tuple[Options, ScenarioOptions] | None = None
        for source in sources:
            option = described[source.path].get(banner.name)
            if option is None:
                if not source.problems:
                    names = ", ".join(described[source.path]) or "none"
                    disagree(
                        banner.name,
                        f"the banner ran scenario {banner.name!r} ({banner.text}); {source.path} has {names}",
                        True,
                        source.path,
                    )
                continue
            differences = _differences(banner, option, share)
            for message, is_invalid in differences:
                disagree(banner.name, message, is_invalid, source.path)
            if differences:
                continue
            agreed.add((source.path, banner.name))
            if best is None:
                best = source, option
            else:
                disagreements += _contradictions(generator, best, (source, option))
        key = Key(generator.name, banner.name)
        if best is not None:
            found.append(_exact(key, best, part, banner, f"{best[0].path} (agrees with the banner)"))
        else:
            found.append(_printed(key, banner, console.path))
    listed = {s.name for s in console.scenarios}
    for source in sources:
        # `k6 run --scenario NAME` runs some of the scenarios: then all that ran are as this source says.
        chosen = bool(listed) and all((source.path, name) in agreed for name in listed)
        for name in described[source.path]:
            # A segment may leave a small scenario without work; the banner then omits it.
            if name not in listed and share == 1:
                why = ": it was not run" if chosen else ""
                message = f"{source.path} has scenario {name!r}; the banner does not list it{why}"
                disagree(name, message, not chosen, source.path)
    return found


def _contradictions(
    generator: GeneratorEvidence, best: tuple[Options, ScenarioOptions], other: tuple[Options, ScenarioOptions]
) -> list[Disagreement]:
    """What a lesser source says otherwise of a scenario than a better one, both unscaled."""
    (source, one), (lesser, two) = best, other
    differing: list[tuple[str, object, object, bool]]
    if one.executor != two.executor:
        differing = [("executor", one.executor, two.executor, True)]
    else:
        differing = [
            ("rate", _rates(one), _rates(two), True),
            ("duration", _words_s(one.duration_s), _words_s(two.duration_s), True),
            ("iterations", one.iterations, two.iterations, True),
            ("startTime", _words_s(one.start_time_s), _words_s(two.start_time_s), False),
            ("maxVUs", one.max_vus, two.max_vus, False),
            ("preAllocatedVUs", one.pre_allocated_vus, two.pre_allocated_vus, False),
            ("VUs", one.vus, two.vus, False),
        ]
    return [
        Disagreement(
            generator.name,
            one.name,
            f"the {what} of {one.name!r} is {mine} in {source.path} and {theirs} in {lesser.path}",
            is_invalid,
            f"{source.path}, {lesser.path}",
        )
        for what, mine, theirs, is_invalid in differing
        if mine != theirs
    ]


def _rates(option: ScenarioOptions) -> str:
    """The rate, or start and stages, in words that are equal only if the schedules are."""
    if option.rate_per_s is not None:
        return f"{option.rate_per_s}/s"
    start = f"from {option.start_rate_per_s}/s " if option.start_rate_per_s is not None else ""
    return start + ", ".join(f"to {target} in {_words_s(length)}" for length, target in option.stages)


def _words_s(length: Fraction | None) -> str:
    return "none" if length is None else f"{length} s"


def _differences(banner: BannerScenario, option: ScenarioOptions, share: Fraction) -> list[tuple[str, bool]]:
    """In words, what the options say otherwise than the banner; with whether that makes the run invalid."""
    if banner.executor != option.executor:
        return [(f"the banner ran {banner.executor} ({banner.text}); the options say {option.executor}", True)]
    found: list[tuple[str, bool]] = []
    if banner.peak_per_s is not None:
        peak = _peak(option)
        candidates = {peak * share, peak * _vu_share(banner, option, share)}
        if all(abs(rate - banner.peak_per_s) > PRINTED for rate in candidates):
            found.append(
                (
                    f"the banner's rate is {float(banner.peak_per_s):.2f}/s; the options ask for "
                    f"{float(peak * share):.2f}/s",
                    True,
                )
            )
    if (
        banner.duration_s is not None
        and option.duration_s is not None
        and banner.duration_s != option.duration_s
    ):
        found.append(
            (
                f"the banner's length is {float(banner.duration_s):g} s; the options say "
                f"{float(option.duration_s):g} s",
                True,
            )
        )
    if banner.stages is not None and banner.stages != len(option.stages):
        found.append((f"the banner has {banner.stages} stages; the options have {len(option.stages)}", True))
    if banner.start_time_s != option.start_time_s:
        found.append(
            (
                f"startTime differs: {float(banner.start_time_s):g} s and {float(option.start_time_s):g} s",
                False,
            )
        )
    for name, printed, asked in (
        ("maxVUs", banner.max_vus, option.max_vus),
        ("preAllocatedVUs", banner.pre_allocated_vus, option.pre_allocated_vus),
        ("VUs", banner.vus, option.vus),
    ):
        if printed is not None and asked is not None and abs(printed - asked * share) >= 1:
            found.append((f"the banner has {name} {printed}; the options have {asked}", False))
    return found


def _peak(option: ScenarioOptions) -> Fraction:
    """The highest rate of the options, as the banner's "Up to" has it: start and targets alike."""
    if option.rate_per_s is not None:
        return option.rate_per_s
    return max([option.start_rate_per_s or Fraction(0), *(target for _, target in option.stages)])


def _vu_share(banner: BannerScenario, option: ScenarioOptions, share: Fraction) -> Fraction:
    """k6 stripes an arrival rate over maxVUs: a segment's part is its part of them."""
    if banner.max_vus is None or not option.max_vus:
        return share
    return Fraction(banner.max_vus, option.max_vus)


def _schedule(option: ScenarioOptions) -> Schedule | None:
    if option.executor == "constant-arrival-rate" and option.rate_per_s and option.duration_s:
        return Schedule.constant(option.rate_per_s, option.duration_s)
    if option.executor == "ramping-arrival-rate" and option.stages:
        return Schedule.ramping(option.start_rate_per_s or Fraction(0), option.stages)
    return None


def _parts(option: ScenarioOptions, share: Share, banner: BannerScenario | None) -> tuple[Schedule, ...]:
    """What a generator may run of a scenario's schedule: one answer where its segment is known, else one for
    each segment of that size. Without a sequence k6 takes what lies before and behind a segment as one each."""
    schedule = _schedule(option)
    if schedule is None or share.fraction is None:
        return ()
    if share.fraction == 1:
        return (schedule,)
    layouts: list[tuple[list[Fraction], int]] = []
    if share.segment is not None:
        start, end = share.segment
        edges = sorted({*(share.sequence or (Fraction(0), Fraction(1))), start, end})
        layouts.append((_lengths(edges), edges.index(start)))
    else:
        n = share.fraction.denominator
        if share.fraction.numerator == 1 and n <= MOST_INSTANCES:
            layouts += [([share.fraction] * n, j) for j in range(n)]
        for j in range(min(n, MOST_INSTANCES)):
            start = share.fraction * j
            if start + share.fraction <= 1:
                edges = sorted({Fraction(0), start, start + share.fraction, Fraction(1)})
                layouts.append((_lengths(edges), edges.index(start)))
    found: dict[Stripe, None] = {}
    for lengths, index in layouts:
        try:
            stripe = arrival_stripes(lengths, option.max_vus)[index]
        except ValueError:
            continue
        if stripe is not None and _runs_vus(stripe, option, banner):
            found[stripe] = None
    if not found and share.segment is None:  # uneven: laid out by its share of the VUs, as printed
        part = _vu_share(banner, option, share.fraction) if banner is not None else share.fraction
        first = stripes([part, 1 - part])[0] if 0 < part < 1 else WHOLE
        found = {first: None} if first is not None else {}
    return tuple(schedule.part(stripe) for stripe in found)


def _lengths(edges: Sequence[Fraction]) -> list[Fraction]:
    return [high - low for low, high in pairwise(edges)]


def _runs_vus(stripe: Stripe, option: ScenarioOptions, banner: BannerScenario | None) -> bool:
    """Whether the banner prints the VUs that a segment with this stripe has."""
    if banner is None or banner.max_vus is None or not option.max_vus:
        return True
    return stripe.share * option.max_vus == banner.max_vus


def _exact(
    key: Key,
    chosen: tuple[Options, ScenarioOptions],
    part: Share,
    banner: BannerScenario | None,
    source: str,
) -> KeyPlan:
    options, option = chosen
    share = part.fraction
    parts = _parts(option, part, banner)
    max_vus = option.max_vus if option.executor in OPEN_EXECUTORS else option.vus
    pre_allocated = option.pre_allocated_vus
    if banner is not None:  # already scaled to the segment
        max_vus = banner.max_vus if banner.max_vus is not None else banner.vus
        pre_allocated = banner.pre_allocated_vus
    elif share is None:
        max_vus = None
    elif share != 1 and max_vus is not None:
        max_vus = -(-max_vus * share.numerator // share.denominator)
    bounded = option.executor in ITERATION_EXECUTORS
    return KeyPlan(
        key=key,
        executor=option.executor,
        source=source,
        schedule=parts[0] if parts else None,
        parts=parts if len(parts) > 1 else (),
        start_time_s=option.start_time_s,
        duration_s=None if bounded else option.duration_s,
        iterations=_bounded(banner if banner is not None else option if share == 1 else None),
        max_duration_s=option.duration_s if bounded else None,
        min_iteration_s=options.min_iteration_duration_s or Fraction(0),
        graceful_stop_s=option.graceful_stop_s,
        max_vus=max_vus,
        pre_allocated_vus=pre_allocated,
    )


def _bounded(source: BannerScenario | ScenarioOptions | None) -> int | None:
    """Iterations that a bounded executor is to run: shared by its VUs, or so many for each; None for others. A
    banner prints them for its own segment."""
    if source is None or source.executor not in ITERATION_EXECUTORS or source.iterations is None:
        return None
    if source.executor == "shared-iterations":
        return source.iterations
    return source.iterations * source.vus if source.vus is not None else None


def _printed(key: Key, banner: BannerScenario, path: str) -> KeyPlan:
    """From the banner alone: the whole plan of a constant rate and of a closed executor; of a ramp it prints no
    stages. Its rate is already the generator's own, to two decimals."""
    rate, length = banner.peak_per_s, banner.duration_s
    schedule = None
    if banner.executor == "constant-arrival-rate" and rate and length:
        schedule = Schedule.constant(rate, length)
    return KeyPlan(
        key=key,
        executor=banner.executor,
        source=f"{path} (the banner alone)",
        schedule=schedule,
        iterations=_bounded(banner),
        max_duration_s=banner.duration_s if banner.executor in ITERATION_EXECUTORS else None,
        rate_doubt_per_s=PRINTED if schedule is not None else Fraction(0),
        start_time_s=banner.start_time_s,
        duration_s=None if banner.executor in ITERATION_EXECUTORS else banner.duration_s,
        graceful_stop_s=banner.graceful_stop_s,
        max_vus=banner.max_vus if banner.max_vus is not None else banner.vus,
        pre_allocated_vus=banner.pre_allocated_vus,
    )


def _from_options(
    generator: GeneratorEvidence, share: Share, disagreements: list[Disagreement]
) -> list[KeyPlan]:
    """Without a banner: the best source; a lesser one fills in only what a better one could not tell."""
    chosen: dict[str, tuple[Options, ScenarioOptions]] = {}
    complete: Options | None = None
    """The best source that lists every scenario."""
    for source in generator.option_sources:
        for option in source.scenarios:
            if option.name in chosen:
                disagreements += _contradictions(generator, chosen[option.name], (source, option))
            elif complete is None:
                chosen[option.name] = source, option
            else:
                disagreements.append(_stranger(generator, source, option.name, complete))
        if source.problems:
            continue
        listed = {option.name for option in source.scenarios}
        disagreements += [
            _stranger(generator, known, name, source)
            for name, (known, _) in chosen.items()
            if name not in listed
        ]
        complete = complete or source
    return [
        _exact(Key(generator.name, name), one, share, None, f"{one[0].path} (no banner confirms it)")
        for name, one in chosen.items()
    ]


def _stranger(generator: GeneratorEvidence, has: Options, name: str, lacks: Options) -> Disagreement:
    return Disagreement(
        generator.name,
        name,
        f"{has.path} has scenario {name!r}; {lacks.path} does not",
        True,
        f"{has.path}, {lacks.path}",
    )
