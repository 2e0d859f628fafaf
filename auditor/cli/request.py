"""A run to audit, as a command's options say it, and the one path that every command takes from there."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from auditor.cli.command import debugging
from auditor.cli.options import RunOptions

if TYPE_CHECKING:
    from auditor.engine.audit import Audit
    from auditor.engine.policy import Policy
    from auditor.engine.rule import LoadedRule


@dataclass(frozen=True)
class AuditRequest:
    """What to audit, by which rules and limits, and who reads the points."""

    targets: list[Path]
    hosts: list[Path] = field(default_factory=list)
    options: RunOptions = field(default_factory=RunOptions)
    overrides: Mapping[str, tuple[object, str]] = field(default_factory=dict)
    """Of the policy, beside the options: setting -> (value, where it comes from)."""

    @classmethod
    def of(cls, targets: Sequence[str], options: RunOptions) -> AuditRequest:
        """The request that a command line makes.

        Raises:
            AuditError: if a target or a host file is named twice, or a URL is not read.
        """
        from auditor.inputs.locations import resolve_all

        return cls(resolve_all(targets), resolve_all(options.host or []), options)

    def policy(self, rules: Sequence[LoadedRule], beside: Path) -> Policy:
        """The policy in force for what lies at a place.

        Raises:
            AuditError: if the config file or an option is wrong.
        """
        from auditor.engine.policy import choose_config, load_policy
        from auditor.inputs.locations import policy_place

        options = self.options
        config = choose_config(policy_place(beside), options.config, no_config=options.no_config)
        return load_policy(config, {**options.overrides(), **self.overrides}, rules)


def run_audit(asked: AuditRequest) -> Audit:
    """Read, load and judge.

    Raises:
        AuditError: if an option, the policy or the run makes that impossible.
    """
    from auditor.cli.progress import progress
    from auditor.engine.audit import audit
    from auditor.engine.loader import load_rules
    from auditor.ingest.bundle import read_run

    at_work = asked.options.workers()
    rules = load_rules(asked.options.rules or [])
    policy = asked.policy(rules, asked.targets[0])
    with progress(at_work):
        result = audit(read_run(asked.targets, asked.hosts), policy, rules, workers=at_work)
    if debugging():
        for one in result.results:
            if one.traceback:
                print(one.traceback, file=sys.stderr)
    return result
