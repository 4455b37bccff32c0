"""Facts of the traced dispatch from CSV files beside or above the capture, in any casing.

rocprofv3 writes `VGPR_Count`, `rocpd convert` writes `Vgpr_Count` and a leading Guid: headers are
compared without regard to case.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import NamedTuple

from wavescope.errors import UnreadableInputError
from wavescope.formats.captures.locations import CaptureLocation, neighbours
from wavescope.formats.captures.notes import Notes
from wavescope.model.capture import AgentFacts, KernelFacts

KERNEL_CSV = re.compile(r"kernel_trace.*\.csv\Z", re.IGNORECASE)
AGENT_CSV = re.compile(r"agent_info.*\.csv\Z", re.IGNORECASE)
_MOST_CSV_BYTES = 512 << 20
_NAME_ENDING = re.compile(r"\s*(\[clone [^\]]*\]|\.kd)\s*\Z")

Row = Mapping[str, str]


def read_kernel_csv(
    location: CaptureLocation, kernel_name: str, notes: Notes
) -> KernelFacts | None:
    """The row of the traced dispatch: by dispatch id and name, else by name where one name fits."""
    for tree, name in neighbours(location, KERNEL_CSV):
        shown = PurePosixPath(name).name
        try:
            rows = _candidates(tree.read(name, _MOST_CSV_BYTES), location.dispatch_id, kernel_name)
        except UnreadableInputError as error:
            notes.repaired.append(f"{shown} is unreadable: {error.reason}")
            continue
        facts = _chosen(rows, shown, notes)
        if facts is not None:
            return facts
    return None


def read_agent_csv(location: CaptureLocation, notes: Notes) -> list[AgentFacts]:
    """The GPUs of the nearest agent_info.csv."""
    for tree, name in neighbours(location, AGENT_CSV):
        try:
            rows = list(_rows(tree.read(name, _MOST_CSV_BYTES)))
        except UnreadableInputError as error:
            notes.repaired.append(f"{PurePosixPath(name).name} is unreadable: {error.reason}")
            continue
        agents = [_agent(row) for row in rows if row.get("agent_type", "GPU").upper() == "GPU"]
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


def _chosen(found: _Candidates, shown: str, notes: Notes) -> KernelFacts | None:
    """The dispatch's own row; a row of another kernel is named in a note and not used."""
    for row in found.same_id:
        if not found.kernel_name or same_kernel(row["kernel_name"], found.kernel_name):
            return _facts(row, shown, is_certain=True)
    if not found.named:
        if found.same_id:
            notes.repaired.append(
                f"{shown}: dispatch {found.dispatch_id} is another kernel, "
                f"'{found.same_id[0]['kernel_name'][:80]}'; its registers and LDS are not used"
            )
        elif found.row_count and found.kernel_name:
            notes.repaired.append(f"{shown} has no dispatch of the traced kernel; it is not used")
        return None
    if len(found.named) > 1:
        notes.repaired.append(
            f"{shown} has {found.named_count:,} dispatches of this kernel with different "
            "resources; the first is used"
        )
    return _facts(found.named[0], shown, is_certain=len(found.named) == 1)


def same_kernel(stated: str, traced: str) -> bool:
    """Whether two spellings mean one kernel: whole, truncated, with or without arguments."""
    if not stated or not traced:
        return False
    first, second = _plain(stated), _plain(traced)
    if "".join(first.split()) == "".join(second.split()):
        return True
    return _base(first) == _base(second) and "" in {_arguments(first), _arguments(second)}


def _plain(name: str) -> str:
    previous = ""
    while previous != name:
        previous, name = name, _NAME_ENDING.sub("", name)
    return name.strip().strip('"')


def _base(name: str) -> str:
    """The name without return type, template arguments and parameters."""
    head = re.split(r"[<(]", name, maxsplit=1)[0].strip()
    return head.rpartition(" ")[2]


def _arguments(name: str) -> str:
    found = re.search(r"[<(].*", name)
    return found[0] if found else ""


def _resources(row: Row) -> tuple[str | None, ...]:
    return tuple(
        row.get(name) for name in ("vgpr_count", "accum_vgpr_count", "sgpr_count", "lds_block_size")
    )


def _facts(row: Row, origin: str, *, is_certain: bool) -> KernelFacts:
    return KernelFacts(
        origin=origin,
        kernel_name=row["kernel_name"],
        dispatch_id=_number(row, "dispatch_id"),
        vgpr_count=_number(row, "vgpr_count", "arch_vgpr_count"),
        accum_vgpr_count=_number(row, "accum_vgpr_count"),
        sgpr_count=_number(row, "sgpr_count"),
        lds_bytes=_number(row, "lds_block_size", "lds_size"),
        scratch_bytes=_number(row, "scratch_size"),
        workgroup_size=_size(row, "workgroup_size"),
        grid_size=_size(row, "grid_size"),
        start_ns=_number(row, "start_timestamp"),
        end_ns=_number(row, "end_timestamp"),
        is_certain=is_certain,
    )


def _agent(row: Row) -> AgentFacts:
    return AgentFacts(
        chip=row.get("name", ""),
        product=row.get("product_name", ""),
        node_id=_number(row, "node_id"),
        cu_count=_number(row, "cu_count"),
        simds_per_cu=_number(row, "simd_per_cu"),
        waves_per_simd=_number(row, "max_waves_per_simd"),
        lds_kib=_number(row, "lds_size_in_kb"),
        wave_size=_number(row, "wave_front_size"),
        xcc_count=_number(row, "num_xcc"),
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
