"""What records of rocprofv3 JSON refer to: processes, agents, kernel symbols and counters."""

from __future__ import annotations

from typing import Any

import numpy as np
import orjson

from wavescope.arrays import Array
from wavescope.arrays.coded_columns import DistinctRows
from wavescope.formats.rocprofv3.kinds import OWN_MEMBER
from wavescope.model.columns import AGENTS, CALLS, COUNTERS, KERNELS, PROCESSES, UNKNOWN
from wavescope.model.source import Batch, TraceSource, read_columns
from wavescope.version import __version__

_BLANK = (
    '{"size":0,"kernel_id":0,"code_object_id":0,"kernel_name":"","kernel_object":0,'
    '"kernarg_segment_size":0,"kernarg_segment_alignment":0,"group_segment_size":0,'
    '"private_segment_size":0,"sgpr_count":0,"arch_vgpr_count":0,"accum_vgpr_count":0,'
    '"formatted_kernel_name":"","demangled_kernel_name":"","truncated_kernel_name":""}'
)
_FIELDS = (
    ("kernarg_bytes", "kernarg_segment_size"),
    ("lds_bytes", "group_segment_size"),
    ("scratch_bytes", "private_segment_size"),
    ("sgprs", "sgpr_count"),
    ("vgprs", "arch_vgpr_count"),
    ("agprs", "accum_vgpr_count"),
)

CPU_HANDLE = 1
_FIRST_GPU_HANDLE = 2
_CPU_TYPE, _GPU_TYPE = 1, 2
_RECORD = (
    '{"thread_id":%d,"dispatch_data":{"size":136,"correlation_id":{"internal":%d,"external":0},'
    '"start_timestamp":%d,"end_timestamp":%d,"dispatch_info":%s},"records":[%s]}'
)


class KernelSymbols:
    """Symbols by process: those of the `kernels` table, and one for each other name of an op."""

    def __init__(self, source: TraceSource, processes: Processes) -> None:
        self._source = source
        self._processes = processes
        self._symbols: list[list[str]] = [[_BLANK] for _ in range(len(processes))]
        self._distinct = DistinctRows(3)
        self._kernel_ids: list[int] = []
        self._by_row: dict[tuple[int, int], tuple[int, str]] = {}
        self._code_objects: dict[str, int] = {}
        self._add_table()

    def ids(self, processes: Array, kernels: Array, names: Array) -> Array:
        """The kernel id of each op of the given entries; new names get a symbol."""
        numbers, firsts = self._distinct.number((processes, kernels, names))
        for row in firsts.tolist():
            process, kernel = int(processes[row]), int(kernels[row])
            name = self._source.strings[int(names[row])]
            known = self._by_row.get((process, kernel))
            if known is None or known[1] != name:
                known = (self._add(process, {"name": name, "mangled": ""}, {}), name)
            self._kernel_ids.append(known[0])
        return np.array(self._kernel_ids, np.int64)[numbers]

    def of_process(self, process: int) -> list[str]:
        """The process's symbols as JSON texts."""
        return self._symbols[process]

    @property
    def code_objects(self) -> dict[str, int]:
        """Numbers of code objects by where they came from."""
        return self._code_objects

    def _add_table(self) -> None:
        texts = ("name", "mangled", "code_object")
        numbers = [column for column, _ in _FIELDS]
        columns = read_columns(self._source, KERNELS, ("id", "process", *texts, *numbers))
        strings = self._source.strings
        processes = self._processes.numbers(columns["process"]).tolist()
        for row, kernel in enumerate(columns["id"].tolist()):
            process = processes[row]
            text = {name: strings[int(columns[name][row])] for name in texts}
            facts = {name: int(columns[name][row]) for name in numbers}
            self._by_row[process, kernel] = (self._add(process, text, facts), text["name"])

    def _add(self, process: int, text: dict[str, str], facts: dict[str, int]) -> int:
        symbols = self._symbols[process]
        name = text["name"]
        uri = text.get("code_object", "")
        code_object = self._code_objects.setdefault(uri, len(self._code_objects) + 1) if uri else 0
        known = {
            field: facts[column]
            for column, field in _FIELDS
            if facts.get(column, UNKNOWN) != UNKNOWN
        }
        symbol = {
            "size": 88,
            "kernel_id": len(symbols),
            "code_object_id": code_object,
            "kernel_name": f"{text['mangled'] or name}.kd",
            **known,
            "formatted_kernel_name": name,
            "demangled_kernel_name": name,
            "truncated_kernel_name": truncated_name(name),
        }
        symbols.append(json_text(symbol))
        return len(symbols) - 1


def json_text(value: object) -> str:
    """JSON of `value`; lone surrogates, which are no text, become question marks."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        return orjson.dumps(_valid(value)).decode()


def _valid(value: object) -> object:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_valid(key): _valid(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_valid(item) for item in value]
    return value


def truncated_name(name: str) -> str:
    """The bare function name of a demangled one: without result, scope, arguments, parameters."""
    kept: list[str] = []
    depth = 0
    text = name.replace("(anonymous namespace)", "").replace("operator()", "operator")
    for character in text[:4096]:
        if character == "(" and depth == 0:
            break
        if character == "<":
            depth += 1
        elif character == ">":
            depth = max(depth - 1, 0)
        elif depth == 0:
            kept.append(character)
    words = "".join(kept).strip().rsplit("::", 1)[-1].split(" ")
    return words[-1] or name


class Processes:
    """The entries of the file: one per process, one in all when the trace names none.

    Rows that name no process belong to the first entry.
    """

    def __init__(self, source: TraceSource) -> None:
        self.hosts: list[str] = []
        self.metadata: list[dict[str, Any]] = []
        names = ("id", "pid", "rank", "host", "name", "command", "start_ns", "end_ns")
        columns = read_columns(source, PROCESSES, names)
        self._ids = columns["id"]
        for row in range(len(self._ids)):
            text = {
                name: source.strings[int(columns[name][row])]
                for name in ("host", "name", "command")
            }
            numbers = {
                name: int(columns[name][row]) for name in ("pid", "rank", "start_ns", "end_ns")
            }
            self._add(text, numbers)
        if not self.hosts:
            self._add({"host": "", "name": "", "command": ""}, {"pid": _first_pid(source)})

    def __len__(self) -> int:
        return len(self.hosts)

    @property
    def ids(self) -> list[int]:
        """The process that each entry is of; none where the trace names none."""
        found: list[int] = self._ids.tolist()
        return found

    def numbers(self, processes: Array) -> Array:
        """The entry of each process id."""
        if not len(self._ids):
            return np.zeros(len(processes), np.int64)
        order = np.argsort(self._ids, kind="stable")
        places = np.minimum(np.searchsorted(self._ids[order], processes), len(order) - 1)
        found = self._ids[order][places] == processes
        return np.where(found, order[places], 0)

    def _add(self, text: dict[str, str], numbers: dict[str, int]) -> None:
        facts: dict[str, Any] = {
            "node": {"id": 0, "hash": 0, "hostname": text["host"]},
            "pid": max(numbers["pid"], 0),
            "command": text["command"].split(" ") if text["command"] else [],
            "config": {},
            OWN_MEMBER: __version__,
        }
        if text["name"]:
            facts["name"] = text["name"]
        for name, field in (("rank", "rank"), ("start_ns", "init_time"), ("end_ns", "fini_time")):
            if numbers.get(name, UNKNOWN) >= 0:
                facts[field] = numbers[name]
        self.hosts.append(text["host"])
        self.metadata.append(facts)


def _first_pid(source: TraceSource) -> int:
    for batch in source.batches(CALLS, ("pid",), 1):
        if len(batch["pid"]):
            return int(batch["pid"][0])
    return UNKNOWN


def gpu_handles(gpus: Array) -> Array:
    """The agent handle of each GPU; the CPU's where no GPU is known."""
    return np.where(gpus >= 0, gpus.astype(np.int64) + _FIRST_GPU_HANDLE, CPU_HANDLE)


class GpuTable:
    """What the trace knows of its GPUs, and which of them its ops name."""

    def __init__(self, source: TraceSource) -> None:
        names = ("gpu", "host", "uuid", "chip", "model", "cu_count", "clock_mhz", "wave_size")
        columns = read_columns(source, AGENTS, (*names, "memory_bytes"))
        strings = source.strings
        self._facts: dict[int, dict[str, Any]] = {}
        for row, gpu in enumerate(columns["gpu"].tolist()):
            facts: dict[str, Any] = {
                name: strings[int(columns[name][row])] for name in ("host", "uuid", "chip", "model")
            }
            for name in ("cu_count", "clock_mhz", "wave_size", "memory_bytes"):
                facts[name] = int(columns[name][row])
            self._facts[gpu] = facts

    def note(self, gpus: list[int]) -> None:
        """Make sure that each of these has an agent."""
        for gpu in gpus:
            if gpu >= 0:
                self._facts.setdefault(gpu, {})

    def of_host(self, host: str) -> list[tuple[int, dict[str, Any]]]:
        """The GPUs that a process on `host` may use, in order."""
        return [
            (gpu, facts)
            for gpu, facts in sorted(self._facts.items(), key=lambda pair: pair[0])
            if not host or facts.get("host", "") in {"", host}
        ]


def agent_texts(host: str, gpus: GpuTable) -> list[str]:
    """The agents of a process on `host` as JSON texts: a CPU, then GPUs in order."""
    cpu = {
        "size": 312,
        "id": {"handle": CPU_HANDLE},
        "type": _CPU_TYPE,
        "name": "CPU",
        "node_id": 0,
        "logical_node_id": 0,
        "logical_node_type_id": 0,
    }
    return [json_text(cpu)] + [json_text(_gpu(gpu, facts)) for gpu, facts in gpus.of_host(host)]


def _gpu(gpu: int, facts: dict[str, Any]) -> dict[str, Any]:
    agent: dict[str, Any] = {
        "size": 312,
        "id": {"handle": gpu + _FIRST_GPU_HANDLE},
        "type": _GPU_TYPE,
        "name": facts.get("chip", ""),
        "product_name": facts.get("model", ""),
        "vendor_name": "AMD" if str(facts.get("chip", "")).startswith("gfx") else "",
        "node_id": gpu + 1,
        "logical_node_id": gpu + 1,
        "logical_node_type_id": gpu,
        "uuid": facts.get("uuid", ""),
    }
    for name, field in (
        ("cu_count", "cu_count"),
        ("clock_mhz", "max_engine_clk_fcompute"),
        ("wave_size", "wave_front_size"),
    ):
        if facts.get(name, UNKNOWN) >= 0:
            agent[field] = facts[name]
    if facts.get("memory_bytes", UNKNOWN) >= 0:
        agent["mem_banks"] = [{"heap_type": 1, "size_in_bytes": facts["memory_bytes"]}]
    return agent


class CounterValues:
    """All counter values of a source, sorted by op.

    They are held in memory, 20 bytes each, since they may come in any order.
    """

    def __init__(self, source: TraceSource) -> None:
        columns = read_columns(source, COUNTERS, ("op", "name", "value"))
        order = np.argsort(columns["op"], kind="stable")
        self._ops = columns["op"][order]
        self._names = columns["name"][order]
        self._values = columns["value"][order]
        self._handles = {
            code: handle for handle, code in enumerate(np.unique(self._names).tolist(), 1)
        }
        self._strings = source.strings

    def descriptions(self) -> list[str]:
        """The `counters` list."""
        return [
            json_text({"size": 0, "id": {"handle": handle}, "name": self._strings[code]})
            for code, handle in self._handles.items()
        ]

    def records(self, batch: Batch, dispatches: list[str], correlations: list[int]) -> list[str]:
        """One record for each op of the batch that has counters."""
        first = np.searchsorted(self._ops, batch["id"], side="left")
        last = np.searchsorted(self._ops, batch["id"], side="right")
        found = []
        for row in np.flatnonzero(last > first).tolist():
            values = ",".join(
                f'{{"counter_id":{{"handle":{self._handles[name]}}},"value":{json_text(value)}}}'
                for name, value in zip(
                    self._names[first[row] : last[row]].tolist(),
                    self._values[first[row] : last[row]].tolist(),
                    strict=True,
                )
            )
            found.append(
                _RECORD
                % (
                    max(int(batch["thread"][row]), 0),
                    correlations[row],
                    batch["start_ns"][row],
                    batch["end_ns"][row],
                    dispatches[row],
                    values,
                )
            )
        return found
