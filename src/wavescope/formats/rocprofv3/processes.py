"""Processes of a trace as rocprofv3 JSON describes them."""

from __future__ import annotations

from typing import Any

import numpy as np

from wavescope.arrays import Array
from wavescope.model.columns import CALLS, PROCESSES, UNKNOWN
from wavescope.model.source import TraceSource, read_columns


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
