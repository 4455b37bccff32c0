"""How well phases told without markers agree with the truth: precision and recall by GPU time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from wavescope.analyze.phases.found import FoundPhase, FoundPhases, found_phases
from wavescope.analyze.phases.marked import marked_phases
from wavescope.analyze.phases.name_signs import NamedPhase, PhaseRules, built_in_rules
from wavescope.model.trace import Trace

SCORED = (FoundPhase.PREFILL, FoundPhase.DECODE)
PHASE_WORDS = {
    "prefill": FoundPhase.PREFILL,
    "extend": FoundPhase.PREFILL,
    "decode": FoundPhase.DECODE,
    "mixed": FoundPhase.SHARED,
}
UNKNOWN = -1


class Score(NamedTuple):
    """Of one phase; None where the truth (or the claim) has none of it."""

    precision: float | None
    recall: float | None


def truth_from_markers(trace: Trace) -> np.ndarray:
    """For each op the phase that the ranges around it name; -1 where they name none."""
    phases = marked_phases(trace)
    of_path = np.full(len(phases.paths) + 1, UNKNOWN, np.int8)
    for number in range(len(phases.paths)):
        text = phases.path_text(number).lower()
        found = [(text.rfind(word), phase) for word, phase in PHASE_WORDS.items() if word in text]
        if found:
            of_path[number] = max(found)[1]
    truth: np.ndarray = of_path[phases.path_of_op]
    return truth


def without_markers(trace: Trace) -> Trace:
    """The same trace with every range dropped."""
    return trace.with_tables([trace.markers.take(np.empty(0, np.intp))])


def classified(trace: Trace, rules: PhaseRules | None = None) -> FoundPhases:
    """The phases of a trace whose ranges are dropped first."""
    return found_phases(without_markers(trace), rules)


def only_signs_of_structure() -> PhaseRules:
    """The built-in rules less all that names say about prefill and decode."""
    rules = built_in_rules()
    kept = (NamedPhase.TRAINING, NamedPhase.COMMUNICATION)
    return replace(rules, rules=tuple(r for r in rules.rules if r.phase in kept), tiles=())


def only_signs_of_names() -> PhaseRules:
    """The built-in rules with nothing but names and the tiles in them."""
    rules = built_in_rules()
    return replace(rules, strengths=rules.strengths._replace(tokens=0, scale=0, graph=0, repeats=0))


def with_losses(trace: Trace, truth: np.ndarray, share: float) -> tuple[Trace, np.ndarray]:
    """The trace as if a recorder had lost that share of the ops, here and there."""
    kept = np.random.default_rng(1).random(len(truth)) >= share
    return trace.with_tables([trace.ops.take(kept)]), truth[kept]


def truth_codes(truth: Sequence[str]) -> np.ndarray:
    """The names of phases as codes."""
    return np.array([FoundPhase[name.upper()] for name in truth], np.int8)


def scores(trace: Trace, phases: FoundPhases, truth: np.ndarray) -> dict[FoundPhase, Score]:
    """Precision and recall of prefill and decode by GPU time.

    Collectives, which are classified apart, and ops of unknown phase do not count.
    """
    counted = (truth != UNKNOWN) & (phases.codes != FoundPhase.COMMUNICATION)
    duration_ns = trace.ops.duration_ns * counted
    result = {}
    for phase in SCORED:
        claimed, true = phases.codes == phase, truth == phase
        right_ns = int(duration_ns[claimed & true].sum())
        claimed_ns, true_ns = int(duration_ns[claimed].sum()), int(duration_ns[true].sum())
        result[phase] = Score(
            right_ns / claimed_ns if claimed_ns else None,
            right_ns / true_ns if true_ns else None,
        )
    return result
