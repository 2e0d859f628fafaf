"""The shape of k6-audit.toml. Apart from the policy, so that pydantic is imported only where it is needed.

A key's description is what docs/configuration.md says of it (see `auditor.engine.config_page`).
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import (
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    WithJsonSchema,
)
from pydantic_core import PydanticCustomError

from auditor.engine.units import duration_s, rate_per_s
from auditor.errors import AuditError


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


def _plain_error(text: str) -> PydanticCustomError:
    return PydanticCustomError("plain", "{text}", {"text": text})


def _readable(value: object, read: Callable[[Any], object]) -> object:
    try:
        read(value)
    except AuditError as error:
        raise _plain_error(str(error)) from error
    return value


def _duration(value: object) -> object:
    if value is None or (value == 0 and not isinstance(value, bool)):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        raise _plain_error(f'write "{value:g}s": a duration needs its unit')
    if not isinstance(value, str):
        raise _plain_error('write a duration in quotes, as in "30s"')
    return _readable(value, duration_s)


def _rate(value: object) -> object:
    if value is None:
        return value
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise _plain_error('write a rate per second, as in 300 or "18000/m"')
    return _readable(value, rate_per_s)


Duration = Annotated[
    Any, BeforeValidator(_duration), WithJsonSchema({"anyOf": [{"type": "string"}, {"const": 0}]})
]
Rate = Annotated[
    Any, BeforeValidator(_rate), WithJsonSchema({"anyOf": [{"type": "number"}, {"type": "string"}]})
]
Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Limit = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Workload = Literal["open", "closed"]


class Scenario(_Strict):
    """What is declared of one scenario, in `[scenarios.NAME]`."""

    workload: Workload | None = Field(
        None,
        description='"closed": here one user really waits for each answer. It goes before the run\'s workload.',
    )
    workload_reason: Text | None = Field(
        None,
        validation_alias=AliasChoices("workload_reason", "reason"),  # here `reason` can mean nothing else
        description='Why it is closed; required by "closed". `reason` is read as well.',
    )
    role: Literal["support"] | None = Field(
        None, description='"support": seeding or probes, left out of the header and of every figure.'
    )


class Declarations(_Strict):
    """What only the people who ran the test can say. Needed at sign-off; `lint` checks what is given."""

    synthetic_data: bool | None = Field(
        None, description="Whether the test data are made up. false: real customers' data, which is refused."
    )
    rate_limiter: Text | None = Field(
        None,
        description='How the system\'s rate limiter let the test through: "token" (a test token on its allow '
        'list), "in-force" (it limited the test too), "none" (the system has none). "off" is refused: a system '
        "without its limiter is another system.",
    )
    generator_network: Text | None = Field(
        None,
        description='Where the generators stood and what lay between them and the system: "same region, '
        'private network, through the load balancer".',
    )
    git_commit: Text | None = Field(
        None, description="The commit of the test's script: 7 to 64 hexadecimal digits."
    )
    k6_version: Text | None = Field(None, description='What `k6 version` says: "1.1.0".')
    colocated: bool | None = Field(
        None, description="Whether a generator shared its machine with the system under test."
    )


class WaiverEntry(_Strict):
    """A decision to accept a finding, in `[[waivers]]`: reason, owner and expiry are required."""

    rule: str = Field(description='The id of the rule: "SD09".')
    reason: Annotated[str, StringConstraints(strip_whitespace=True, min_length=3)] = Field(
        description="Why the finding is accepted."
    )
    owner: Text = Field(description="Who answers for it.")
    expires: Annotated[datetime.date, Field(strict=False)] = Field(
        description="The last day on which it counts: 2027-01-31, without quotes."
    )
    scenario: str | None = Field(None, description="Only findings about this scenario.")
    generator: str | None = Field(None, description="Only findings about this generator.")
    stage: str | None = Field(None, description="Only findings about this stage.")
    name: str | None = Field(None, description="Only findings about requests of this name.")


class Config(_Strict):
    """k6-audit.toml, or [tool.k6-audit] in pyproject.toml."""

    model_config = ConfigDict(extra="forbid", strict=True, title="k6-audit.toml")

    warmup: Duration = Field(
        None, description='Excluded after each scenario\'s start: "30s". "0s" is a declaration too.'
    )
    ramp_down: Duration = Field(None, description='Excluded before each scenario\'s end: "10s".')
    target_rate: Rate = Field(None, description='The target, in iterations per second: 300 or "18000/m".')
    workload: Workload | None = Field(
        None,
        description='"closed": in this product each user really waits for the answer before the next request. '
        "A scenario's own workload goes before it.",
    )
    workload_reason: Text | None = Field(None, description='Why it is closed; required by "closed".')
    purpose: Literal["load", "smoke", "capacity", "stress", "soak"] | None = Field(
        None,
        description='What the test is for. "smoke" needs no long window and no sample sizes; "capacity" needs '
        "a window of ten minutes.",
    )
    ramp: Literal["measured"] | None = Field(
        None, description='"measured": the ramp itself is the test, and the warm-up need not cover it.'
    )
    ramp_reason: Text | None = Field(None, description='Why the ramp is the test; required by "measured".')
    latency_metric: Text | None = Field(
        None, description="The trend that latency is read from, where several protocols were used."
    )
    latency_reason: Text | None = Field(
        None,
        description="Why a trend of the script's own is the latency; required where it stands beside HTTP "
        "requests.",
    )
    generators: Annotated[int, Field(ge=1)] | None = Field(
        None, description="How many generators made the load."
    )
    error_objective: Annotated[float, Field(ge=0, le=1)] | None = Field(
        None, description="The share of requests that may fail: 0.01 is 1 %. More makes the run invalid (ER03)."
    )
    fail_on: Literal["invalid", "warning"] | None = Field(
        None, description='"warning": exit 1 when a warning failed, though the verdict is VALID.'
    )
    select: list[str] | None = Field(
        None, description='Run only these rules: ids, prefixes or families, ["OL", "SD02"].'
    )
    ignore: list[str] | None = Field(
        None, description="Leave these rules out; without one that can invalidate, the run is NOT PROVEN."
    )
    scenarios: dict[str, Scenario] = Field(
        default_factory=dict, description="What is declared of single scenarios: [scenarios.NAME]."
    )
    declarations: Declarations = Field(
        default_factory=lambda: Declarations.model_validate({}),
        description="What a sign-off needs to be told: [declarations].",
    )
    limits: dict[str, dict[str, Limit]] = Field(
        default_factory=dict,
        description="Other limits than a rule's own: [limits.GH02] with mean = 50.",
    )
    waivers: list[WaiverEntry] = Field(
        default_factory=list, description="Findings that are accepted for a time: [[waivers]]."
    )
