"""What a Chrome trace JSON file says about its run: processes, threads, queues, GPUs, metadata."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from wavescope.arrays.coded_columns import different_values
from wavescope.formats.chrome.event_batch import OWN_NOTES_MEMBER, EventTables, json_value
from wavescope.formats.chrome.processes import Reading, Writer
from wavescope.model.builder import TraceBuilder
from wavescope.model.columns import (
    AGENTS,
    CALLS,
    MARKERS,
    METADATA,
    OPS,
    PROCESSES,
    QUEUES,
    THREADS,
    UNKNOWN,
    Table,
)
from wavescope.model.source import read_columns

_LARGEST_VALUE = 1 << 20
_NVIDIA_WARP = 32


def add_run_facts(reading: Reading) -> None:
    """Write everything that is known once all events are read."""
    builder, tables = reading.builder, reading.tables
    if reading.own is not None:
        # All that is known of the run was in the tables that the file carries.
        notes = tables.metadata.get(OWN_NOTES_MEMBER)
        if notes is not None:
            reading.own.tables.take({METADATA.name: json_value(notes)})
        return
    _add_processes(reading)
    _add_threads_and_queues(reading)
    _add_agents(builder, tables)
    for tag, value in _facts(reading):
        if len(value) > _LARGEST_VALUE:
            builder.notes.add("top-level members were too large to keep")
        else:
            builder.add_row(METADATA, tag=tag, value=value)


def _facts(reading: Reading) -> Iterator[tuple[str, str]]:
    """Tags and values: the file's top-level members, or what our own exporter wrote of them."""
    members = reading.tables.metadata
    own = _parsed(members.get("otherData", ""))
    if reading.writer is Writer.WAVESCOPE and isinstance(own, dict):
        for tag, value in own.items():
            yield tag, str(value)
        return
    for name, text in members.items():
        value = _parsed(text)
        yield f"chrome.{name}", value if isinstance(value, str) else text


def _add_processes(reading: Reading) -> None:
    builder, tables = reading.builder, reading.tables
    job = _parsed(tables.metadata.get("distributedInfo", "{}"))
    job = job if isinstance(job, dict) else {}
    rank, world_size = _count(job.get("rank")), _count(job.get("world_size"))
    pids, codes = reading.numbers, reading.processes.codes
    if not codes and any(builder.row_count(table) for table in (OPS, CALLS, MARKERS)):
        # Ops alone still come from some process.
        builder.add_row(PROCESSES, pid=UNKNOWN, rank=rank, world_size=world_size)
    for code in codes:
        key = tables.keys[code]
        name = reading.names.processes.get(key) or (key[1:] if key.startswith("s") else "")
        builder.add_row(PROCESSES, pid=int(pids[code]), name=name, rank=rank, world_size=world_size)


def _add_threads_and_queues(reading: Reading) -> None:
    """Names of threads that made calls or markers, and of queues that ran ops."""
    builder, names = reading.builder, reading.names
    if not names.threads:
        return
    by_number, keys = reading.numbers, reading.tables.keys
    process_ids = reading.processes.by_code(keys)
    codes = {key: code for code, key in enumerate(keys)}
    ran = _pairs(builder, OPS, "gpu", "queue")
    called = _pairs(builder, CALLS, "process", "thread") | _pairs(
        builder, MARKERS, "process", "thread"
    )
    for (process_key, thread_key), name in names.threads.items():
        if process_key not in codes or thread_key not in codes:
            continue
        thread = int(by_number[codes[thread_key]])
        code = codes[process_key]
        gpu = names.gpu(process_key)
        gpu = int(by_number[code]) if gpu == UNKNOWN else gpu
        process = int(process_ids[code])
        if (process, thread) in called:
            builder.add_row(THREADS, process=process, thread=thread, name=name)
        elif (gpu, thread) in ran:
            builder.add_row(QUEUES, gpu=gpu, queue=thread, name=name.strip())


def _pairs(builder: TraceBuilder, table: Table, first: str, second: str) -> set[tuple[int, int]]:
    pairs: set[tuple[int, int]] = set()
    for batch in builder.batches(table, (first, second)):
        stacked = np.stack((batch[first].astype(np.int64), batch[second]))
        # Rows of one track mostly follow each other.
        changes = np.flatnonzero(np.any(np.diff(stacked), axis=0)) + 1
        pairs.update(zip(*stacked[:, [0, *changes]].tolist(), strict=True))
    return pairs


def _add_agents(builder: TraceBuilder, tables: EventTables) -> None:
    """One row for each GPU that ran ops."""
    stated = _parsed(tables.metadata.get("deviceProperties", "[]"))
    devices = (
        [each for each in stated if isinstance(each, dict)] if isinstance(stated, list) else []
    )
    gpus = different_values(read_columns(builder, OPS, ("gpu",))["gpu"]).tolist()
    for gpu in gpus:
        if gpu < 0:
            continue
        device = _device_of(gpu, devices)
        warp = _count(device.get("warpSize"))
        architecture = device.get("gcnArchName")
        chip = str(architecture) if isinstance(architecture, str) else ""
        if warp == _NVIDIA_WARP and not chip:
            chip = f"sm_{_count(device.get('computeMajor'))}{_count(device.get('computeMinor'))}"
        builder.add_row(
            AGENTS,
            gpu=gpu,
            local_index=gpu,
            chip=chip,
            model=str(device.get("name", "")),
            cu_count=_count(device.get("numSms")),
            wave_size=warp,
            memory_bytes=_count(device.get("totalGlobalMem")),
        )


def _device_of(gpu: int, devices: list[dict[str, Any]]) -> dict[str, Any]:
    """The properties of a GPU; nothing where they could be another one's.

    On AMD, Kineto numbers ops by agent (CPUs included) but properties by device, so that a number
    tells which one only when all are alike.
    """
    without_id = [{k: v for k, v in device.items() if k != "id"} for device in devices]
    if without_id and all(device == without_id[0] for device in without_id):
        return without_id[0]
    for device in devices:
        if device.get("id") == gpu and _count(device.get("warpSize")) == _NVIDIA_WARP:
            return device
    return {}


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _count(value: object) -> int:
    usable = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 62
    return int(value) if usable and isinstance(value, int) else UNKNOWN
