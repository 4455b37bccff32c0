"""Reads a workload folder of ROCm Compute Profiler or of `wavescope counters collect`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from wavescope.errors import UnreadableInputError
from wavescope.formats.counters.counter_csv import (
    is_long_form,
    read_long_form,
    read_wide_form,
)
from wavescope.formats.counters.machine_files import ceilings_in, numeric_facts, read_system
from wavescope.formats.counters.passes import (
    Pairing,
    complete_multiplexed,
    dispatch_keys,
    has_times,
    joined,
    placed,
)
from wavescope.formats.counters.pc_samples import is_sample_file, read_pc_samples
from wavescope.model.counters import ACCUMULATED, CounterTable, Floats
from wavescope.model.progress import Notes
from wavescope.model.workload_layout import (
    ACCUMULATOR,
    ACCUMULATOR_SUFFIX,
    COUNTER,
    JOINED_FILE,
    LEVEL_FILES,
    MULTIPLEXING_FILE,
    PASS_FILES,
    RECORD_FILE,
    TIMES_FILE,
    present_name,
)
from wavescope.units import counted
from wavescope.whole_files import whole_file

_MOST_CHANNELS = 4096
_MOST_RECORD_BYTES = 16 << 20
_MOST_NAMES = 8


def read_workload(path: Path) -> CounterTable:
    """Everything that the folder holds; what could not be read of it is in the notes.

    A file of counters in it stands for its folder.
    """
    folder = path.parent if _is_counter_file(path.name) and path.is_file() else path
    names = _file_names(folder)
    system = read_system(folder)
    notes = Notes()
    facts = numeric_facts(system, notes)
    for note in profile_notes(folder):
        notes.add(note)
    main = _main_table(folder, names, notes)
    if not main.count and not any(map(is_sample_file, names)):
        raise UnreadableInputError(
            main.path,
            "it holds no dispatches",
            hint="; ".join(main.notes.sentences())
            or "did the program launch kernels, and did any pass the filters?",
        )
    table = replace(main, path=str(folder), facts=facts, system=system, notes=notes)
    table = _with_other_passes(table, folder, names)
    if MULTIPLEXING_FILE in names:
        table = complete_multiplexed(table, folder / MULTIPLEXING_FILE)
    table = _with_levels_and_channels(table)
    return replace(
        table,
        durations_ns=_durations(table, folder, names),
        ceilings=ceilings_in(folder, notes),
        pc_samples=read_pc_samples(folder, names, notes),
    )


def is_workload(path: Path) -> bool:
    """Whether the folder, or one inside it, holds counters, told by the names of its files.

    A folder around workloads cannot be read itself: what is said then names the one inside. A file
    of counters stands for its folder.
    """
    if not path.is_dir():
        return _is_counter_file(path.name)
    entries = list(path.iterdir())
    return any(_is_counter_file(entry.name) for entry in entries if entry.is_file()) or any(
        (entry / JOINED_FILE).is_file() for entry in entries if entry.is_dir()
    )


def _file_names(folder: Path) -> list[str]:
    try:
        names = sorted(entry.name for entry in folder.iterdir() if entry.is_file())
    except NotADirectoryError as error:
        raise UnreadableInputError(
            folder, "it is a file", hint="give the workload folder that holds pmc_perf.csv"
        ) from error
    except OSError as error:
        is_missing = isinstance(error, FileNotFoundError)
        hint = (
            "`wavescope counters collect -n NAME` makes workloads/NAME/MODEL" if is_missing else ""
        )
        reason = "there is no such file or folder" if is_missing else error.strerror or str(error)
        raise UnreadableInputError(folder, reason, hint=hint) from error
    if not any(_is_counter_file(name) for name in names):
        inner = [
            entry.name
            for entry in sorted(folder.iterdir())
            if entry.is_dir() and (entry / JOINED_FILE).is_file()
        ]
        hint = (
            f"did you mean {folder / inner[0]}?"
            if inner
            else "a workload folder holds sysinfo.csv and pmc_perf.csv"
        )
        raise UnreadableInputError(folder, "there are no counters in it", hint=hint)
    return names


def _is_counter_file(name: str) -> bool:
    return (
        name == JOINED_FILE
        or bool(PASS_FILES.fullmatch(name) or LEVEL_FILES.fullmatch(name))
        or is_sample_file(name)
    )


def _main_table(folder: Path, names: Sequence[str], notes: Notes) -> CounterTable:
    """The joined counters, or the join of the passes when nobody has joined them yet."""
    if JOINED_FILE in names:
        path = folder / JOINED_FILE
        return _noted(read_long_form([path]) if is_long_form(path) else read_wide_form(path), notes)
    paths = [folder / name for name in names if PASS_FILES.fullmatch(name)]
    paths = paths or [folder / name for name in names if LEVEL_FILES.fullmatch(name)]
    if not paths:
        return _without_dispatches(folder)
    long, wide = _by_form(paths)
    before = len(notes)
    tables = _readable(wide, notes)
    if long:
        return _noted(read_long_form(long), notes)
    if not tables:
        hint = "; ".join(notes.sentences()[before:])
        raise UnreadableInputError(folder, "no pass holds any dispatch", hint=hint)
    return _presently_named(joined(tables, notes))


def _without_dispatches(folder: Path) -> CounterTable:
    """The table of a folder that holds nothing but samples."""
    none = np.empty(0, np.int64)
    return CounterTable(str(folder), [], none, none, none, np.empty(0))


def _noted(table: CounterTable, notes: Notes) -> CounterTable:
    for sentence in table.notes.sentences():
        notes.add(sentence)
    return _presently_named(table)


def _presently_named(table: CounterTable) -> CounterTable:
    """The table with counters under their present names."""
    columns = {present_name(name): values for name, values in table.columns.items()}
    return replace(table, columns=columns, starts_ns=None)


def _by_form(paths: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """Files with a row for each counter, and all others, unreadable ones among them."""
    long = []
    for path in paths:
        with suppress(UnreadableInputError):
            if is_long_form(path):
                long.append(path)
    return long, [path for path in paths if path not in long]


def _readable(paths: Sequence[Path], notes: Notes) -> list[CounterTable]:
    """The passes that hold dispatches; each that does not is noted."""
    tables = []
    for path in paths:
        try:
            table = _presently_named(read_wide_form(path))
        except UnreadableInputError as error:
            notes.add(f"{path.name} was left out: {error.reason}")
            continue
        if table.count:
            tables.append(table)
        else:
            notes.add(f"{path.name} was left out: the pass produced nothing")
    return tables


def _with_other_passes(table: CounterTable, folder: Path, names: Sequence[str]) -> CounterTable:
    """With level passes, and counters of single passes that the joined file lacks."""
    pairing = Pairing(dispatch_keys(table))
    wanted = [name for name in names if LEVEL_FILES.fullmatch(name)]
    if JOINED_FILE in names:
        wanted += [name for name in names if PASS_FILES.fullmatch(name)]
    _, wide = _by_form([folder / name for name in wanted])
    columns, spans = dict(table.columns), dict(table.pass_durations_ns)
    levels: dict[str, Mapping[str, Floats]] = {}
    for other in _readable(wide, table.notes):
        path = Path(other.path)
        rows = pairing.rows_of(other, table.notes)
        own = {name: placed(values, rows) for name, values in other.columns.items()}
        if has_times(other):
            spans[path.stem] = placed(other.durations_ns, rows)
        level = LEVEL_FILES.fullmatch(path.name)
        for name, values in own.items():
            if not (level and name == ACCUMULATOR):
                columns.setdefault(name, values)
        if level:
            levels[level.group(1)] = {
                ACCUMULATED if name == ACCUMULATOR else name: values for name, values in own.items()
            }
    columns.pop(ACCUMULATOR, None)
    return replace(table, columns=columns, levels=levels, pass_durations_ns=spans)


def _with_levels_and_channels(table: CounterTable) -> CounterTable:
    """With the columns of channels as blocks, and accumulators in the passes of their levels.

    A block is as wide as the chip has channels. In a long form all passes share one table: there,
    `NAME_ACCUM` belongs to the level NAME.
    """
    columns: dict[str, Floats] = {}
    families: dict[str, dict[int, Floats]] = {}
    levels = {level: dict(own) for level, own in table.levels.items()}
    for name, values in table.columns.items():
        found = COUNTER.fullmatch(name)
        channel = int(found.group(1)) if found and found.group(1) else _MOST_CHANNELS
        if channel < _MOST_CHANNELS:
            families.setdefault(name.partition("[")[0], {})[channel] = values
        elif name.endswith(ACCUMULATOR_SUFFIX):
            levels.setdefault(name.removesuffix(ACCUMULATOR_SUFFIX), {})[ACCUMULATED] = values
        else:
            columns[name] = values
    widest = max((max(members) + 1 for members in families.values()), default=0)
    width = min(max(widest, int(table.facts.get("total_l2_chan", 0))), _MOST_CHANNELS)
    channels = {}
    for family, members in families.items():
        channels[family] = np.full((table.count, width), np.nan)
        for channel, values in members.items():
            channels[family][:, channel] = values
    return replace(table, columns=columns, channels=channels, levels=levels)


def _durations(table: CounterTable, folder: Path, names: Sequence[str]) -> Floats:
    """Those of timestamps.csv where the counters have none; a note when there are none."""
    if has_times(table):
        return table.durations_ns
    if TIMES_FILE in names:
        times = _readable([folder / TIMES_FILE], Notes())
        if times and has_times(times[0]) and times[0].count == table.count:
            table.notes.add(f"times are those of {TIMES_FILE}")
            return times[0].durations_ns
    table.notes.add(
        "no dispatch has times: what needs durations is not available"
        if table.count
        else "it holds samples of program counters and no counters: panel 21 is all there is"
    )
    return table.durations_ns


def profile_notes(folder: Path) -> list[str]:
    """What `wavescope counters collect` noted; nothing when all went well, or nothing was noted."""
    path = folder / RECORD_FILE
    if not path.exists():
        return []
    try:
        content = json.loads(whole_file(path, _MOST_RECORD_BYTES, "a record"))
        return [*_of_passes(content), *_of_counters(content)]
    except UnreadableInputError as error:
        return [f"{RECORD_FILE} was left out: {error.reason}"]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        return [f"{RECORD_FILE} was left out: {error}"]


def _of_passes(content: Mapping[str, Any]) -> Iterator[str]:
    for name, each in content["passes"].items():
        for problem in each.get("problems", []):
            yield f"{name}: {problem}"


def _of_counters(content: Mapping[str, Any]) -> Iterator[str]:
    names = [str(name) for name in content.get("unknown_counters", [])]
    if names:
        more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
        yield (
            f"rocprofv3 did not know {counted(len(names), 'counter')} of the chip, and what needs "
            f"them is missing: {' '.join(names[:_MOST_NAMES])}{more}"
        )
