"""The PyTorch operators that launched a workload's dispatches: their time, and their metrics."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

import numpy as np

from wavescope.analyze.counters.catalogue import Catalogue
from wavescope.analyze.counters.report import CounterOptions, analysis_result, analyzed
from wavescope.errors import UsageError
from wavescope.model.counters import CounterTable
from wavescope.model.result import Result, ResultColumn, ResultTable, Unit

_EVERYTHING = frozenset({"all", "*", "**"})


def chosen_operators(patterns: Sequence[str], operators: Collection[str]) -> list[str]:
    """The operators that any of the patterns matches; all for none, `all`, `*` or `**`.

    A pattern matches from the right, as paths do: `*conv2d` matches the last part of a name.
    """
    distinct = sorted(set(operators))
    if not patterns or _EVERYTHING & set(patterns):
        return distinct
    chosen = [
        name for name in distinct if any(PurePosixPath(name).match(pattern) for pattern in patterns)
    ]
    if not chosen:
        raise UsageError(
            f"no operator matches {' '.join(patterns)}",
            hint="--list-torch-operators shows them; quote patterns from the shell",
        )
    return chosen


def of_operators(
    table: CounterTable, operator_of: Mapping[int, str], chosen: Collection[str]
) -> CounterTable:
    """The workload with only the dispatches of these operators."""
    wanted = set(chosen)
    mask = [operator_of.get(int(number)) in wanted for number in table.dispatch_ids]
    part = table.rows(np.array(mask, dtype=np.bool_))
    used, codes = np.unique(part.kernel_codes, return_inverse=True)
    names = [table.kernel_names[code] for code in used.tolist()]
    return replace(part, kernel_names=names, kernel_codes=codes.astype(np.int64))


def operators_result(
    table: CounterTable,
    operator_of: Mapping[int, str],
    patterns: Sequence[str] | None,
    catalogue: Catalogue,
    options: CounterOptions,
) -> Result:
    """Every operator with its time; with `patterns` also the metrics of those that match."""
    result = operator_list(table, operator_of)
    if patterns is None:
        return result
    chosen = set(chosen_operators(patterns, operator_of.values()))
    tables = []
    for name in [str(name) for name in result.tables[0].column("operator") if name in chosen]:
        part = of_operators(table, operator_of, [name])
        metrics = analysis_result(analyzed(part, catalogue, options), options)
        tables += [
            replace(each, name=f"{name}: {each.name}", title=f"{name}: {each.title}")
            for each in metrics.tables
        ]
    return result.with_tables(*tables)


def operator_list(table: CounterTable, operator_of: Mapping[int, str]) -> Result:
    """Every operator with its dispatches, kernels and GPU time, the longest first."""
    columns = (
        ResultColumn("operator", "Operator", Unit.NAME, "path of modules and the operator"),
        ResultColumn("dispatches", "Dispatches", Unit.COUNT, "that it launched"),
        ResultColumn("kernels", "Kernels", Unit.COUNT, "different ones among them"),
        ResultColumn("total_ns", "Total", Unit.NS, "sum of their durations"),
        ResultColumn("percent", "Share", Unit.PERCENT, "of the time of all dispatches"),
    )
    groups: dict[str, list[int]] = {}
    for row, number in enumerate(table.dispatch_ids.tolist()):
        groups.setdefault(operator_of.get(number, "(unknown)"), []).append(row)
    whole_ns = float(np.nansum(table.durations_ns)) or 1.0
    rows = []
    for name, members in groups.items():
        total_ns = float(np.nansum(table.durations_ns[members]))
        kernels = len(set(table.kernel_codes[members].tolist()))
        share = round(100 * total_ns / whole_ns, 2)
        rows.append((name, len(members), kernels, round(total_ns), share))
    rows.sort(key=lambda row: (-row[3], row[0]))
    listed = ResultTable("torch_operators", "PyTorch operators", columns, list(rows))
    return Result("PyTorch operators", [listed], facts={"path": table.path})
