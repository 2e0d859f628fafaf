"""What the user declares about a run."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class ScenarioDeclaration:
    """What the user declares about one scenario."""

    workload: str = ""
    """"closed" if the product really is a closed loop; then ``workload_reason`` says why."""
    role: str = ""
    """"support" for seeding or probes: left out of header and populations."""
    workload_reason: str = ""


@dataclass(frozen=True)
class Declared:
    """What only the user can know of a run: the part of the policy that facts depend on.

    The policy fills every field from the key of the same name without the unit, and reads its text by that
    unit: ``warmup_s`` is `warmup = "30s"`, ``target_rate_per_s`` is `target_rate = "300/s"`. A field's metadata
    say what is shown while it is not given ("unset"), and its key if that is another ("key").
    """

    warmup_s: Fraction | None = field(default=None, metadata={"unset": "not declared"})
    ramp_down_s: Fraction = field(default=Fraction(0), metadata={"unset": "0s"})
    target_rate_per_s: Fraction | None = field(default=None, metadata={"unset": "from the plan"})
    workload: str = field(default="", metadata={"unset": "from what ran"})
    """"closed" for every scenario of the run, with ``workload_reason``."""
    workload_reason: str = ""
    scenarios: Mapping[str, ScenarioDeclaration] = field(default_factory=dict)
    latency_metric: str = field(default="", metadata={"unset": "the protocol's own"})
    latency_reason: str = ""
    """Why a trend of the script's, and not the requests' own, is the latency."""
    instances: int | None = field(default=None, metadata={"unset": "as found", "key": "generators"})
    purpose: str = field(default="", metadata={"unset": "load"})
    """"smoke" relaxes durations and sample sizes; "capacity" asks for a window of ten minutes."""
    ramp: str = ""
    """"measured" if the ramp is the test (then the warm-up need not cover it), with ``ramp_reason``."""
    ramp_reason: str = ""
    error_objective_share: float | None = None
    synthetic_data: bool | None = None
    """Whether the test data are made up; False: real customers' data."""
    rate_limiter: str = ""
    """How the system's rate limiter let the test through: "token", "allow-list"; "off": switched off."""
    generator_network: str = ""
    """Where the generators stand and what lies between them and the system."""
    git_commit: str = ""
    k6_version: str = ""
    colocated: bool | None = None
    """Whether a generator shares its machine with the system under test."""
    signing: bool = False
    """Whether this audit is for a sign-off: then the declarations above are required."""

    def is_closed(self, scenario: str) -> bool:
        """Whether the scenario is declared a closed loop, with a reason: by itself, else with the whole run."""
        own = self.scenarios.get(scenario)
        if own is not None and own.workload:
            return own.workload == "closed" and bool(own.workload_reason)
        return self.workload == "closed" and bool(self.workload_reason)

    def is_support(self, scenario: str) -> bool:
        own = self.scenarios.get(scenario)
        return own is not None and own.role == "support"


# --- the whole ----------------------------------------------------------------------------------------
