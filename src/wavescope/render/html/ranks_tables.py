"""Tables of a job of ranks as a page shows them: the columns that fit, words below names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from wavescope.model.result import Result, ResultColumn, ResultTable, Unit, Value
from wavescope.render.html.markup import Html, element
from wavescope.render.html.tables import TableView, table_html

_MOST_ROWS, _MOST_RANKS = 300, 1_024
_ONE_ROW_A_RANK = frozenset({"ranks", "clocks", "files"})


@dataclass(frozen=True)
class _Shown:
    """How a table fits a page; the other forms of the result have all of it."""

    columns: frozenset[str] = frozenset()
    """Those that are shown; all where empty."""
    name: str = ""
    """The one column of names, which may be long; other words are short. All are where empty."""
    below: str = ""
    """The column that stands below the names."""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_BOUNDS = _names("bus_low_gb_per_s bus_high_gb_per_s transfer_low_ns transfer_high_ns skew_high_ns")
"""Columns of `collectives` that say what is certain where arrivals cannot be compared."""
_TIMED = _names("skew_median_ns skew_p95_ns wait_ns wait_percent transfer_median_ns nature")
_COLLECTIVES = _Shown(
    _names(
        "operation group group_size message_bytes exchange_count last_rank algorithm_gb_per_s "
        "bus_gb_per_s"
    )
    | _BOUNDS
    | _TIMED,
    "operation",
    "group",
)
_SHOWN: Mapping[str, _Shown] = {
    "ranks": _Shown(
        _names(
            "rank host gpu path step_count median_step_ns busy_percent exposed_percent compute_ns "
            "waited_ns delay_ns last_count host_late_ns lost_count older_count "
            "clock"
        ),
        "host",
        "path",
    ),
    "stragglers": _Shown(name="culprit", below="evidence"),
    "delays": _Shown(name="where"),
    "outliers": _Shown(
        _names("rank host metric shown difference_percent distance peer_count"), "host"
    ),
    "steps": _Shown(
        _names(
            "step label rank_count actual_ns path_ns ideal_ns delay_ns median_ns slowest_rank "
            "slowest_ns fastest_rank fastest_ns exposed_percent start_skew_ns wait_ns"
        )
    ),
    "collectives": _COLLECTIVES,
    "collectives_by_step": replace(
        _COLLECTIVES, columns=_COLLECTIVES.columns - {"group_size"} | {"step"}
    ),
    "clocks": _Shown(
        _names(
            "rank host state offset_ns drift_ppm low_ns high_ns width_ns residual_ns "
            "exchange_count reason"
        ),
        "host",
        "reason",
    ),
    "groups": _Shown(name="group", below="ranks"),
    "mismatches": _Shown(name="group", below="sentence"),
    "files": _Shown(name="path", below="problem"),
    "compared": _Shown(_names("part where metric base new change"), "where"),
}


class RanksTables:
    """The tables of a result: each is shown once, and none that is empty."""

    def __init__(self, result: Result) -> None:
        self._left = {table.name: table for table in result.tables if table.rows}

    def html(self, *names: str) -> Html:
        """Those of the named tables that have rows and were not shown yet."""
        found = [self._left.pop(name) for name in names if name in self._left]
        return element("div", *map(_table, found), class_="blocks") if found else Html("")

    def rest(self) -> Html:
        """All that no section asked for."""
        return self.html(*list(self._left))


def _table(table: ResultTable) -> Html:
    shown = _SHOWN.get(table.name, _Shown())
    table = _with_more_below(table)
    names = {column.name for column in table.columns}
    hidden = _needless(table) | (names - shown.columns if shown.columns else set())
    name, below = shown.name, shown.below
    if not {name, below} <= names or not _has_values(table, name):
        below = ""
    columns = tuple(_short_words(column, {name, below}) for column in table.columns)
    view = TableView(
        hidden=frozenset(hidden),
        most_rows=_MOST_RANKS if table.name in _ONE_ROW_A_RANK else _MOST_ROWS,
        below=below,
    )
    return table_html(replace(table, columns=columns) if name else table, view)


def _short_words(column: ResultColumn, names: set[str]) -> ResultColumn:
    if column.unit is not Unit.NAME or column.name in names:
        return column
    return column._replace(unit=Unit.NONE)


def _needless(table: ResultTable) -> set[str]:
    """Columns that say what others say already."""
    names = {column.name for column in table.columns}
    needless: set[str] = set()
    if {"step", "label"} <= names and table.column("step") == table.column("label"):
        needless.add("label")
    zeros = ("lost_count", "older_count", "host_late_ns")
    needless |= {name for name in zeros if _is_zero(table, name)}
    if len(table.rows) > 1:
        # Equal for all ranks or steps: said at the top of the page.
        needless |= {name for name in ("gpu", "rank_count") if _is_constant(table, name)}
    if "transfer_median_ns" in names:
        needless |= _BOUNDS if _has_values(table, "transfer_median_ns") else _TIMED
    return needless


def _with_more_below(table: ResultTable) -> ResultTable:
    """The table of collectives with their type behind the group, and what its figures rest on."""
    places = {column.name: place for place, column in enumerate(table.columns)}
    if not {"group", "dtype", "basis"} <= places.keys():
        return table
    more = [places["dtype"]] + ([] if "step" in places else [places["basis"]])
    group = places["group"]
    rows = []
    for row in table.rows:
        words = [str(row[place]) for place in (group, *more) if row[place]]
        rows.append((*row[:group], " · ".join(words), *row[group + 1 :]))
    return replace(table, rows=rows)


def _is_zero(table: ResultTable, name: str) -> bool:
    return not any(_values(table, name))


def _is_constant(table: ResultTable, name: str) -> bool:
    return table.name in {"ranks", "steps"} and len(set(_values(table, name))) == 1


def _values(table: ResultTable, name: str) -> list[Value]:
    names = [column.name for column in table.columns]
    return table.column(name) if name in names else []


def _has_values(table: ResultTable, name: str) -> bool:
    return any(value is not None for value in _values(table, name))
