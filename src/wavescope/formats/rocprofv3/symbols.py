"""Kernel symbols of rocprofv3 JSON: per process a list in which the n-th has kernel id n."""

from __future__ import annotations

import numpy as np
import orjson

from wavescope.arrays import Array
from wavescope.arrays.coded_columns import DistinctRows
from wavescope.formats.rocprofv3.processes import Processes
from wavescope.model.columns import KERNELS, UNKNOWN
from wavescope.model.source import TraceSource, read_columns

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
