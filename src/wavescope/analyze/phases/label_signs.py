"""What the names of a trace's kernels say, one value for each label."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wavescope.analyze.phases.phase_rules import NamedPhase, NameSays, PhaseRules
from wavescope.names import kernel_meaning
from wavescope.names.kernel_names import LONGEST_MATCHED

Flags = npt.NDArray[np.bool_]
Weights = npt.NDArray[np.float64]

_LANGUAGE_MODEL = re.compile(
    r"(?i)(?:layer|rms)_?norm|softmax|rotary|rope|kv_?cache|embedding|index_?select"
)

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
    attention: Flags
    language_model: Flags
    """Kernels that language models have and few others."""
    communication: Flags
    training: Flags


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
    return LabelSigns(
        prefill=prefill,
        decode=decode,
        few_tokens=np.array([_is_for_few(s, rules) for s in said], np.bool_),
        many_tokens=np.array([_is_for_many(s, rules) for s in said], np.bool_),
        row_per_group=_are(categories, kernel_meaning.NORMALIZATION),
        attention=attention,
        language_model=attention | np.array(by_name, np.bool_) | (prefill > 0) | (decode > 0),
        communication=_are(categories, kernel_meaning.COMMUNICATION)
        | np.array([s.phase is NamedPhase.COMMUNICATION for s in said], np.bool_),
        training=np.array([s.phase is NamedPhase.TRAINING for s in said], np.bool_),
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
