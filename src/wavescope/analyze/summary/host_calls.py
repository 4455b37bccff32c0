"""Where host time goes by call: API functions, operators and annotations of each category.

A call's time includes the calls inside it, so that totals of different categories overlap; the
share is therefore of the calls of the same category. docs/definitions.md has the details.
"""

from __future__ import annotations

from dataclasses import dataclass

from wavescope.analyze.summary.kernel_summary import STATISTICS_COLUMNS, statistics_rows
from wavescope.analyze.summary.scopes import Scope, combine, scope_index
from wavescope.arrays.distinct_values import distinct, paired
from wavescope.arrays.group_statistics import group_statistics
from wavescope.errors import UsageError
from wavescope.model.result import Result, ResultColumn, ResultTable, Unit, Value
from wavescope.model.trace import Trace

_KEY_COLUMNS = (
    ResultColumn("category", "Category", Unit.NAME, "kind of call"),
    ResultColumn("name", "Call", Unit.NAME, "function or operator"),
    ResultColumn("calls", "Calls", Unit.COUNT, "how often it was called"),
)


@dataclass(frozen=True)
class HostCallOptions:
    """Whether to list calls for the whole trace or for each process."""

    scope: Scope = Scope.ALL


def host_calls(trace: Trace, options: HostCallOptions | None = None) -> Result:
    """Table `calls` by category and name, largest total first; counts as facts."""
    options = options or HostCallOptions()
    if options.scope is Scope.GPU:
        raise UsageError("host calls belong to processes, not to GPUs")
    calls = trace.calls
    calls.load("start_ns", "end_ns", "name", "category", "process")
    names, name_of_row = distinct(calls["name"])
    categories, category_of_row = distinct(calls["category"])
    count = len(categories) * len(names)
    keys = paired(category_of_row, name_of_row, len(names), count)
    scope = scope_index(trace, calls, options.scope)
    groups, group_count = combine(scope, keys, count)
    statistics = group_statistics(groups, calls.duration_ns, group_count)
    places = [_place(group, count, len(names)) for group in statistics.groups.tolist()]
    texts = [
        (trace.strings[categories[category]], trace.strings[names[name]])
        for _, category, name in places
    ]
    numbers = statistics_rows(statistics, _category_totals(places, statistics.totals))
    order = sorted(
        range(len(places)), key=lambda i: (places[i][0], -statistics.totals[i], *texts[i])
    )
    rows: list[tuple[Value, ...]] = [
        (*scope.labels[places[i][0]], *texts[i], numbers[i][0], *numbers[i][1]) for i in order
    ]
    columns = (*scope.columns, *_KEY_COLUMNS, *STATISTICS_COLUMNS)
    return Result(
        "Host calls",
        [ResultTable("calls", "Host calls", columns, rows)],
        facts={"call_count": len(calls), "call_name_count": len(names)},
    )


def _category_totals(places: list[tuple[int, int, int]], totals: list[int]) -> list[int]:
    """For each place the summed totals of all places with its scope and category."""
    sums: dict[tuple[int, int], int] = {}
    for (scope, category, _), total in zip(places, totals, strict=True):
        sums[scope, category] = sums.get((scope, category), 0) + total
    return [sums[scope, category] for scope, category, _ in places]


def _place(group: int, count: int, name_count: int) -> tuple[int, int, int]:
    """Scope, category and name of a group number."""
    scope, key = divmod(group, count)
    return scope, *divmod(key, name_count)
