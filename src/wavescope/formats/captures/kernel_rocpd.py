"""Facts of the traced dispatch from a rocpd database beside or above the capture.

Tables carry the process's guid in their names; plain views may be missing, so tables are found by
how their names begin.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TypeVar

from wavescope.errors import UnreadableInputError
from wavescope.formats.captures.file_tree import FolderTree
from wavescope.formats.captures.json_document import integer, parsed
from wavescope.formats.captures.kernel_csv import same_kernel
from wavescope.formats.captures.locations import CaptureLocation, neighbours
from wavescope.formats.captures.notes import Notes
from wavescope.formats.sqlite.sqlite_open import SQLITE_MAGIC, ReadOnlyDatabase
from wavescope.model.capture import AgentFacts, KernelFacts

_DATABASE = re.compile(r"\.(db|rocpd|sqlite)\Z", re.IGNORECASE)
_MOST_SYMBOLS = 1_000_000
Answer = TypeVar("Answer")
_DISPATCH = """
SELECT d.dispatch_id, s.display_name, s.arch_vgpr_count, s.accum_vgpr_count, s.sgpr_count,
       max(d.group_segment_size, s.group_segment_size), d.private_segment_size,
       d.workgroup_size_x, d.workgroup_size_y, d.workgroup_size_z,
       d.grid_size_x, d.grid_size_y, d.grid_size_z, d.start, d.end
FROM "{dispatches}" d JOIN "{symbols}" s ON d.kernel_id = s.id AND d.guid = s.guid
WHERE s.id = ? AND s.guid IS ? AND (? IS NULL OR d.dispatch_id = ?) LIMIT 1
"""


def read_kernel_rocpd(
    location: CaptureLocation, kernel_name: str, notes: Notes
) -> KernelFacts | None:
    """The traced dispatch by id and name, else the first dispatch of the kernel's name."""
    return _first_answer(
        location,
        notes,
        lambda database: _kernel_facts(database, location.dispatch_id, kernel_name),
    )


def read_agents_rocpd(location: CaptureLocation, notes: Notes) -> list[AgentFacts]:
    """The GPUs of the nearest rocpd database that names some."""
    return _first_answer(location, notes, lambda database: _agents(database) or None) or []


def _first_answer(
    location: CaptureLocation,
    notes: Notes,
    question: Callable[[ReadOnlyDatabase], Answer | None],
) -> Answer | None:
    """What the nearest database that knows an answer says."""
    for path in _databases(location):
        try:
            database = ReadOnlyDatabase(path)
            with closing(database):
                answer = question(database)
        except (sqlite3.Error, UnreadableInputError) as error:
            notes.repair(f"{path.name} is unreadable as a rocpd database: {error}")
            continue
        if answer is not None:
            return answer
    return None


def _databases(location: CaptureLocation) -> list[Path]:
    """SQLite files near a capture that lies in a folder; those in archives are not unpacked."""
    if not isinstance(location.tree, FolderTree):
        return []
    found = []
    for tree, name in neighbours(location, _DATABASE):
        path = Path(tree.path) / name
        try:
            with path.open("rb") as file:
                if file.read(len(SQLITE_MAGIC)) == SQLITE_MAGIC:
                    found.append(path)
        except OSError:
            continue
    return found


def _table(database: ReadOnlyDatabase, beginning: str) -> str | None:
    """The view or table whose name is `beginning`, else the one that continues it by a guid."""
    rows = database.connection.execute(
        "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name GLOB ? || '*'"
        " ORDER BY length(name), name",
        (beginning,),
    )
    names = [name for (name,) in rows if re.fullmatch(rf"{beginning}(_[0-9A-Fa-f_]+)?", name)]
    return names[0] if names else None


def _kernel_facts(
    database: ReadOnlyDatabase, dispatch_id: int | None, kernel_name: str
) -> KernelFacts | None:
    dispatches = _table(database, "rocpd_kernel_dispatch")
    symbols = _table(database, "rocpd_info_kernel_symbol")
    if dispatches is None or symbols is None:
        return None
    query = f'SELECT id, guid, display_name, kernel_name FROM "{symbols}" LIMIT ?'  # noqa: S608  a checked name
    named = [
        (number, guid)
        for number, guid, *names in database.connection.execute(query, (_MOST_SYMBOLS,))
        if any(same_kernel(str(name), kernel_name) for name in names)
    ]
    dispatch = _DISPATCH.format(dispatches=dispatches, symbols=symbols)
    for wanted in [None] if dispatch_id is None else [dispatch_id, None]:
        for number, guid in named:
            values = (number, guid, wanted, wanted)
            row = database.connection.execute(dispatch, values).fetchone()
            if row is not None:
                return _facts(row, database.path.name, is_certain=wanted is not None)
    return None


def _facts(row: tuple[object, ...], origin: str, *, is_certain: bool) -> KernelFacts:
    numbers = [integer(value, -1) for value in row]
    known = [number if number >= 0 else None for number in numbers]
    workgroup = (max(numbers[7], 1), max(numbers[8], 1), max(numbers[9], 1))
    grid = (max(numbers[10], 1), max(numbers[11], 1), max(numbers[12], 1))
    return KernelFacts(
        origin=origin,
        kernel_name=str(row[1]),
        dispatch_id=known[0],
        vgpr_count=known[2],
        accum_vgpr_count=known[3],
        sgpr_count=known[4],
        lds_bytes=known[5],
        scratch_bytes=known[6],
        workgroup_size=workgroup,
        grid_size=grid,
        start_ns=known[13],
        end_ns=known[14],
        is_certain=is_certain,
    )


def _agents(database: ReadOnlyDatabase) -> list[AgentFacts]:
    table = _table(database, "rocpd_info_agent")
    if table is None:
        return []
    query = f'SELECT name, product_name, extdata FROM "{table}" WHERE type = ?'  # noqa: S608  a checked name
    return [
        _agent(str(name), str(product or ""), extra)
        for name, product, extra in database.connection.execute(query, ("GPU",))
        if str(name).startswith("gfx")
    ]


def _agent(chip: str, product: str, extra: object) -> AgentFacts:
    try:
        facts = parsed(str(extra or "{}").encode())
    except (ValueError, RecursionError):
        facts = {}
    values = facts if isinstance(facts, dict) else {}

    def number(name: str) -> int | None:
        value = integer(values.get(name), -1)
        return value if value >= 0 else None

    return AgentFacts(
        chip=chip,
        product=product,
        node_id=number("node_id"),
        cu_count=number("cu_count"),
        simds_per_cu=number("simd_per_cu"),
        waves_per_simd=number("max_waves_per_simd"),
        lds_kib=number("lds_size_in_kb"),
        wave_size=number("wave_front_size"),
        xcc_count=number("num_xcc"),
    )
