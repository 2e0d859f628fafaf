"""The limits in force: of all rules, resolved once, for every rule and fact that compares with one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class PolicyLimits:
    """Every limit in force, by its qualified name: the id of the rule that owns it, and its own name.

    A given fact: the engine makes it from the rules' defaults and the policy.
    """

    values: Mapping[str, float]
    """"GH04.busy" -> 80, in the unit that its rule states."""

    def __getitem__(self, name: str) -> float:
        """The limit in force.

        Raises:
            LookupError: if no rule owns such a limit.
        """
        if name not in self.values:
            raise LookupError(f"no rule owns a limit {name!r}")
        return self.values[name]

    def exact(self, name: str) -> Fraction:
        """The limit as the decimal that it is written as: 0.02 is 1/50, so that exactly 2 % passes.

        Raises:
            LookupError: if no rule owns such a limit.
        """
        return Fraction(str(self[name]))
