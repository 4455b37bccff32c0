"""What kernel names say about phases of serving: rules in a data file, which users extend."""

from __future__ import annotations

import enum
import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from wavescope.errors import UsageError
from wavescope.model.rules_document import RulesDocument
from wavescope.names import kernel_names
from wavescope.names.demangle import demangle
from wavescope.names.kernel_names import LONGEST_MATCHED


class NamedPhase(str, enum.Enum):
    """What a rule can say of a kernel."""

    NOTHING = ""
    PREFILL = "prefill"
    DECODE = "decode"
    FEW_TOKENS = "few tokens"
    MANY_TOKENS = "many tokens"
    COMMUNICATION = "communication"
    TRAINING = "training"


class PhaseRule(NamedTuple):
    """Kernels whose name the pattern finds run in `phase`, as surely as `weight` says (0 to 1)."""

    pattern: re.Pattern[str]
    phase: NamedPhase
    weight: float = 1.0


class Strengths(NamedTuple):
    """How much each sign counts, as the logarithm of odds."""

    names: float
    tiles: float
    tokens: float
    scale: float
    graph: float
    repeats: float


class NameSays(NamedTuple):
    """What a kernel's name says: its phase with a weight, and the smaller side of its tile."""

    phase: NamedPhase
    weight: float
    tile_side: int | None


@dataclass(frozen=True)
class PhaseRules:
    """Rules on names, patterns of tiles, and how much each sign counts."""

    rules: tuple[PhaseRule, ...]
    tiles: tuple[re.Pattern[str], ...]
    few: int
    many: int
    strengths: Strengths

    def says(self, full: str) -> NameSays:
        """What the name of a kernel says."""
        name = demangle(full)[:LONGEST_MATCHED]
        phase, weight = NamedPhase.NOTHING, 0.0
        for rule in self.rules:
            if rule.pattern.search(name):
                phase, weight = rule.phase, rule.weight
                break
        return NameSays(phase, weight, self._tile_side(name))

    def _tile_side(self, name: str) -> int | None:
        for pattern in self.tiles:
            found = pattern.search(name)
            if found:
                return min(int(side) for side in found.groups())
        return None

    def extended(self, document: RulesDocument) -> PhaseRules:
        """These rules after those of a user's file, which holds `[[phase]]` tables."""
        entries = document.content.get("phase", [])
        if not isinstance(entries, list) or not set(document.content) <= {"phase"}:
            raise UsageError(
                f"{document.path} holds something other than [[phase]] tables",
                hint='write [[phase]], match = "REGEX", phase = "decode" for each rule',
            )
        own = tuple(
            _checked_rule(entry, f"{document.path}, rule {number}")
            for number, entry in enumerate(entries, 1)
        )
        return PhaseRules(own + self.rules, self.tiles, self.few, self.many, self.strengths)


@functools.lru_cache(maxsize=1)
def built_in_rules() -> PhaseRules:
    """The rules that come with the package."""
    document = kernel_names.built_in_rules("analyze", "phases", "rules", "serving_phases.toml")
    return PhaseRules(
        tuple(
            PhaseRule(re.compile(rule["match"]), NamedPhase(rule["phase"]), rule.get("weight", 1.0))
            for rule in document["phase"]
        ),
        tuple(re.compile(pattern) for pattern in document["tile"]["match"]),
        document["tile"]["few"],
        document["tile"]["many"],
        Strengths(**document["strength"]),
    )


def _checked_rule(entry: object, where: str) -> PhaseRule:
    if not isinstance(entry, Mapping) or not isinstance(entry.get("match"), str):
        raise UsageError(f"{where}: a rule has match, a regular expression, and phase")
    phases = [phase.value for phase in NamedPhase if phase.value]
    if entry.get("phase") not in phases:
        raise UsageError(f"{where}: phase is one of {', '.join(phases)}")
    weight = entry.get("weight", 1.0)
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 <= weight <= 1:
        raise UsageError(f"{where}: weight is a number from 0 to 1")
    try:
        return PhaseRule(re.compile(entry["match"]), NamedPhase(entry["phase"]), float(weight))
    except (re.error, RecursionError, OverflowError) as error:
        raise UsageError(f"{where}: {error}") from error
