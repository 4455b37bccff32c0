"""Which dispatches a report of traffic is about: of traces too, chosen by kernel and number."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

import numpy as np

from wavescope.analyze.traffic.kernel_traffic import TrafficOptions
from wavescope.errors import UsageError
from wavescope.model.chips import find_chip
from wavescope.model.counters import (
    MEMORY_COUNTERS_HINT,
    CounterTable,
    Floats,
    Integers,
    counter_name,
    kernel_names_and_codes,
)
from wavescope.model.selection import compiled
from wavescope.model.trace import Trace

_LISTED = 5


def chosen_dispatches(
    tables: Sequence[CounterTable], kernel: str = "", dispatches: Collection[int] = ()
) -> list[CounterTable]:
    """Dispatches of kernels whose name matches `kernel` somewhere, with one of these numbers."""
    names = kernels_of(tables)
    if not names:
        raise UsageError("these files hold no memory counters", hint=MEMORY_COUNTERS_HINT)
    wanted = set(filter(compiled(kernel).search, names)) if kernel else set(names)
    kept = [_chosen(table, wanted, dispatches) for table in tables]
    if not any(table.count for table in kept):
        listed = ", ".join(names[:_LISTED])
        raise UsageError("no dispatch passes the filters", hint=f"there are: {listed}")
    return kept


def kernels_of(tables: Sequence[CounterTable]) -> list[str]:
    """Names of the kernels that were dispatched, in the order of their first dispatch."""
    return list(dict.fromkeys(name for table in tables for name in table.kernels()))


def completed_options(options: TrafficOptions, tables: Sequence[CounterTable]) -> TrafficOptions:
    """The options with the chip, and the peak of the product, that the first of the files names."""
    if options.chip is not None:
        return options
    named = next((table for table in tables if table.chip), None)
    chip = find_chip(named.chip) if named else None
    peak = options.peak_gb_per_s
    if peak is None and named is not None and chip is not None:
        product = chip.product_named(named.product)
        peak = product.memory_gb_per_s if product else None
    return replace(options, chip=chip, peak_gb_per_s=peak)


def counters_of_trace(trace: Trace, path: str, wanted: Callable[[str], bool]) -> CounterTable:
    """The ops of a trace that have a counter whose name, without `_sum`, is wanted."""
    counters = trace.counters
    counters.load("op", "name", "value")
    codes = np.unique(counters["name"])
    columns: dict[str, Floats] = {}
    chosen = {
        code: text
        for code, text in zip(codes.tolist(), counters.string_table.decode(codes), strict=True)
        if (name := counter_name(text)) is not None and wanted(name.base)
    }
    rows = np.flatnonzero(np.isin(counters["name"], list(chosen)) & (counters["value"] >= 0))
    ids, places = np.unique(counters["op"][rows], return_inverse=True)
    for code, text in chosen.items():
        own = counters["name"][rows] == code
        sums = np.bincount(places[own], counters["value"][rows][own], minlength=len(ids))
        seen = np.bincount(places[own], minlength=len(ids))
        columns[text] = np.where(seen > 0, sums, np.nan)
    return _table_of_ops(trace, path, ids, columns)


def _table_of_ops(
    trace: Trace, path: str, ids: Integers, columns: dict[str, Floats]
) -> CounterTable:
    ops = trace.ops
    ops.load("id", "name", "start_ns", "end_ns", "gpu")
    rows = np.minimum(np.searchsorted(ops["id"], ids), max(len(ops["id"]) - 1, 0))
    is_known = ops["id"][rows] == ids if len(ops["id"]) else np.zeros(len(ids), dtype=np.bool_)
    rows = rows[is_known]
    names, codes = kernel_names_and_codes(ops.string_table.decode(ops["name"][rows]))
    return CounterTable(
        path,
        names,
        codes,
        ids[is_known],
        ops["gpu"][rows].astype(np.int64),
        (ops["end_ns"] - ops["start_ns"])[rows].astype(np.float64),
        {name: values[is_known] for name, values in columns.items()},
        system=_machine(trace),
        starts_ns=ops["start_ns"][rows],
    )


def _chosen(table: CounterTable, kernels: set[str], dispatches: Collection[int]) -> CounterTable:
    codes = [code for code, name in enumerate(table.kernel_names) if name in kernels]
    mask = np.isin(table.kernel_codes, codes)
    if dispatches:
        mask &= np.isin(table.dispatch_ids, list(dispatches))
    return table.rows(mask)


def _machine(trace: Trace) -> dict[str, str]:
    agents = zip(trace.agents.strings("chip"), trace.agents.strings("model"), strict=True)
    chip, model = next((each for each in agents if each[0]), ("", ""))
    return {"gpu_arch": chip, "gpu_model": model}
