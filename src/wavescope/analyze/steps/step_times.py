"""How long the steps of a lane take: from start to start, and how much of it the GPU was busy.

Percentiles are nearest ranks, so that each is the time of a step there was. docs/serving-phases.md
defines every number.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from wavescope.analyze.steps.lane_steps import LaneSteps
from wavescope.analyze.steps.repetition import FEWEST_REPEATS, Positions
from wavescope.arrays.coded_columns import different_values
from wavescope.arrays.groups import nearest_rank

Flags = npt.NDArray[np.bool_]

ALIKE_OPS = 0.1
"""A step with this share of ops more or less than a kind's is an irregular step of that kind."""
WARM_UP_FACTOR = 1.5
"""Leading steps that take this many times the median are warm-up."""
MOST_WARM_UP = 0.2
"""But never more than this share of the steps."""
OUTLIER_MADS = 5.0
OUTLIER_SHARE = 0.2
"""An outlier takes this share longer than the median, and many median absolute deviations."""
MAD_TO_SIGMA = 1.4826
MOST_KINDS = 64


@dataclass(frozen=True)
class StepKindTimes:
    """Steps of one kind on one lane."""

    kind: int
    """From 0 on by frequency; below 0 for steps that are like no other, one number per class."""
    steps: Positions
    """Numbers of the steps, warm-up left out."""
    warm_up: Positions
    irregular_count: int
    op_count: int
    """Ops of a regular step."""
    period_ns: Positions
    """From the start of a step to the start of the next, where that is of the same kind."""
    period_steps: Positions
    span_ns: Positions
    busy_ns: Positions

    @property
    def is_repeated(self) -> bool:
        """Whether there are other steps like these."""
        return self.kind >= 0

    @property
    def main_ns(self) -> Positions:
        """The times the kind is judged by: from start to start, else from start to end."""
        return self.period_ns if self.period_ns.size else self.span_ns

    @property
    def main_steps(self) -> Positions:
        return self.period_steps if self.period_ns.size else self.steps

    @cached_property
    def outlier_above_ns(self) -> float:
        """A step that takes longer than this is an outlier."""
        median = nearest_rank(self.main_ns, 50)
        deviation = float(np.median(np.abs(self.main_ns - median)))
        return median + max(OUTLIER_MADS * MAD_TO_SIGMA * deviation, OUTLIER_SHARE * median)

    @property
    def outliers(self) -> Positions:
        """Numbers of the steps that take much longer than the others, longest first."""
        late = np.flatnonzero(self.main_ns > self.outlier_above_ns)
        return self.main_steps[late[np.argsort(-self.main_ns[late], kind="stable")]]


@dataclass(frozen=True)
class LaneStepTimes:
    """Times of all steps of a lane."""

    steps: LaneSteps
    kind_of_step: Positions
    irregular: Flags

    @classmethod
    def of(
        cls, steps: LaneSteps, class_of_step: npt.NDArray[np.integer] | None = None
    ) -> LaneStepTimes:
        """Steps of different classes (phases) are of different kinds."""
        if class_of_step is None:
            class_of_step = np.zeros(len(steps), np.int8)
        return cls(steps, *_kinds(steps, class_of_step.astype(np.int64)))

    @cached_property
    def start_ns(self) -> Positions:
        """When the first op of each step started."""
        return self.steps.start_ns

    @cached_property
    def span_ns(self) -> Positions:
        """From the start of each step's first op to the end of its last one."""
        return self.steps.span_ns

    @cached_property
    def busy_ns(self) -> Positions:
        """The time that each step's ops cover, what earlier steps cover already left out."""
        return self.steps.busy_ns

    def kinds(self) -> Iterator[StepKindTimes]:
        """The kinds of steps, the most frequent first; steps of no kind last."""
        kinds = different_values(self.kind_of_step).tolist()
        for kind in sorted(kinds, key=lambda kind: (kind < 0, abs(kind))):
            yield self._kind(kind)

    def _kind(self, kind: int) -> StepKindTimes:
        members = np.flatnonzero(self.kind_of_step == kind)
        followed = members[:-1][np.diff(members) == 1] if kind >= 0 else members[:0]
        periods = self.start_ns[followed + 1] - self.start_ns[followed]
        timed, times = (followed, periods) if periods.size else (members, self.span_ns[members])
        warm_up_count = _warm_up_count(times) if kind >= 0 else 0
        is_warm = members < timed[warm_up_count]
        warm_up, kept = members[is_warm], members[~is_warm]
        measured = followed >= kept[0]
        return StepKindTimes(
            kind,
            kept,
            warm_up,
            int(self.irregular[kept].sum()),
            int(np.median(self.steps.op_counts[kept])),
            periods[measured],
            followed[measured],
            self.span_ns[kept],
            self.busy_ns[kept],
        )


def _kinds(steps: LaneSteps, class_of_step: Positions) -> tuple[Positions, Flags]:
    """The kind of each step, and whether it holds something else than the others of its kind."""
    keys = steps.told_apart_by(class_of_step)
    _, first, of_step, counts = np.unique(
        keys, return_index=True, return_inverse=True, return_counts=True
    )
    class_of_group = class_of_step[first]
    repeated = np.bincount(of_step, weights=steps.repeats, minlength=counts.size) > 0
    regular = np.flatnonzero(repeated & (counts >= FEWEST_REPEATS))
    regular = regular[np.argsort(-counts[regular], kind="stable")][:MOST_KINDS]
    number = -1 - class_of_group
    number[regular] = np.arange(regular.size)
    kind_of_step = number[of_step]
    irregular = kind_of_step < 0
    for kind, group in reversed(list(enumerate(regular.tolist()))):
        size = int(steps.op_counts[first[group]])
        alike = np.abs(steps.op_counts - size) <= max(2, ALIKE_OPS * size)
        kind_of_step[irregular & alike & (class_of_step == class_of_group[group])] = kind
    return kind_of_step, irregular


def _warm_up_count(times: npt.NDArray[np.int64]) -> int:
    """How many of the first steps are still slow."""
    limit = WARM_UP_FACTOR * nearest_rank(times, 50)
    most = int(MOST_WARM_UP * times.size)
    settled = np.flatnonzero(times[: most + 1] <= limit)
    return int(settled[0]) if settled.size else most
