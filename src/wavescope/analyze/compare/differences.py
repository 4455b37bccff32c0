"""Tables of differences: each part of the base trace beside the same part of another trace."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from wavescope.analyze.compare.figures import Figures, FiguresByName, total_of
from wavescope.analyze.compare.renames import Rename
from wavescope.model.result import ResultColumn, ResultTable, Unit, Value

NOTHING = Figures()


@dataclass(frozen=True)
class Difference:
    """One part in both traces; `base_name` is what a renamed one is called in the base."""

    name: str
    base: Figures
    new: Figures
    base_name: str = ""
    grouping: str = ""
    """How a part with another name in the base came about: 'renamed', 'merged' or 'split'."""
    evidence: str = ""

    @property
    def delta_ns(self) -> int:
        return self.new.total_ns - self.base.total_ns

    @property
    def status(self) -> str:
        """'both', 'new', 'gone', 'renamed', 'merged' or 'split'."""
        if self.base_name:
            return self.grouping
        if not self.base.calls:
            return "new"
        return "both" if self.new.calls else "gone"

    @property
    def calls_effect_ns(self) -> int:
        """How much of the delta comes from running more or less often, at the base's mean."""
        if not self.base.calls or not self.new.calls:
            return self.delta_ns
        more = self.new.calls - self.base.calls
        return round(more * self.base.total_ns / self.base.calls)

    @property
    def speed_effect_ns(self) -> int:
        """The rest of the delta: each call took longer or shorter."""
        return self.delta_ns - self.calls_effect_ns


def differences(
    base: FiguresByName, new: FiguresByName, renamed: Iterable[Rename] = ()
) -> list[Difference]:
    """All parts of both, the largest change first; renamed ones are put together."""
    pairs = list(renamed)
    matched_base = {name for pair in pairs for name in pair.base}
    matched_new = {name for pair in pairs for name in pair.new}
    found = [
        Difference(
            " + ".join(pair.new),
            total_of(base[name] for name in pair.base),
            total_of(new[name] for name in pair.new),
            " + ".join(pair.base),
            pair.grouping,
            pair.evidence,
        )
        for pair in pairs
    ]
    found += [
        Difference(name, base.get(name, NOTHING), figures)
        for name, figures in new.items()
        if name not in matched_new
    ]
    found += [
        Difference(name, figures, NOTHING)
        for name, figures in base.items()
        if name not in new and name not in matched_base
    ]
    return sorted(found, key=lambda row: (-abs(row.delta_ns), -row.base.total_ns, row.name))


_FIGURE_COLUMNS = (
    ResultColumn("base_total_ns", "Base", Unit.NS, "sum of durations in the base trace"),
    ResultColumn("new_total_ns", "New", Unit.NS, "sum of durations in the other trace"),
    ResultColumn("delta_ns", "Delta", Unit.NS, "new - base"),
    ResultColumn("delta_percent", "Delta %", Unit.PERCENT, "delta / base"),
    ResultColumn("base_calls", "Base calls", Unit.COUNT, "ops in the base trace"),
    ResultColumn("new_calls", "New calls", Unit.COUNT, "ops in the other trace"),
    ResultColumn("delta_calls", "Delta calls", Unit.COUNT, "new - base"),
    ResultColumn("base_mean_ns", "Base mean", Unit.NS, "total / calls of the base"),
    ResultColumn("new_mean_ns", "New mean", Unit.NS, "total / calls of the other"),
    ResultColumn("mean_percent", "Mean %", Unit.PERCENT, "change of the mean"),
)
_EFFECT_COLUMNS = (
    ResultColumn("calls_effect_ns", "By calls", Unit.NS, "delta because it ran more often"),
    ResultColumn("speed_effect_ns", "By speed", Unit.NS, "delta because each call took longer"),
)
_STATUS_COLUMNS = (
    ResultColumn("status", "Status", Unit.NAME, "both, new, gone, renamed, merged or split"),
    ResultColumn("base_name", "Was", Unit.NAME, "what a renamed one is called in the base"),
    ResultColumn("matched_by", "Matched by", Unit.NAME, "what the two names agree in"),
)


def _figures(row: Difference) -> tuple[Value, ...]:
    base, new = row.base, row.new
    return (
        base.total_ns,
        new.total_ns,
        row.delta_ns,
        percent_change(base.total_ns, new.total_ns),
        base.calls,
        new.calls,
        new.calls - base.calls,
        base.mean_ns,
        new.mean_ns,
        percent_change(base.mean_ns, new.mean_ns),
    )


def percent_change(base: float | None, new: float | None) -> float | None:
    """From `base` to `new`; None without both."""
    return 100 * (new - base) / base if base and new is not None else None


def difference_table(
    name: str,
    title: str,
    part: str,
    of_trace: Sequence[tuple[int, Sequence[Difference]]],
    *,
    categories: Mapping[str, str] | None = None,
) -> ResultTable:
    """A table of differences with the base; `of_trace` has the number of each other trace.

    The column `trace` is there when the base is compared with several.
    """
    many = len(of_trace) > 1
    columns = (
        *(TRACE_COLUMN if many else ()),
        ResultColumn("name", part, Unit.NAME, "as in the other trace, where it is there"),
        *(() if categories is None else CATEGORY_COLUMN),
        *_FIGURE_COLUMNS,
        *(() if categories is None else (*_STATUS_COLUMNS, *_EFFECT_COLUMNS)),
    )
    rows: list[tuple[Value, ...]] = []
    for number, changes in of_trace:
        for row in changes:
            place = (number,) if many else ()
            if categories is None:
                rows.append((*place, row.name, *_figures(row)))
            else:
                status = (row.status, row.base_name or None, row.evidence or None)
                category = categories.get(row.name.split(" + ")[0])
                effects = (row.calls_effect_ns, row.speed_effect_ns)
                rows.append((*place, row.name, category, *_figures(row), *status, *effects))
    return ResultTable(name, title, columns, rows)


TRACE_COLUMN = (ResultColumn("trace", "Trace", meaning="number of the other trace"),)
CATEGORY_COLUMN = (ResultColumn("category", "Category", Unit.NAME, "kind of work"),)
