"""What the names of kernels say about phases: rules in a data file, which users extend, and what
they say of each name of a trace."""

from __future__ import annotations

import enum
import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.errors import UsageError
from wavescope.names import kernel_names as kernel_meaning
from wavescope.names.demangle import demangle
from wavescope.names.kernel_names import LONGEST_MATCHED
from wavescope.package_files import packaged_toml
from wavescope.patterns import compiled

if TYPE_CHECKING:
    from wavescope.model.toml_files import RulesDocument


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

    @classmethod
    def from_document(cls, document: RulesDocument) -> PhaseRules:
        """The built-in rules after those of a user's file, which holds `[[phase]]` tables."""
        return built_in_rules().extended(document)

    def extended(self, document: RulesDocument) -> PhaseRules:
        """These rules after those of a user's file."""
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
    document = packaged_toml("analyze", "phases", "rules", "found_phases.toml")
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
    return PhaseRule(compiled(entry["match"], where), NamedPhase(entry["phase"]), float(weight))


Flags = npt.NDArray[np.bool_]
Weights = npt.NDArray[np.float64]

_LANGUAGE_MODEL = re.compile(
    r"(?i)(?:layer|rms)_?norm|softmax|rotary|rope|kv_?cache|embedding|index_?select"
)

ROW_LOOKUP = "vectorized_gather_kernel"
_NOTHING = NameSays(NamedPhase.NOTHING, 0.0, None)


@dataclass(frozen=True)
class LabelSigns:
    """Signs by label."""

    prefill: Weights
    """How surely the kernel is one of prefill, 0 to 1."""
    decode: Weights
    few_tokens: Flags
    """Its tile is made for few tokens at a time."""
    many_tokens: Flags
    row_per_group: Flags
    """Normalization: one workgroup for each token."""
    row_lookup: Flags
    """PyTorch's lookup of rows: one workgroup for each."""
    attention: Flags
    language_model: Flags
    """Kernels that language models have and few others."""
    communication: Flags
    training: Flags
    unknown: Flags
    """Names that say nothing, such as hashes."""


def label_signs(
    texts: Sequence[str], wanted: npt.NDArray[np.bool_], rules: PhaseRules
) -> LabelSigns:
    """What each of the names says; those that are not wanted say nothing."""
    said = [
        rules.says(text) if look else _NOTHING for text, look in zip(texts, wanted, strict=True)
    ]
    categories = [
        kernel_meaning.meaning_of(text).category if look else kernel_meaning.OTHER
        for text, look in zip(texts, wanted, strict=True)
    ]
    attention = _are(categories, kernel_meaning.ATTENTION)
    prefill, decode = _weights(said, NamedPhase.PREFILL), _weights(said, NamedPhase.DECODE)
    by_name = [
        bool(look) and _LANGUAGE_MODEL.search(text[:LONGEST_MATCHED]) is not None
        for text, look in zip(texts, wanted, strict=True)
    ]
    communication = _are(categories, kernel_meaning.COMMUNICATION) | np.array(
        [s.phase is NamedPhase.COMMUNICATION for s in said], np.bool_
    )
    says_phase = np.array([s != _NOTHING for s in said], np.bool_)
    return LabelSigns(
        prefill=prefill,
        decode=decode,
        few_tokens=np.array([_is_for_few(s, rules) for s in said], np.bool_),
        many_tokens=np.array([_is_for_many(s, rules) for s in said], np.bool_),
        row_per_group=_are(categories, kernel_meaning.NORMALIZATION),
        row_lookup=np.array([ROW_LOOKUP in text for text in texts], np.bool_),
        attention=attention,
        language_model=attention | np.array(by_name, np.bool_) | (prefill > 0) | (decode > 0),
        communication=communication,
        training=np.array([s.phase is NamedPhase.TRAINING for s in said], np.bool_),
        unknown=_are(categories, kernel_meaning.OTHER) & ~says_phase & ~np.array(by_name, np.bool_),
    )


def _is_for_few(said: NameSays, rules: PhaseRules) -> bool:
    if said.phase in {NamedPhase.FEW_TOKENS, NamedPhase.MANY_TOKENS}:
        return said.phase is NamedPhase.FEW_TOKENS
    return said.tile_side is not None and said.tile_side <= rules.few


def _is_for_many(said: NameSays, rules: PhaseRules) -> bool:
    if said.phase in {NamedPhase.FEW_TOKENS, NamedPhase.MANY_TOKENS}:
        return said.phase is NamedPhase.MANY_TOKENS
    return said.tile_side is not None and said.tile_side >= rules.many


def _weights(said: Sequence[NameSays], phase: NamedPhase) -> Weights:
    return np.array([s.weight if s.phase is phase else 0.0 for s in said], np.float64)


def _are(categories: Sequence[str], wanted: str) -> Flags:
    return np.array([category == wanted for category in categories], np.bool_)
