"""The shape of k6-audit.toml. Apart from the policy, so that pydantic is imported only where it is needed."""

from __future__ import annotations

import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator

from auditor.engine.units import duration_s, rate_per_s
from auditor.errors import AuditError


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Scenario(_Strict):
    """What is declared of one scenario."""

    workload: Literal["open", "closed"] | None = Field(
        None, description="closed: closed workload model, with reason"
    )
    role: Literal["support"] | None = Field(None, description="support: seeding or probes, not measured")
    reason: str | None = None


class Declarations(_Strict):
    """What only the people who ran the test can say. Needed at sign-off; `lint` checks what is given."""

    synthetic_data: bool | None = Field(
        None, description="Whether the test data are made up. false: real customers' data, which is refused."
    )
    rate_limiter: Annotated[str, Field(min_length=1)] | None = Field(
        None,
        description='How the system\'s rate limiter let the test through: "token" (a test token on its allow '
        'list), "in-force" (it limited the test too), "none" (the system has none). "off" is refused: a system '
        "without its limiter is another system.",
    )
    generator_network: Annotated[str, Field(min_length=1)] | None = Field(
        None,
        description='Where the generators stood and what lay between them and the system: "same region, '
        'private network, through the load balancer".',
    )
    git_commit: Annotated[str, Field(min_length=1)] | None = Field(
        None, description="The commit of the test's script: 7 to 40 hexadecimal digits."
    )
    k6_version: Annotated[str, Field(min_length=1)] | None = Field(
        None, description='What `k6 version` says: "1.1.0".'
    )
    colocated: bool | None = Field(
        None, description="Whether a generator shared its machine with the system under test."
    )


class WaiverEntry(_Strict):
    """A decision to accept a finding: reason, owner and expiry are required."""

    rule: str
    reason: Annotated[str, StringConstraints(strip_whitespace=True, min_length=3)]
    owner: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
    expires: datetime.date
    scenario: str | None = None
    generator: str | None = None
    stage: str | None = None
    name: str | None = None


class Config(_Strict):
    """k6-audit.toml, or [tool.k6-audit] in pyproject.toml."""

    model_config = ConfigDict(extra="forbid", title="k6-audit.toml")

    warmup: str | Literal[0] | None = Field(
        None, description='Excluded after each scenario\'s start: "30s"; "0s" is an answer.'
    )
    ramp_down: str | Literal[0] | None = Field(None, description="Excluded before each scenario's end.")
    target_rate: float | str | None = Field(None, description='Iterations per second: 300 or "18000/m".')
    workload: Literal["open", "closed"] | None = None
    workload_reason: str | None = None
    purpose: Literal["load", "smoke", "capacity", "stress", "soak"] | None = None
    ramp: Literal["measured"] | None = Field(None, description="measured: the ramp itself is the test.")
    ramp_reason: str | None = None
    latency_metric: str | None = None
    generators: Annotated[int, Field(ge=1)] | None = Field(None, description="How many generators ran.")
    error_objective: Annotated[float, Field(ge=0, le=1)] | None = None
    fail_on: Literal["invalid", "warning"] | None = None
    select: list[str] | None = None
    ignore: list[str] | None = None
    scenarios: dict[str, Scenario] = Field(default_factory=dict)
    declarations: Declarations = Field(default_factory=lambda: Declarations.model_validate({}))
    limits: dict[str, dict[str, Annotated[float, Field(ge=0, allow_inf_nan=False)]]] = Field(
        default_factory=dict
    )
    waivers: list[WaiverEntry] = Field(default_factory=list)

    @field_validator("warmup", "ramp_down")
    @classmethod
    def _duration(cls, value: str | int | None) -> str | int | None:
        if value is not None:
            _as_value_error(duration_s, value)
        return value

    @field_validator("target_rate")
    @classmethod
    def _rate(cls, value: str | float | None) -> str | float | None:
        if value is not None:
            _as_value_error(rate_per_s, value)
        return value


def _as_value_error(read: object, value: str | float) -> None:
    try:
        read(value)  # type: ignore[operator]
    except AuditError as error:
        raise ValueError(str(error)) from error
