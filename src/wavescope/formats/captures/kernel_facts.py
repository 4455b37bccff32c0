"""Facts of the traced dispatch from files beside or above the capture: CSV, else a rocpd database.

rocprofv3 writes `VGPR_Count`, `rocpd convert` writes `Vgpr_Count` and a leading Guid: headers are
compared without regard to case. Tables of rocpd carry the process's guid in their names, so they
are found by how their names begin; the views over them are the file's own code, and not read.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path, PurePosixPath
from typing import NamedTuple, TypeVar

from wavescope.errors import UnreadableInputError
from wavescope.formats.captures.file_tree import FolderTree, integer, parsed
from wavescope.formats.captures.locations import CaptureLocation, neighbours
from wavescope.formats.sqlite.sqlite_open import SQLITE_MAGIC, ReadOnlyDatabase, sqlite_errors
from wavescope.model.capture import AgentFacts, CaptureNotes, KernelFacts
from wavescope.names.kernel_names import kernel_key

KERNEL_CSV = re.compile(r"kernel_trace.*\.csv\Z", re.IGNORECASE)
AGENT_CSV = re.compile(r"agent_info.*\.csv\Z", re.IGNORECASE)
_MOST_CSV_BYTES = 512 << 20
_CLONE = re.compile(r"\s*\[clone [^\]]*\]\s*\Z")

Row = Mapping[str, str]
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


def read_kernel_facts(
    location: CaptureLocation, kernel_name: str, notes: CaptureNotes
) -> KernelFacts | None:
    """The traced dispatch as a CSV states it, else as a rocpd database does."""
    facts = _kernel_of_csv(location, kernel_name, notes)
    return _kernel_of_rocpd(location, kernel_name, notes) if facts is None else facts


def read_agents(location: CaptureLocation, notes: CaptureNotes) -> list[AgentFacts]:
    """The GPUs of the nearest agent_info.csv, else of the nearest rocpd database with some."""
    return _agents_of_csv(location, notes) or _agents_of_rocpd(location, notes)


def _kernel_of_csv(
    location: CaptureLocation, kernel_name: str, notes: CaptureNotes
) -> KernelFacts | None:
    """The row of the traced dispatch: by dispatch id and name, else by name where one name fits."""
    for tree, name in neighbours(location, KERNEL_CSV):
        shown = PurePosixPath(name).name
        try:
            rows = _candidates(tree.read(name, _MOST_CSV_BYTES), location.dispatch_id, kernel_name)
        except UnreadableInputError as error:
            notes.repaired.add(f"{shown} is unreadable: {error.reason}")
            continue
        facts = _chosen(rows, shown, notes)
        if facts is not None:
            return facts
    return None


def _agents_of_csv(location: CaptureLocation, notes: CaptureNotes) -> list[AgentFacts]:
    """The GPUs of the nearest agent_info.csv."""
    for tree, name in neighbours(location, AGENT_CSV):
        try:
            rows = list(_rows(tree.read(name, _MOST_CSV_BYTES)))
        except UnreadableInputError as error:
            notes.repaired.add(f"{PurePosixPath(name).name} is unreadable: {error.reason}")
            continue
        agents = [_csv_agent(row) for row in rows if row.get("agent_type", "GPU").upper() == "GPU"]
        agents = [agent for agent in agents if agent.chip.startswith("gfx")]
        if agents:
            return agents
    return []


def _rows(data: bytes) -> Iterator[Row]:
    if b"\0" in data:
        data = data.replace(b"\0", b"")
    reader = csv.reader(io.TextIOWrapper(io.BytesIO(data), "utf-8-sig", "replace", newline=""))
    try:
        header = [name.strip().lower() for name in next(reader, [])]
        for cells in reader:
            if cells:
                yield dict(zip(header, (cell.strip() for cell in cells), strict=False))
    except csv.Error as error:
        raise UnreadableInputError("", f"not a CSV file: {error}") from error


class _Candidates(NamedTuple):
    """Rows of a kernel trace that may be the traced dispatch."""

    dispatch_id: int | None
    kernel_name: str
    same_id: list[Row]
    named: list[Row]
    """Of the same kernel; at most so many, but all that differ in resources."""
    named_count: int
    row_count: int


def _candidates(data: bytes, dispatch_id: int | None, kernel_name: str) -> _Candidates:
    same_id: list[Row] = []
    named: dict[tuple[object, ...], Row] = {}
    is_named: dict[str, bool] = {}
    count = named_count = 0
    for row in _rows(data):
        name = row.get("kernel_name")
        if name is None:
            continue
        count += 1
        if name not in is_named:
            is_named[name] = same_kernel(name, kernel_name)
        if dispatch_id is not None and _number(row, "dispatch_id") == dispatch_id:
            same_id.append(row)
        if is_named[name]:
            named_count += 1
            named.setdefault(_resources(row), row)
    return _Candidates(dispatch_id, kernel_name, same_id, list(named.values()), named_count, count)


def _chosen(found: _Candidates, shown: str, notes: CaptureNotes) -> KernelFacts | None:
    """The dispatch's own row; a row of another kernel is named in a note and not used."""
    for row in found.same_id:
        if not found.kernel_name or same_kernel(row["kernel_name"], found.kernel_name):
            return _csv_facts(row, shown, is_certain=True)
    if not found.named:
        if found.same_id:
            notes.repaired.add(
                f"{shown}: dispatch {found.dispatch_id} is another kernel, "
                f"'{found.same_id[0]['kernel_name'][:80]}'; its registers and LDS are not used"
            )
        elif found.row_count and found.kernel_name:
            notes.repaired.add(f"{shown} has no dispatch of the traced kernel; it is not used")
        return None
    if len(found.named) > 1:
        notes.repaired.add(
            f"{shown} has {found.named_count:,} dispatches of this kernel with different "
            "resources; the first is used"
        )
    return _csv_facts(found.named[0], shown, is_certain=len(found.named) == 1)


def same_kernel(stated: str, traced: str) -> bool:
    """Whether two spellings mean one kernel: whole, truncated, with or without arguments."""
    if not stated or not traced:
        return False
    first, second = _plain(stated), _plain(traced)
    if first == second:
        return True
    return _base(first) == _base(second) and "" in {_arguments(first), _arguments(second)}


def _plain(name: str) -> str:
    """The name without quotes and what compilers add to it: `[clone .kd]`, `[clone .intern.1]`."""
    key = kernel_key(name.strip().strip('"'))
    previous = ""
    while previous != key:
        previous, key = key, kernel_key(_CLONE.sub("", key))
    return key


def _base(name: str) -> str:
    """The name without return type, template arguments and parameters."""
    head = re.split(r"[<(]", name, maxsplit=1)[0].strip()
    return head.rpartition(" ")[2]


def _arguments(name: str) -> str:
    found = re.search(r"[<(].*", name)
    return found[0] if found else ""


def _resources(row: Row) -> tuple[str | None, ...]:
    names = ("vgpr_count", "accum_vgpr_count", "sgpr_count", "lds_block_size", "group_segment_size")
    return tuple(row.get(name) for name in names)


def _csv_facts(row: Row, origin: str, *, is_certain: bool) -> KernelFacts:
    return KernelFacts(
        origin=origin,
        kernel_name=row["kernel_name"],
        dispatch_id=_number(row, "dispatch_id"),
        vgpr_count=_number(row, "vgpr_count", "arch_vgpr_count"),
        accum_vgpr_count=_number(row, "accum_vgpr_count"),
        sgpr_count=_number(row, "sgpr_count"),
        lds_bytes=_number(row, "lds_block_size", "lds_size", "group_segment_size"),
        scratch_bytes=_number(row, "scratch_size", "private_segment_size"),
        workgroup_size=_size(row, "workgroup_size"),
        grid_size=_size(row, "grid_size"),
        start_ns=_number(row, "start_timestamp"),
        end_ns=_number(row, "end_timestamp"),
        is_certain=is_certain,
    )


def _csv_agent(row: Row) -> AgentFacts:
    return AgentFacts(
        chip=row.get("name", ""),
        product=row.get("product_name", ""),
        cu_count=_number(row, "cu_count"),
        simds_per_cu=_number(row, "simd_per_cu"),
        waves_per_simd=_number(row, "max_waves_per_simd"),
        lds_kib=_number(row, "lds_size_in_kb"),
        wave_size=_number(row, "wave_front_size"),
    )


def _number(row: Row, *names: str) -> int | None:
    for name in names:
        text = row.get(name, "")
        if re.fullmatch(r"\d{1,18}(\.0*)?", text):
            return int(text.partition(".")[0])
    return None


def _size(row: Row, name: str) -> tuple[int, int, int] | None:
    x = _number(row, f"{name}_x", name)
    if x is None:
        return None
    return x, max(_number(row, f"{name}_y") or 1, 1), max(_number(row, f"{name}_z") or 1, 1)


def _kernel_of_rocpd(
    location: CaptureLocation, kernel_name: str, notes: CaptureNotes
) -> KernelFacts | None:
    """The traced dispatch by id and name, else the first dispatch of the kernel's name."""
    return _first_answer(
        location,
        notes,
        lambda database: _kernel_facts(database, location.dispatch_id, kernel_name),
    )


def _agents_of_rocpd(location: CaptureLocation, notes: CaptureNotes) -> list[AgentFacts]:
    """The GPUs of the nearest rocpd database that names some."""
    return _first_answer(location, notes, lambda database: _agents(database) or None) or []


def _first_answer(
    location: CaptureLocation,
    notes: CaptureNotes,
    question: Callable[[ReadOnlyDatabase], Answer | None],
) -> Answer | None:
    """What the nearest database that knows an answer says."""
    for path in _databases(location):
        try:
            with sqlite_errors(path), closing(ReadOnlyDatabase(path)) as database:
                answer = question(database)
        except UnreadableInputError as error:
            notes.repaired.add(f"{path.name} is unreadable as a rocpd database: {error.reason}")
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


def _tables(database: ReadOnlyDatabase, beginning: str) -> list[str]:
    """The tables whose name is `beginning`, or continues it by the guid of a process."""
    name = re.compile(rf"{beginning}(_[0-9A-Fa-f_]+)?")
    return sorted(filter(name.fullmatch, database.tables()), key=lambda found: (len(found), found))


def _kernel_facts(
    database: ReadOnlyDatabase, dispatch_id: int | None, kernel_name: str
) -> KernelFacts | None:
    beginning, symbol_table = "rocpd_kernel_dispatch", "rocpd_info_kernel_symbol"
    named: list[tuple[str, str, object, object]] = []
    for dispatches in _tables(database, beginning):
        symbols = symbol_table + dispatches.removeprefix(beginning)
        if database.has_table(symbols):
            found = _symbols(database, symbols, kernel_name)
            named += [(dispatches, symbols, *keys) for keys in found]
    for wanted in [None] if dispatch_id is None else [dispatch_id, None]:
        for dispatches, symbols, number, guid in named:
            query = _DISPATCH.format(dispatches=dispatches, symbols=symbols)
            row = database.connection.execute(query, (number, guid, wanted, wanted)).fetchone()
            if row is not None:
                return _rocpd_facts(row, database.path.name, is_certain=wanted is not None)
    return None


def _symbols(
    database: ReadOnlyDatabase, table: str, kernel_name: str
) -> list[tuple[object, object]]:
    """Id and guid of the kernels of that name."""
    query = f'SELECT id, guid, display_name, kernel_name FROM "{table}" LIMIT ?'  # noqa: S608  a checked name
    return [
        (number, guid)
        for number, guid, *names in database.connection.execute(query, (_MOST_SYMBOLS,))
        if any(same_kernel(str(name), kernel_name) for name in names)
    ]


def _rocpd_facts(row: tuple[object, ...], origin: str, *, is_certain: bool) -> KernelFacts:
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
    found: list[AgentFacts] = []
    for table in _tables(database, "rocpd_info_agent"):
        query = f'SELECT name, product_name, extdata FROM "{table}" WHERE type = ?'  # noqa: S608  a checked name
        found += [
            _rocpd_agent(str(name), str(product or ""), extra)
            for name, product, extra in database.connection.execute(query, ("GPU",))
            if str(name).startswith("gfx")
        ]
    return found


def _rocpd_agent(chip: str, product: str, extra: object) -> AgentFacts:
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
        cu_count=number("cu_count"),
        simds_per_cu=number("simd_per_cu"),
        waves_per_simd=number("max_waves_per_simd"),
        lds_kib=number("lds_size_in_kb"),
        wave_size=number("wave_front_size"),
    )
