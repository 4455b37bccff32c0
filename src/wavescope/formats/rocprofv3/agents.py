"""Agents of rocprofv3 JSON: one CPU, and the GPUs of the trace."""

from __future__ import annotations

from typing import Any

import numpy as np

from wavescope.arrays import Array
from wavescope.formats.rocprofv3.symbols import json_text
from wavescope.model.columns import AGENTS, UNKNOWN
from wavescope.model.source import TraceSource, read_columns

CPU_HANDLE = 1
_FIRST_GPU_HANDLE = 2
_CPU_TYPE, _GPU_TYPE = 1, 2


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
