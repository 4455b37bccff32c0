"""What changes from prefill to decode: the share of each kind of work in both, what that means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from wavescope.analyze.phases.kernels import PhaseKernels
from wavescope.analyze.phases.paths import NO_PATH, PathTree
from wavescope.model.result import ColumnOf, ResultColumn, ResultTable, Unit, table_of
from wavescope.names import kernel_names as names
from wavescope.units import percent_of

LARGE_CHANGE_POINTS = 5.0
"""Changes of a share from which on a sentence says what they are."""
SAME_POINTS = 1.0
_PREFILL_WORDS = ("prefill", "extend")
_DECODE_WORDS = ("decode",)
_IN_DECODE = {
    names.ATTENTION: "every token reads the whole cache",
    names.GEMM: "weights are read for few tokens, bound by memory",
    names.MOE: "few tokens reach each expert, bound by memory",
    names.NORMALIZATION: "small kernels, fuse them or replay graphs",
    names.ELEMENTWISE: "small kernels, fuse them or replay graphs",
    names.REDUCTION: "small kernels, fuse them or replay graphs",
    names.QUANTIZATION: "small kernels, fuse them",
    names.SAMPLING: "it runs once a step, however few tokens",
    names.COPY_FILL: "copies around every step",
    names.COMMUNICATION: "small messages, latency counts",
}
_IN_PREFILL = {
    names.ATTENTION: "it grows with the square of the prompt",
    names.GEMM: "many tokens share each weight, bound by compute",
    names.MOE: "many tokens share each expert, bound by compute",
    names.COMMUNICATION: "large messages, bandwidth counts",
}


class _Work(NamedTuple):
    calls: int = 0
    total_ns: int = 0

    @property
    def mean_ns(self) -> float | None:
        return self.total_ns / self.calls if self.calls else None


class _Insight(NamedTuple):
    """A kind of work in both phases."""

    category: str
    prefill: _Work
    decode: _Work
    prefill_ns: int
    decode_ns: int

    @property
    def prefill_percent(self) -> float:
        return percent_of(self.prefill.total_ns, self.prefill_ns) or 0.0

    @property
    def decode_percent(self) -> float:
        return percent_of(self.decode.total_ns, self.decode_ns) or 0.0

    @property
    def change_points(self) -> float:
        return self.decode_percent - self.prefill_percent

    @property
    def direction(self) -> str:
        if abs(self.change_points) < SAME_POINTS:
            return "same"
        return "up" if self.change_points > 0 else "down"

    @property
    def sentence(self) -> str | None:
        if abs(self.change_points) < LARGE_CHANGE_POINTS:
            return None
        is_more = self.change_points > 0
        why = (_IN_DECODE if is_more else _IN_PREFILL).get(self.category, "")
        phase = "decode" if is_more else "prefill"
        return f"more of {phase}: {why}" if why else f"more of {phase}"


_COLUMNS: tuple[ColumnOf[_Insight], ...] = (
    ResultColumn("category", "Category", Unit.NAME, "kind of work, see docs/categories.md").of(
        lambda row: row.category
    ),
    ResultColumn("prefill_percent", "Prefill", Unit.PERCENT, "share of prefill's durations").of(
        lambda row: row.prefill_percent
    ),
    ResultColumn("decode_percent", "Decode", Unit.PERCENT, "share of decode's durations").of(
        lambda row: row.decode_percent
    ),
    ResultColumn("direction", "Direction", Unit.NAME, "up, down or same from prefill to decode").of(
        lambda row: row.direction
    ),
    ResultColumn("change_points", "Points", meaning="decode's share less prefill's, in points").of(
        lambda row: round(row.change_points, 1)
    ),
    ResultColumn("prefill_mean_ns", "Avg prefill", Unit.NS, "mean duration of a call").of(
        lambda row: row.prefill.mean_ns
    ),
    ResultColumn("decode_mean_ns", "Avg decode", Unit.NS, "mean duration of a call").of(
        lambda row: row.decode.mean_ns
    ),
    ResultColumn("insight", "What that means", Unit.NAME, "for changes of 5 points and more").of(
        lambda row: row.sentence
    ),
)


def insight_tables(kernels: PhaseKernels, tree: PathTree) -> list[ResultTable]:
    """The table `phase_insights` of a program that has both phases, the largest change first."""
    prefill = _by_category(kernels, _paths_named(tree, _PREFILL_WORDS))
    decode = _by_category(kernels, _paths_named(tree, _DECODE_WORDS))
    if not prefill or not decode:
        return []
    prefill_ns, decode_ns = (sum(w.total_ns for w in side.values()) for side in (prefill, decode))
    rows = [
        _Insight(
            category,
            prefill.get(category, _Work()),
            decode.get(category, _Work()),
            prefill_ns,
            decode_ns,
        )
        for category in {**prefill, **decode}
    ]
    rows.sort(key=lambda row: (-abs(row.change_points), row.category))
    return [table_of("phase_insights", "Key insights: prefill -> decode", _COLUMNS, rows)]


def _paths_named(tree: PathTree, words: Sequence[str]) -> list[int]:
    """The outermost paths whose name has one of the words; what nests in them counts to them."""
    says = [any(word in path.name.lower() for word in words) for path in tree.paths]
    found = []
    for number, path in enumerate(tree.paths):
        above = path.parent
        while above != NO_PATH and not says[above]:
            above = tree.paths[above].parent
        if says[number] and above == NO_PATH:
            found.append(number)
    return found


def _by_category(kernels: PhaseKernels, paths: Sequence[int]) -> dict[str, _Work]:
    found: dict[str, _Work] = {}
    for path in paths:
        for name, time in kernels.by_path[path].items():
            category = kernels.meanings[name].category
            calls, total_ns = found.get(category, _Work())
            found[category] = _Work(calls + time.calls, total_ns + time.total_ns)
    return found
