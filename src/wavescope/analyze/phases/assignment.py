"""Which phase each op belongs to: the one answer that every command gives.

What the program marked counts where its ranges tell phases apart and hold most of the GPU time;
otherwise what names and structure tell of a language model; otherwise whatever was marked.
docs/phases.md publishes the rule.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wavescope.analyze.markers import has_markers
from wavescope.analyze.ops.coverage import recorded
from wavescope.analyze.phases.annotations import MOST_DISAGREEMENT, agreement
from wavescope.analyze.phases.found import (
    FoundPhase,
    FoundPhases,
    found_phases,
)
from wavescope.analyze.phases.language_model import Evidence, language_model_evidence
from wavescope.analyze.phases.marked import OP_COLUMNS, MarkedPhases, marked_phases
from wavescope.analyze.phases.name_signs import PhaseRules
from wavescope.analyze.phases.paths import NO_PATH, Path, PathTree, PhaseScope
from wavescope.arrays import Array
from wavescope.arrays.coded_columns import looked_up
from wavescope.arrays.groups import group_sums
from wavescope.model.columns import UNKNOWN
from wavescope.model.trace import Trace
from wavescope.names.kernel_names import CategoryRules

Codes = npt.NDArray[np.int32]

OUTSIDE = "(outside any range)"
"""What ops are called that no marked phase holds."""
UNCLASSIFIED = "unclassified"
"""What ops are called of which neither names nor structure tell the phase."""
LEAST_HELD = 0.5
"""Of the GPU time: a source of phases that tells less of it is asked only after the others."""
_NUMBERED = " *"
"""Ends names that stand for many numbered ones."""
_FOUND = (FoundPhase.PREFILL, FoundPhase.DECODE, FoundPhase.SHARED)


class PhaseSource(str, enum.Enum):
    """Where phases come from."""

    MARKERS = "markers"
    STRUCTURE = "structure"
    NONE = "none"


@dataclass(frozen=True)
class PhaseAssignment:
    """The phase of every op, with what nests in it where the program marked that."""

    source: PhaseSource
    labels: tuple[str, ...]
    """The phases, first seen first."""
    codes: Codes
    """For each op the place of its phase in `labels`; -1 for ops of none."""
    tree: PathTree
    """The same in more detail: paths such as request > decode, where ranges nest."""
    path_of_op: Codes
    """For each op the innermost of the tree's paths; -1 for ops of none."""
    marked: MarkedPhases | None = None
    """What markers say, where the trace has any, whatever the source."""
    found: FoundPhases | None = None
    """What names and structure say, where they were asked."""

    @property
    def outside_label(self) -> str:
        """What ops without a phase are called."""
        return OUTSIDE if self.source is PhaseSource.MARKERS else UNCLASSIFIED


@dataclass(frozen=True)
class PhaseOptions:
    """What to show of the phases, and what they are told by.

    Who asks for a scope, for numbers or for a marker asks for marked phases, whatever they cover.
    """

    scope: PhaseScope = PhaseScope.ALL
    """What marked phases are kept apart by."""
    merge_numbers: bool = True
    """Whether `step 1` and `step 2` are one phase."""
    marker: str = ""
    """A regular expression: only paths in which a name, or which as a whole, match it."""
    use_markers: bool = True
    """Whether markers count at all."""
    kernels: int | None = None
    """Kernels listed for each phase; all by default."""
    full_names: bool = False
    rules: CategoryRules | None = None
    """What kernels are called and what they are."""
    phase_rules: PhaseRules | None = None
    """What kernel names say of phases."""

    @property
    def means_markers(self) -> bool:
        """Whether marked phases are asked for."""
        asked = self.marker or self.scope is not PhaseScope.ALL or not self.merge_numbers
        return self.use_markers and bool(asked)


def phases_of(
    trace: Trace, *, use_markers: bool = True, rules: PhaseRules | None = None
) -> PhaseAssignment:
    """The phase of every op of `trace`; callers who need it again keep it."""
    # Ops first: files that keep markers among them are then read once.
    trace.ops.load(*OP_COLUMNS)
    marked = marked_phases(trace) if use_markers and has_markers(trace) else None
    lengths_ns = trace.op_length_ns
    told = None if marked is None else _phases_told_apart(marked, lengths_ns)
    if marked is not None and told is not None:
        return _by_markers(marked, *told)
    # Structure is the order of kernels, which slices of a run do not show.
    is_sampled = recorded(trace) is not None
    evidence = Evidence.NONE if is_sampled else language_model_evidence(trace, rules)
    found = None if evidence is Evidence.NONE else found_phases(trace, rules, evidence)
    found_share = 0.0 if found is None else _share_told(found, lengths_ns)
    if found is not None and marked is not None:
        alike = agreement(marked, found.phase_codes, lengths_ns)
        if alike is not None and alike < 1 - MOST_DISAGREEMENT:
            return _by_markers(marked, *_phases_at(marked, 0), found)
    if found is not None and found_share >= LEAST_HELD:
        return _by_structure(found, marked)
    if marked is not None and np.any(marked.path_of_op != NO_PATH):
        return _by_markers(marked, *_phases_at(marked, 0), found)
    if found is not None and found_share > 0:
        return _by_structure(found, marked)
    nothing = np.full(len(trace.ops), NO_PATH, np.int32)
    return PhaseAssignment(PhaseSource.NONE, (), nothing, PathTree(), nothing, marked, found)


def _phases_told_apart(
    marked: MarkedPhases, lengths_ns: Array
) -> tuple[tuple[str, ...], Codes] | None:
    """The outermost level at which ranges have several names and hold enough of the GPU time."""
    for depth in range(max((path.depth for path in marked.paths), default=-1) + 1):
        if len(_names_at(marked, marked.tree.ancestors_at(depth))) < 2:
            continue
        labels, codes = _phases_at(marked, depth)
        totals = group_sums(codes + 1, lengths_ns, len(labels) + 1)
        if sum(totals[1:]) >= LEAST_HELD * sum(totals):
            return labels, codes
    return None


def _phases_at(marked: MarkedPhases, depth: int) -> tuple[tuple[str, ...], Codes]:
    """The names of the ranges at one depth, and for each op the place of its own; -1 without."""
    ancestors = marked.tree.ancestors_at(depth)
    labels = _names_at(marked, ancestors)
    place = {name: number for number, name in enumerate(labels)}
    of_path = [
        place[_name_of(marked.paths[path])] if path >= 0 else NO_PATH for path in ancestors.tolist()
    ]
    return labels, looked_up(np.array(of_path, np.int32), marked.path_of_op)


def _names_at(marked: MarkedPhases, ancestors: Codes) -> tuple[str, ...]:
    """The different names of some paths; paths are in the order in which they were first seen."""
    paths = sorted(set(ancestors[ancestors >= 0].tolist()))
    return tuple(dict.fromkeys(_name_of(marked.paths[path]) for path in paths))


def _name_of(path: Path) -> str:
    return path.name.removesuffix(_NUMBERED)


def _by_markers(
    marked: MarkedPhases, labels: tuple[str, ...], codes: Codes, found: FoundPhases | None = None
) -> PhaseAssignment:
    return PhaseAssignment(
        PhaseSource.MARKERS, labels, codes, marked.tree, marked.path_of_op, marked, found
    )


def _share_told(found: FoundPhases, lengths_ns: Array) -> float:
    """How much of the GPU time is known to be prefill or decode."""
    totals = group_sums(found.phase_codes, lengths_ns, len(FoundPhase))
    told = totals[FoundPhase.PREFILL] + totals[FoundPhase.DECODE]
    return told / sum(totals) if told else 0.0


def _by_structure(found: FoundPhases, marked: MarkedPhases | None) -> PhaseAssignment:
    """Prefill, decode and mixed as phases without anything nested in them."""
    labels = tuple(phase.label for phase in _FOUND)
    tree = PathTree()
    place = np.full(len(FoundPhase), NO_PATH, np.int32)
    for phase, label in zip(_FOUND, labels, strict=True):
        place[phase] = tree.number(Path(label, NO_PATH, 0, UNKNOWN, UNKNOWN))
    codes = looked_up(place, found.phase_codes)
    return PhaseAssignment(PhaseSource.STRUCTURE, labels, codes, tree, codes, marked, found)
