"""Reads PC samples as rocprofv3 writes them, as JSON (with offsets) or CSV, and counts them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from wavescope.errors import UnreadableInputError
from wavescope.formats.counters.machine_files import opened_csv
from wavescope.model.counters import PcSample
from wavescope.model.progress import Notes
from wavescope.model.workload_layout import PC_SAMPLE_FILES, PC_SAMPLE_JSON, PC_SAMPLE_KERNELS
from wavescope.whole_files import whole_file

_MOST_PLACES = 1_000_000
_MOST_JSON_BYTES = 1 << 30
_NO_STALL = {"", "0", "none"}


class _Seen(NamedTuple):
    """One sample: where a wave was, and whether it issued its instruction."""

    kernel: str
    offset: int | None
    instruction: str
    source: str
    issued: bool | None
    stall_reason: str


class _Place:
    """What was seen at one instruction."""

    __slots__ = ("count", "issued", "knows_stalls", "reasons")

    def __init__(self) -> None:
        self.count = 0
        self.issued = 0
        self.knows_stalls = False
        self.reasons: Counter[str] = Counter()


_Places = dict[tuple[str, int | None, str, str], _Place]


def read_pc_samples(folder: Path, names: Sequence[str], notes: Notes) -> list[PcSample]:
    """How often each instruction was seen; JSON is preferred where both are there."""
    chosen = [name for name in names if PC_SAMPLE_JSON.fullmatch(name)] or [
        name for name in names if PC_SAMPLE_FILES.fullmatch(name)
    ]
    places: _Places = {}
    for name in chosen:
        with _noting(name, notes):
            _count(_samples(folder, name, names), places)
    return _counted(places)


@contextmanager
def _noting(name: str, notes: Notes) -> Iterator[None]:
    """What cannot be read of a file becomes a note."""
    try:
        yield
    except UnreadableInputError as error:
        notes.add(f"{name} was left out: {error.reason}")


def is_sample_file(name: str) -> bool:
    """Whether a file of this name holds samples."""
    return bool(PC_SAMPLE_JSON.fullmatch(name) or PC_SAMPLE_FILES.fullmatch(name))


def _samples(folder: Path, name: str, names: Sequence[str]) -> Iterator[_Seen]:
    path = folder / name
    if PC_SAMPLE_JSON.fullmatch(name):
        return _json_samples(path)
    kernels = _kernels(folder / PC_SAMPLE_KERNELS) if PC_SAMPLE_KERNELS in names else {}
    return _csv_samples(path, kernels)


def _count(samples: Iterable[_Seen], places: _Places) -> None:
    """Add samples to the places where they were taken."""
    for sample in samples:
        key = sample[:4]
        place = places.get(key)
        if place is None:
            if len(places) >= _MOST_PLACES:
                raise UnreadableInputError(
                    "", f"more than {_MOST_PLACES:,} instructions were sampled"
                )
            place = places[key] = _Place()
        place.count += 1
        if sample.issued is not None:
            place.knows_stalls = True
            place.issued += sample.issued
            if sample.stall_reason not in _NO_STALL:
                place.reasons[sample.stall_reason] += 1


def _counted(places: _Places) -> list[PcSample]:
    """One entry for each place in the order of first appearance."""
    knows_stalls = any(place.knows_stalls for place in places.values())
    return [
        PcSample(
            *key,
            place.count,
            place.issued if knows_stalls else None,
            place.count - place.issued if knows_stalls else None,
            tuple(place.reasons.most_common()),
        )
        for key, place in places.items()
    ]


def _kernels(path: Path) -> dict[str, str]:
    """The kernel of each dispatch of the sampled run."""
    with opened_csv(path) as (header, rows):
        if not {"Dispatch_Id", "Kernel_Name"} <= set(header):
            return {}
        dispatch_at, kernel_at = header.index("Dispatch_Id"), header.index("Kernel_Name")
        return {row[dispatch_at]: row[kernel_at] for row in rows if len(row) == len(header)}


def _csv_samples(path: Path, kernels: Mapping[str, str]) -> Iterator[_Seen]:
    with opened_csv(path) as (header, rows):
        if "Instruction" not in header:
            raise UnreadableInputError(path, "it has no column Instruction")
        at = {name: index for index, name in enumerate(header)}
        issued_at = at.get("Wave_Issued_Instruction")
        for row in rows:
            if len(row) == len(header):
                cells = {name: row[index].strip() for name, index in at.items()}
                yield _Seen(
                    kernels.get(cells.get("Dispatch_Id", ""), ""),
                    None,
                    cells["Instruction"],
                    cells.get("Instruction_Comment", ""),
                    None if issued_at is None else row[issued_at].strip() in {"1", "True", "true"},
                    _short(cells.get("Stall_Reason", "")),
                )


def _json_samples(path: Path) -> Iterator[_Seen]:
    try:
        document = orjson.loads(whole_file(path, _MOST_JSON_BYTES, "samples (1 GiB)"))
        for process in document["rocprofiler-sdk-tool"]:
            yield from _process_samples(process)
    except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise UnreadableInputError(path, f"it holds no PC samples ({error})") from error


def _process_samples(process: Mapping[str, Any]) -> Iterator[_Seen]:
    strings, records = process["strings"], process["buffer_records"]
    instructions = strings.get("pc_sample_instructions", [])
    comments = strings.get("pc_sample_comments", [])
    names = {
        symbol["kernel_id"]: str(symbol.get("formatted_kernel_name") or symbol.get("kernel_name"))
        for symbol in process.get("kernel_symbols", [])
    }
    kernels = {
        entry["dispatch_info"]["dispatch_id"]: names.get(entry["dispatch_info"]["kernel_id"], "")
        for entry in records.get("kernel_dispatch", [])
    }
    for kind in ("pc_sample_stochastic", "pc_sample_host_trap"):
        for entry in records.get(kind, []):
            record, place = entry["record"], entry["inst_index"]
            known = 0 <= place < len(instructions)
            yield _Seen(
                kernels.get(record.get("dispatch_id"), ""),
                int(record["pc"]["code_object_offset"]),
                str(instructions[place]) if known else "",
                str(comments[place]) if 0 <= place < len(comments) else "",
                bool(record["wave_issued"]) if "wave_issued" in record else None,
                _short(str(record.get("snapshot", {}).get("stall_reason", ""))),
            )


def _short(reason: str) -> str:
    return (reason.rpartition("REASON_")[2] or reason).lower()
