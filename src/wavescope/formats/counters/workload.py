"""Reads a workload folder of ROCm Compute Profiler or of `wavescope profile`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from wavescope.errors import UnreadableInputError
from wavescope.formats.counters.ceilings import read_ceilings
from wavescope.formats.counters.long_form import is_long_form, read_long_form
from wavescope.formats.counters.multiplexing import complete_multiplexed
from wavescope.formats.counters.pass_join import Pairing, dispatch_keys, joined, placed
from wavescope.formats.counters.pc_samples import read_pc_samples
from wavescope.formats.counters.profile_record import profile_notes
from wavescope.formats.counters.system_facts import numeric_facts, read_system
from wavescope.formats.counters.wide_form import PassTable, read_wide_form
from wavescope.model.counters import ACCUMULATED, CounterTable, Floats
from wavescope.model.workload_layout import (
    ACCUMULATOR,
    ACCUMULATOR_SUFFIX,
    CEILINGS_FILE,
    COUNTER,
    DISPATCH_ID,
    GPU_ID,
    JOINED_FILE,
    LEVEL_FILES,
    MULTIPLEXING_FILE,
    PASS_FILES,
    TIMES_FILE,
)

_MOST_CHANNELS = 4096


def read_workload(folder: Path) -> CounterTable:
    """Everything that the folder holds; what could not be read of it is in the notes."""
    names = _file_names(folder)
    system = read_system(folder)
    facts, notes = numeric_facts(system)
    main, spans = _main_table(folder, names)
    if not main.count:
        raise UnreadableInputError(
            main.path,
            "it holds no dispatches",
            hint="; ".join(main.notes)
            or "did the program launch kernels, and did a filter leave any?",
        )
    table = _counter_table(folder, main)
    table.system, table.facts = system, facts
    table.pass_durations_ns = spans
    table.notes = [*notes, *profile_notes(folder), *main.notes]
    _add_other_passes(table, folder, names, main)
    if MULTIPLEXING_FILE in names:
        complete_multiplexed(table, folder / MULTIPLEXING_FILE)
    _gather_channels(table)
    _gather_accumulators(table)
    _require_times(table, folder, names)
    _add_ceilings(table, folder, names)
    table.pc_samples, more = read_pc_samples(folder, names)
    table.notes += more
    return table


def is_workload(folder: Path) -> bool:
    """Whether the folder, or one inside it, holds counters, told by the names of its files.

    A folder around workloads cannot be read itself: what is said then names the one inside.
    """
    entries = list(folder.iterdir())
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
        hint = "`wavescope profile -n NAME` makes workloads/NAME/MODEL" if is_missing else ""
        raise UnreadableInputError(folder, error.strerror or str(error), hint=hint) from error
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
    return name == JOINED_FILE or bool(PASS_FILES.fullmatch(name) or LEVEL_FILES.fullmatch(name))


def _main_table(folder: Path, names: Sequence[str]) -> tuple[PassTable, dict[str, Floats]]:
    """The joined counters, or the join of the passes when nobody has joined them yet."""
    if JOINED_FILE in names:
        path = folder / JOINED_FILE
        return (read_long_form([path]) if is_long_form(path) else read_wide_form(path)), {}
    paths = [folder / name for name in names if PASS_FILES.fullmatch(name)]
    paths = paths or [folder / name for name in names if LEVEL_FILES.fullmatch(name)]
    long, wide = _by_form(paths)
    tables, notes = _readable(wide)
    if long:
        main = read_long_form(long)
        main.notes = [*notes, *main.notes]
        return main, {}
    if not tables:
        raise UnreadableInputError(folder, "no pass holds any dispatch", hint="; ".join(notes))
    main, spans = joined(tables)
    main.notes = [*notes, *main.notes]
    return main, spans


def _by_form(paths: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """Files with a row for each counter, and all others, unreadable ones among them."""
    long = []
    for path in paths:
        with suppress(UnreadableInputError):
            if is_long_form(path):
                long.append(path)
    return long, [path for path in paths if path not in long]


def _readable(paths: Sequence[Path]) -> tuple[list[PassTable], list[str]]:
    """The passes that hold dispatches, and a note on each that does not."""
    tables, notes = [], []
    for path in paths:
        try:
            table = read_wide_form(path)
        except UnreadableInputError as error:
            notes.append(f"{path.name} was left out: {error.reason}")
            continue
        if table.count:
            tables.append(table)
        else:
            notes.append(f"{path.name} was left out: the pass produced nothing")
    return tables, notes


def _counter_table(folder: Path, main: PassTable) -> CounterTable:
    codes: dict[str, int] = {}
    kernel_codes = [codes.setdefault(name, len(codes)) for name in main.kernels]
    durations = main.durations_ns
    ids = main.integers.get(DISPATCH_ID)
    gpus = main.integers.get(GPU_ID)
    return CounterTable(
        str(folder),
        list(codes),
        np.array(kernel_codes, dtype=np.int64),
        ids if ids is not None else np.arange(main.count, dtype=np.int64),
        gpus if gpus is not None else np.zeros(main.count, dtype=np.int64),
        durations if durations is not None else np.full(main.count, np.nan),
        dict(main.values),
    )


def _add_other_passes(
    table: CounterTable, folder: Path, names: Sequence[str], main: PassTable
) -> None:
    """Level passes, and counters of single passes that the joined file lacks."""
    pairing = Pairing(dispatch_keys(main))
    wanted = [name for name in names if LEVEL_FILES.fullmatch(name)]
    if JOINED_FILE in names:
        wanted += [name for name in names if PASS_FILES.fullmatch(name)]
    _, wide = _by_form([folder / name for name in wanted])
    passes, notes = _readable(wide)
    table.notes += notes
    for other in passes:
        rows, note = pairing.rows_of(other)
        if note:
            table.notes.append(note)
        columns = {name: placed(values, rows) for name, values in other.values.items()}
        if other.durations_ns is not None:
            table.pass_durations_ns[other.path.stem] = placed(other.durations_ns, rows)
        level = LEVEL_FILES.fullmatch(other.path.name)
        if level:
            accumulated = columns.pop(ACCUMULATOR, None)
            if accumulated is not None:
                columns[ACCUMULATED] = accumulated
            table.levels[level.group(1)] = columns
        for name, values in columns.items():
            if name != ACCUMULATED:
                table.columns.setdefault(name, values)
    table.columns.pop(ACCUMULATOR, None)


def _gather_channels(table: CounterTable) -> None:
    """Make one block of the columns `NAME[0]`, `NAME[1]`, ..., as wide as the chip has channels."""
    families: dict[str, dict[int, str]] = {}
    for name in table.columns:
        found = COUNTER.fullmatch(name)
        if found and found.group(1) and int(found.group(1)) < _MOST_CHANNELS:
            families.setdefault(name.partition("[")[0], {})[int(found.group(1))] = name
    widest = max((max(members) + 1 for members in families.values()), default=0)
    width = min(max(widest, int(table.facts.get("total_l2_chan", 0))), _MOST_CHANNELS)
    for family, members in families.items():
        block = np.full((table.count, width), np.nan)
        for channel, name in members.items():
            block[:, channel] = table.columns.pop(name)
        table.channels[family] = block


def _gather_accumulators(table: CounterTable) -> None:
    """In a long form all passes share one table: `NAME_ACCUM` belongs to the level NAME."""
    for name in [name for name in table.columns if name.endswith(ACCUMULATOR_SUFFIX)]:
        level = name.removesuffix(ACCUMULATOR_SUFFIX)
        table.levels.setdefault(level, {})[ACCUMULATED] = table.columns.pop(name)


def _require_times(table: CounterTable, folder: Path, names: Sequence[str]) -> None:
    """Durations of timestamps.csv where the counters have none; a note when there are none."""
    if bool(np.isfinite(table.durations_ns).any()):
        return
    if TIMES_FILE in names:
        times, _ = _readable([folder / TIMES_FILE])
        spans = times[0].durations_ns if times else None
        if spans is not None and len(spans) == table.count:
            table.durations_ns = spans
            table.notes.append(f"times are those of {TIMES_FILE}")
            return
    table.notes.append("no dispatch has times: what needs durations is not available")


def _add_ceilings(table: CounterTable, folder: Path, names: Sequence[str]) -> None:
    if CEILINGS_FILE not in names:
        return
    try:
        table.ceilings, notes = read_ceilings(folder / CEILINGS_FILE)
    except UnreadableInputError as error:
        notes = [f"{CEILINGS_FILE} was left out: {error.reason}"]
    table.notes += notes
