"""Chooses dispatches by kernel, dispatch id and GPU, as the command line spells them."""

from __future__ import annotations

import difflib
import fnmatch
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from wavescope.analyze.counters.catalogue import Catalogue, Metric
from wavescope.errors import UsageError
from wavescope.model.counters import CounterTable, Integers
from wavescope.patterns import compiled

_RANGE = re.compile(r"(\d{1,18})(?::(\d{1,18}))?", re.ASCII)
_ABOVE = re.compile(r">\s*(\d{1,18})", re.ASCII)


def kernels_by_time(table: CounterTable) -> Integers:
    """Indexes of kernel names, the one with most time first; a kernel's id is its place here."""
    times = np.bincount(
        table.kernel_codes,
        weights=np.nan_to_num(table.durations_ns),
        minlength=len(table.kernel_names),
    )
    return np.argsort(-times, kind="stable")


def chosen_rows(
    table: CounterTable,
    kernels: Sequence[str] = (),
    dispatches: Sequence[str] = (),
    gpus: Sequence[str] = (),
    pattern: str = "",
) -> NDArray[np.bool_]:
    """Which dispatches all filters leave; nothing left of some is a usage error.

    `kernels` are ids or parts of names, `pattern` is found somewhere in the name.
    """
    chosen = np.ones(table.count, dtype=np.bool_)
    if kernels:
        codes = [code for text in kernels for code in _kernel_codes(table, text)]
        chosen &= np.isin(table.kernel_codes, codes)
    if pattern:
        is_meant = compiled(pattern).search
        matches = np.array([bool(is_meant(name)) for name in table.kernel_names], dtype=np.bool_)
        chosen &= matches[table.kernel_codes]
    if dispatches:
        chosen &= _dispatch_mask(table.dispatch_ids, dispatches)
    if gpus:
        chosen &= np.isin(table.gpu_ids, [_gpu_id(table, text) for text in gpus])
    if table.count and not chosen.any():
        raise UsageError(
            f"no dispatch of {table.path} passes the filters",
            hint="`wavescope counters -p DIR --list-stats` lists kernels, dispatches and GPUs",
        )
    return chosen


def _kernel_codes(table: CounterTable, text: str) -> list[int]:
    """The kernels that an id of --list-stats, a part of the name or a pattern with * means."""
    order = kernels_by_time(table).tolist()
    if text.isdecimal() and int(text) < len(order):
        return [order[int(text)]]
    names = table.kernel_names
    if any(mark in text for mark in "*?["):
        found = [code for code, name in enumerate(names) if fnmatch.fnmatchcase(name, text)]
    else:
        found = [code for code, name in enumerate(names) if text in name]
    if not found:
        near = difflib.get_close_matches(text, names, 2, 0.3)
        raise UsageError(
            f"there is no kernel '{text}'",
            hint=f"did you mean '{near[0]}'?"
            if near
            else f"there are {len(names)} kernels, `--list-stats` lists them",
        )
    return found


def _dispatch_mask(ids: Integers, texts: Sequence[str]) -> NDArray[np.bool_]:
    chosen = np.zeros(len(ids), dtype=np.bool_)
    for text in texts:
        above = _ABOVE.fullmatch(text.strip())
        found = _RANGE.fullmatch(text.strip())
        if above:
            chosen |= ids > int(above.group(1))
        elif found:
            first = int(found.group(1))
            last = int(found.group(2) or first)
            chosen |= (ids >= first) & (ids <= last)
        else:
            raise UsageError(
                f"'{text}' is not a dispatch", hint="write 5, 3:7 (both included) or '>10'"
            )
    return chosen


def _gpu_id(table: CounterTable, text: str) -> int:
    known = sorted({int(gpu) for gpu in table.gpu_ids})
    if not (text.isdecimal() and int(text) in known):
        raise UsageError(
            f"no dispatch ran on GPU '{text}'",
            hint=f"there are: {', '.join(map(str, known))}",
        )
    return int(text)


def chosen_blocks(catalogue: Catalogue, texts: Sequence[str]) -> frozenset[str] | None:
    """The ids that `texts` mean; None for all when there are none.

    An id is that of a panel (2), a table (2.1) or a metric (2.1.4); a panel's alias (sol) and a
    metric's key (l2_hit_rate, wherever it is shown) are meant too.
    """
    if not texts:
        return None
    known = _known(catalogue)
    chosen: set[str] = set()
    for text in texts:
        ids = known.get(text) or known.get(text.lower())
        if ids is None:
            ids = _channel_id(catalogue, text)
        if ids is None:
            near = difflib.get_close_matches(text, list(known), 4, 0.5)
            raise UsageError(
                f"there is no panel, table or metric '{text}' on {catalogue.chip}",
                hint=(f"did you mean {', '.join(near)}? " if near else "")
                + f"`wavescope metrics --arch {catalogue.chip}` lists them",
            )
        chosen |= ids
    return frozenset(chosen)


def _known(catalogue: Catalogue) -> dict[str, set[str]]:
    known: dict[str, set[str]] = {}
    for panel in catalogue.all_panels:
        known[str(panel.id)] = known[panel.alias] = {str(panel.id)}
        for table in panel.tables:
            known[table.id] = {table.id}
            for at, row in enumerate(table.rows):
                if not table.is_per_channel:
                    known[f"{table.id}.{at}"] = {f"{table.id}.{at}"}
                place = table.id if table.is_per_channel else f"{table.id}.{at}"
                known.setdefault(row.metric, set()).add(place)
    for id_ in ("0.1", "0.2", "0.4", "1.1", "4.1", "4.2", "21.1"):
        known[id_] = {id_}
    return known


def _channel_id(catalogue: Catalogue, text: str) -> set[str] | None:
    """A row of a table of channels: 18.2.17."""
    table_id, dot, row = text.rpartition(".")
    tables = [t for panel in catalogue.panels for t in panel.tables if t.is_per_channel]
    if dot and row.isdecimal() and any(table.id == table_id for table in tables):
        return {f"{table_id}.{int(row)}"}
    return None


def wants(chosen: frozenset[str] | None, table_id: str) -> bool:
    """Whether a table that is no table of metrics is among what was chosen."""
    return chosen is None or table_id in chosen or table_id.partition(".")[0] in chosen


def chosen_metrics(catalogue: Catalogue, chosen: frozenset[str] | None) -> list[Metric]:
    """The metrics of the chosen panels, tables and rows, each once; all when nothing is chosen."""
    keys: dict[str, None] = {}
    for table in catalogue.tables:
        for at, row in enumerate(table.rows):
            ids = {table.id.partition(".")[0], table.id, f"{table.id}.{at}"}
            if chosen is None or ids & chosen or _has_chosen_channel(table.id, chosen):
                keys[row.metric] = None
    return [catalogue.metrics[key] for key in keys]


def _has_chosen_channel(table_id: str, chosen: frozenset[str]) -> bool:
    return table_id.startswith("18.") and any(each.startswith(f"{table_id}.") for each in chosen)
