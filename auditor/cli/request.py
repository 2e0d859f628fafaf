"""A run to audit, as a command's options say it, and the one path that every command takes from there."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from auditor.cli import progress

if TYPE_CHECKING:
    from auditor.engine.audit import Audit
    from auditor.samples.workers import Workers


@dataclass(frozen=True)
class AuditRequest:
    """What to audit, by which rules and limits, and who reads the points."""

    targets: list[Path]
    hosts: list[Path] = field(default_factory=list)
    rules: list[Path] = field(default_factory=list)
    config: Path | None = None
    no_config: bool = False
    overrides: dict[str, tuple[object, str]] = field(default_factory=dict)
    """Of the policy: setting -> (value, the option that says it)."""
    workers: Workers | None = None


def run_audit(asked: AuditRequest) -> Audit:
    """Read, load and judge.

    Raises:
        AuditError: if an option, the policy or the run makes that impossible.
    """
    from auditor.engine.audit import audit
    from auditor.engine.loader import load_rules
    from auditor.engine.policy import choose_config, load_policy
    from auditor.ingest.bundle import read_run
    from auditor.inputs.locations import policy_place

    at_work = asked.workers or progress.workers(None, None, None)
    rules = load_rules(asked.rules)
    config = choose_config(policy_place(asked.targets[0]), asked.config, no_config=asked.no_config)
    policy = load_policy(config, asked.overrides, rules)
    with progress.progress(at_work):
        return audit(read_run(asked.targets, asked.hosts), policy, rules, workers=at_work)
