"""The key of every fact: one scenario on one generator."""

from __future__ import annotations

from typing import NamedTuple


class Key(NamedTuple):
    """(generator, scenario); the generator is "" where there is only one."""

    generator: str
    scenario: str

    def __str__(self) -> str:
        return f"{self.scenario} on {self.generator}" if self.generator else self.scenario
