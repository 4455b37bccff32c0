"""Which ops of a language model's trace are prefill and which are decode, without any markers."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.analyze.phases.kind_scores import (
    REPEATED_RUN,
    KindOps,
    KindScores,
    Numbers,
    Reals,
    kind_scores,
    step_kinds,
)
from wavescope.analyze.phases.language_model import Evidence, language_model_evidence
from wavescope.analyze.phases.launches import launch_sizes, load_launch_sizes, workgroup_counts
from wavescope.analyze.phases.name_signs import LabelSigns, PhaseRules, built_in_rules, label_signs
from wavescope.analyze.steps import LaneSteps, RepeatedSteps, repeated_steps
from wavescope.model.op_kinds import OpClass
from wavescope.model.trace import Trace

Codes = npt.NDArray[np.int8]

LEAST_SCORE = 1.2
"""Odds of about 3 to 1; below that a step stays unclassified."""


class FoundPhase(enum.IntEnum):
    """What an op is a part of."""

    UNCLASSIFIED = 0
    PREFILL = 1
    DECODE = 2
    SHARED = 3
    """Serves prompts and single tokens at once."""
    COMMUNICATION = 4

    @property
    def label(self) -> str:
        """What the phase is called."""
        return "mixed" if self is FoundPhase.SHARED else self.name.lower()


PHASE_LABELS = tuple(phase.label for phase in FoundPhase)


class PhaseSegment(NamedTuple):
    """Steps of one phase that follow one another on one queue."""

    gpu: int
    queue: int
    process: int
    phase: FoundPhase
    start_ns: int
    end_ns: int
    step_count: int
    op_count: int
    gpu_time_ns: int
    confidence: float
    """How likely the phase is right, from 0.5 to 1; 0 for unclassified ones."""
    signs: dict[str, float]
    """What speaks for prefill (above 0) and for decode (below 0), as logarithms of odds."""


@dataclass(frozen=True)
class FoundPhases:
    """The phase of every op."""

    codes: Codes
    """For each op of the trace its `FoundPhase`; collectives apart."""
    phase_codes: Codes
    """The same, but collectives have the phase of the step they are in."""
    labels: tuple[str, ...]
    segments: tuple[PhaseSegment, ...]
    steps: RepeatedSteps
    step_phases: tuple[Codes, ...]
    """For each of `steps.of_lane` the phase of every step."""


def found_phases(
    trace: Trace, rules: PhaseRules | None = None, evidence: Evidence | None = None
) -> FoundPhases:
    """The phase of every op of `trace`, told from names and structure.

    Nothing is prefill or decode in traces without evidence of a language model, which is looked for
    where it is not given.
    """
    rules = rules or built_in_rules()
    evidence = language_model_evidence(trace, rules) if evidence is None else evidence
    load_launch_sizes(trace, *RepeatedSteps.COLUMNS)
    steps = repeated_steps(trace)
    signs = label_signs(steps.lanes.texts, steps.lanes.is_frequent, rules)
    phase_codes = np.zeros(len(trace.ops), np.int8)
    segments: list[PhaseSegment] = []
    phases: list[Codes] = []
    judged_lanes = tuple(_judged_lanes(trace, steps, signs, rules))
    if not _serves_language_model(evidence, judged_lanes):
        judged_lanes = tuple(judged.without_phases() for judged in judged_lanes)
    for lane_steps, judged in zip(steps.of_lane, judged_lanes, strict=True):
        phases.append(judged.phases)
        segments += _segments(lane_steps, judged)
        codes = np.repeat(judged.phases, lane_steps.op_counts)
        _tell_mixed_apart(codes, judged, lane_steps, signs)
        phase_codes[lane_steps.lane.rows] = codes
    _follow_steps(steps, phases, phase_codes)
    codes = _with_communication(steps, signs, phase_codes)
    return FoundPhases(codes, phase_codes, PHASE_LABELS, tuple(segments), steps, tuple(phases))


@dataclass(frozen=True)
class _Judged:
    """The phase of each step of a lane; `of_step` leads to the kinds in `scores`."""

    phases: Codes
    confidence: Reals
    of_step: Numbers
    scores: KindScores

    @property
    def has_certain_decode(self) -> bool:
        """Whether steps in a row are decode by the tokens of each and by scale."""
        certain = self.scores.few_tokens & (self.scores.signs["scale"] < 0)
        is_decode = certain[self.of_step] & (self.phases == FoundPhase.DECODE)
        others = np.flatnonzero(~np.concatenate(([False], is_decode, [False])))
        return bool(np.diff(others).max() > REPEATED_RUN)

    def without_phases(self) -> _Judged:
        """The same steps, of which nothing is claimed."""
        return _Judged(
            np.full_like(self.phases, FoundPhase.UNCLASSIFIED),
            np.zeros_like(self.confidence),
            self.of_step,
            self.scores,
        )


def _judged_lanes(
    trace: Trace, steps: RepeatedSteps, signs: LabelSigns, rules: PhaseRules
) -> Iterator[_Judged]:
    """The phases of all lanes' steps; the kinds of all lanes are compared with one another."""
    kinds, looked_at = [], []
    for lane_steps, launches in zip(steps.of_lane, steps.launches, strict=True):
        lane = lane_steps.lane
        sizes = launch_sizes(trace, lane.rows)
        kinds.append(step_kinds(lane_steps, sizes))
        groups = workgroup_counts(trace, lane.rows[kinds[-1].ops])
        looked_at.append(KindOps.of(lane_steps, kinds[-1], sizes, groups, launches))
    if not kinds:
        return
    scores = kind_scores(KindOps.joined(looked_at), signs, rules.strengths)
    first = 0
    for of_lane in kinds:
        yield _judged(of_lane.of_step, scores.part(slice(first, first + len(of_lane))))
        first += len(of_lane)


def _serves_language_model(evidence: Evidence, lanes: Sequence[_Judged]) -> bool:
    """Whether there is evidence enough, that of decode steps among it: steps of few tokens that
    follow one another, beside larger steps of the same kernels."""
    if evidence is not Evidence.IF_DECODING:
        return evidence is Evidence.SURE
    has_prefill = any((lane.phases == FoundPhase.PREFILL).any() for lane in lanes)
    return has_prefill and any(lane.has_certain_decode for lane in lanes)


def _judged(of_step: Numbers, scores: KindScores) -> _Judged:
    score = scores.total[of_step]
    phases = _phases_of_scores(score)
    phases[scores.mixed[of_step]] = FoundPhase.SHARED
    training = scores.training[of_step]
    is_undivided = of_step.size == 1
    is_doubtful = scores.several | scores.nameless | (scores.uneven & is_undivided)
    phases[training | is_doubtful[of_step]] = FoundPhase.UNCLASSIFIED
    confidence = 1 / (1 + np.exp(-np.abs(score)))
    confidence[phases == FoundPhase.UNCLASSIFIED] = 0.0
    _inherit(phases, confidence, (scores.serving | scores.nameless | scores.training)[of_step])
    return _Judged(phases, confidence, of_step, scores)


def _phases_of_scores(score: Reals) -> Codes:
    phases = np.full(score.size, FoundPhase.UNCLASSIFIED, np.int8)
    phases[score >= LEAST_SCORE] = FoundPhase.PREFILL
    phases[score <= -LEAST_SCORE] = FoundPhase.DECODE
    return phases


def _inherit(phases: Codes, confidence: Reals, serving: npt.NDArray[np.bool_]) -> None:
    """Steps without any kernel of a language model have the phase of the steps around them."""
    known = np.flatnonzero(serving)
    unknown = np.flatnonzero(~serving)
    if not unknown.size:
        return
    if not known.size:
        phases[unknown], confidence[unknown] = FoundPhase.UNCLASSIFIED, 0.0
        return
    after = np.searchsorted(known, unknown)
    before = known[np.maximum(after - 1, 0)]
    following = known[np.minimum(after, known.size - 1)]
    same = phases[before] == phases[following]
    phases[unknown] = np.where(same, phases[before], FoundPhase.UNCLASSIFIED)
    confidence[unknown] = np.where(same, np.minimum(confidence[before], confidence[following]), 0.0)


def _tell_mixed_apart(codes: Codes, judged: _Judged, steps: LaneSteps, signs: LabelSigns) -> None:
    """In steps that serve both, kernels with a phase in their name have it."""
    mixed = np.repeat(judged.scores.mixed[judged.of_step], steps.op_counts)
    if not mixed.any():
        return
    labels = steps.lane.labels
    shared = mixed & (codes == FoundPhase.SHARED)
    codes[shared & (signs.prefill[labels] > 0)] = FoundPhase.PREFILL
    codes[shared & (signs.decode[labels] > 0)] = FoundPhase.DECODE


def _segments(steps: LaneSteps, judged: _Judged) -> list[PhaseSegment]:
    """Stretches of steps of one phase; confidence and signs are averages by busy time."""
    lane, phases = steps.lane, judged.phases
    firsts = np.concatenate(([0], np.flatnonzero(np.diff(phases)) + 1))
    stops = np.append(firsts[1:], len(steps))
    busy_ns = steps.busy_ns
    weights = busy_ns + 1.0  # steps without length count too
    weight = np.add.reduceat(weights, firsts)

    def average(values: Reals) -> list[float]:
        averages: list[float] = (np.add.reduceat(values * weights, firsts) / weight).tolist()
        return averages

    signs = {name: average(values[judged.of_step]) for name, values in judged.scores.signs.items()}
    columns = zip(
        phases[firsts].tolist(),
        lane.starts[steps.firsts[firsts]].tolist(),
        lane.busy_until[steps.firsts[stops] - 1].tolist(),
        (stops - firsts).tolist(),
        (steps.firsts[stops] - steps.firsts[firsts]).tolist(),
        np.add.reduceat(busy_ns, firsts).tolist(),
        average(judged.confidence),
        strict=True,
    )
    return [
        PhaseSegment(
            lane.gpu,
            lane.queue,
            lane.process,
            FoundPhase(phase),
            start_ns,
            end_ns,
            step_count,
            op_count,
            gpu_time_ns,
            confidence,
            {name: values[number] for name, values in signs.items()},
        )
        for number, (
            phase,
            start_ns,
            end_ns,
            step_count,
            op_count,
            gpu_time_ns,
            confidence,
        ) in enumerate(columns)
    ]


def _follow_steps(steps: RepeatedSteps, phases: Sequence[Codes], codes: Codes) -> None:
    """Ops that tell no steps have the phase of the step that they belong to, if of any."""
    firsts = np.cumsum([0, *(len(of_lane) for of_lane in phases)])
    of_step = np.concatenate((*phases, [FoundPhase.UNCLASSIFIED])).astype(np.int8)
    for beside in steps.beside(steps.of_lane):
        step = firsts[beside.leading] + beside.steps
        codes[beside.lane.rows] = of_step[np.where(beside.steps >= 0, step, -1)]


def _with_communication(steps: RepeatedSteps, signs: LabelSigns, phase_codes: Codes) -> Codes:
    codes = phase_codes.copy()
    codes[steps.trace.op_class == OpClass.COMMUNICATION] = FoundPhase.COMMUNICATION
    if signs.communication.any():
        for lane in steps.lanes.lanes:
            codes[lane.rows[signs.communication[lane.labels]]] = FoundPhase.COMMUNICATION
    return codes
