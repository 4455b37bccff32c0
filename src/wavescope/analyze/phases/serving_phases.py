"""Which ops of an LLM server's trace are prefill and which are decode, without any markers."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.analyze.phases.kind_scores import KindOps, KindScores, kind_scores
from wavescope.analyze.phases.label_signs import LabelSigns, label_signs
from wavescope.analyze.phases.launch_sizes import (
    launch_sizes,
    load_launch_sizes,
    workgroup_counts,
)
from wavescope.analyze.phases.phase_rules import PhaseRules, built_in_rules
from wavescope.analyze.phases.step_kinds import Numbers, Reals, step_kinds
from wavescope.analyze.steps.lane_steps import LaneSteps
from wavescope.analyze.steps.lanes import Lane, Lanes
from wavescope.analyze.steps.trace_steps import STEP_COLUMNS, TraceSteps, trace_steps
from wavescope.model.op_kinds import OpClass
from wavescope.model.trace import Trace

Codes = npt.NDArray[np.int8]

LEAST_SCORE = 1.2
"""Odds of about 3 to 1; below that a step stays unclassified."""


class ServingPhase(enum.IntEnum):
    """What an op is a part of."""

    UNCLASSIFIED = 0
    PREFILL = 1
    DECODE = 2
    SHARED = 3
    """Serves prompts and single tokens at once, or lies between steps of different phases."""
    COMMUNICATION = 4


PHASE_LABELS = tuple(phase.name.lower() for phase in ServingPhase)


class PhaseSegment(NamedTuple):
    """Steps of one phase that follow one another on one queue."""

    gpu: int
    queue: int
    process: int
    phase: ServingPhase
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
class ServingPhases:
    """The phase of every op."""

    codes: Codes
    """For each op of the trace its `ServingPhase`; collectives apart."""
    phase_codes: Codes
    """The same, but collectives have the phase of the step they are in."""
    labels: tuple[str, ...]
    segments: tuple[PhaseSegment, ...]
    steps: TraceSteps
    step_phases: tuple[Codes, ...]
    """For each of `steps.lanes` the phase of every step."""
    step_confidence: tuple[Reals, ...]


def serving_phases(trace: Trace, rules: PhaseRules | None = None) -> ServingPhases:
    """The phase of every op of `trace`, told from names and structure."""
    rules = rules or built_in_rules()
    load_launch_sizes(trace, *STEP_COLUMNS)
    steps = trace_steps(trace)
    signs = label_signs(steps.lanes.texts, steps.lanes.is_frequent, rules)
    phase_codes = np.zeros(len(trace.ops), np.int8)
    segments: list[PhaseSegment] = []
    phases: list[Codes] = []
    confidences: list[Reals] = []
    for lane_steps, judged in zip(
        steps.of_lane, _judged_lanes(trace, steps, signs, rules), strict=True
    ):
        phases.append(judged.phases)
        confidences.append(judged.confidence)
        segments += _segments(lane_steps, judged)
        codes = np.repeat(judged.phases, lane_steps.op_counts)
        _tell_mixed_apart(codes, judged, lane_steps, signs)
        phase_codes[lane_steps.lane.rows] = codes
    _follow_main_lanes(trace, steps.lanes, steps.of_lane, phases, phase_codes)
    codes = _with_communication(trace, steps.lanes, signs, phase_codes)
    return ServingPhases(
        codes,
        phase_codes,
        PHASE_LABELS,
        tuple(segments),
        steps,
        tuple(phases),
        tuple(confidences),
    )


@dataclass(frozen=True)
class _Judged:
    """The phase of each step of a lane; `of_step` leads to the kinds in `scores`."""

    phases: Codes
    confidence: Reals
    of_step: Numbers
    scores: KindScores


def _judged_lanes(
    trace: Trace, steps: TraceSteps, signs: LabelSigns, rules: PhaseRules
) -> Iterator[_Judged]:
    """The phases of all lanes' steps; the kinds of all lanes are compared with one another."""
    kinds, looked_at = [], []
    for lane_steps, launches in zip(steps.of_lane, steps.launches, strict=True):
        lane = lane_steps.lane
        sizes = launch_sizes(trace, lane.rows)
        kinds.append(step_kinds(lane_steps, sizes))
        groups = workgroup_counts(trace, lane.rows[kinds[-1].ops])
        looked_at.append(KindOps.of(lane, kinds[-1], sizes, groups, launches))
    if not kinds:
        return
    scores = kind_scores(KindOps.joined(looked_at), signs, rules.strengths)
    first = 0
    for of_lane in kinds:
        yield _judged(of_lane.of_step, scores.part(slice(first, first + len(of_lane))))
        first += len(of_lane)


def _judged(of_step: Numbers, scores: KindScores) -> _Judged:
    score = scores.total[of_step]
    phases = _phases_of_scores(score)
    phases[scores.mixed[of_step]] = ServingPhase.SHARED
    training = scores.training[of_step]
    is_undivided = of_step.size == 1
    phases[training | (is_undivided & scores.uneven[of_step])] = ServingPhase.UNCLASSIFIED
    confidence = 1 / (1 + np.exp(-np.abs(score)))
    confidence[phases == ServingPhase.UNCLASSIFIED] = 0.0
    _inherit(phases, confidence, scores.serving[of_step] | training)
    return _Judged(phases, confidence, of_step, scores)


def _phases_of_scores(score: Reals) -> Codes:
    phases = np.full(score.size, ServingPhase.UNCLASSIFIED, np.int8)
    phases[score >= LEAST_SCORE] = ServingPhase.PREFILL
    phases[score <= -LEAST_SCORE] = ServingPhase.DECODE
    return phases


def _inherit(phases: Codes, confidence: Reals, serving: npt.NDArray[np.bool_]) -> None:
    """Steps without any kernel of a language model have the phase of the steps around them."""
    known = np.flatnonzero(serving)
    unknown = np.flatnonzero(~serving)
    if not unknown.size:
        return
    if not known.size:
        phases[unknown], confidence[unknown] = ServingPhase.UNCLASSIFIED, 0.0
        return
    after = np.searchsorted(known, unknown)
    before = known[np.maximum(after - 1, 0)]
    following = known[np.minimum(after, known.size - 1)]
    same = phases[before] == phases[following]
    phases[unknown] = np.where(same, phases[before], ServingPhase.SHARED)
    confidence[unknown] = np.minimum(confidence[before], confidence[following])


def _tell_mixed_apart(codes: Codes, judged: _Judged, steps: LaneSteps, signs: LabelSigns) -> None:
    """In steps that serve both, kernels with a phase in their name have it."""
    mixed = np.repeat(judged.scores.mixed[judged.of_step], steps.op_counts)
    if not mixed.any():
        return
    labels = steps.lane.labels
    shared = mixed & (codes == ServingPhase.SHARED)
    codes[shared & (signs.prefill[labels] > 0)] = ServingPhase.PREFILL
    codes[shared & (signs.decode[labels] > 0)] = ServingPhase.DECODE


def _segments(steps: LaneSteps, judged: _Judged) -> list[PhaseSegment]:
    """Stretches of steps of one phase; confidence and signs are averages by busy time."""
    lane, phases = steps.lane, judged.phases
    firsts = np.concatenate(([0], np.flatnonzero(np.diff(phases)) + 1))
    stops = np.append(firsts[1:], len(steps))
    busy_ns = np.add.reduceat(lane.busy_ns, steps.firsts[:-1])
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
            ServingPhase(phase),
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


def _follow_main_lanes(
    trace: Trace,
    lanes: Lanes,
    main_steps: Sequence[LaneSteps],
    phases: Sequence[Codes],
    codes: Codes,
) -> None:
    """Ops beside the main queues have the phase of the step that runs meanwhile."""
    leading: dict[int, tuple[LaneSteps, Codes]] = {}
    for steps, of_step in zip(main_steps, phases, strict=True):
        known = leading.get(steps.lane.gpu)
        if known is None or len(steps.lane) > len(known[0].lane):
            leading[steps.lane.gpu] = (steps, of_step)
    for lane, main in zip(lanes.lanes, lanes.main, strict=True):
        if not main and lane.gpu in leading:
            codes[lane.rows] = _phases_beside(trace, lane, *leading[lane.gpu])


def _phases_beside(trace: Trace, lane: Lane, steps: LaneSteps, phases: Codes) -> Codes:
    """By time; between two steps a copy to the GPU belongs to the next step, others to the last."""
    firsts = steps.lane.starts[steps.firsts[:-1]]
    lasts = steps.lane.busy_until[steps.firsts[1:] - 1]
    step = np.maximum(np.searchsorted(firsts, lane.starts, side="right") - 1, 0)
    between = (lane.starts >= lasts[step]) & (step + 1 < len(steps))
    to_gpu = trace.ops["type"][lane.rows] == trace.strings.find("CopyHostToDevice")
    result: Codes = phases[step + (between & to_gpu)]
    return result


def _with_communication(trace: Trace, lanes: Lanes, signs: LabelSigns, phase_codes: Codes) -> Codes:
    codes = phase_codes.copy()
    codes[trace.op_class == OpClass.COMMUNICATION] = ServingPhase.COMMUNICATION
    if signs.communication.any():
        for lane in lanes.lanes:
            codes[lane.rows[signs.communication[lane.labels]]] = ServingPhase.COMMUNICATION
    return codes
