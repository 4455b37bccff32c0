"""Slices of rocprofv3's own Perfetto files, which say by category and arguments what they are.

Kernels and copies lie on tracks of streams, calls and ranges on those of threads. A correlation id
leads from a call to what it caused. Times, threads and sizes are arguments, so that overlapping
slices of one track keep their own. No file lists the agents: GPUs are told by what ran on them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from wavescope.arrays import Array
from wavescope.formats.rocprofv3.kinds import (
    MARK,
    MARKER_RANGE,
    api_of_kind,
    copy_gpus,
    copy_type,
    kind_name,
    shown_kernel_name,
)
from wavescope.formats.rocprofv3.rows import GpuFacts, ProcessFacts, Rocprofv3Rows
from wavescope.model.builder import TraceBuilder
from wavescope.model.columns import UNKNOWN
from wavescope.model.op_kinds import KERNEL_TYPE

Rows = dict[str, Array]

_KERNELS, _COPIES, _MARKERS = "kernel_dispatch", "memory_copy", "marker_api"
_FIRST_QUEUE = 1
"""Queues are numbered from 0 in these files, and from 1 in all others of the same run."""
_AGENT = re.compile(r"([A-Za-z]+)-(\d{1,6})", re.ASCII)
_KEPT = (
    "category", "name", "pid", "start_ns", "end_ns", "recorded_start_ns", "recorded_end_ns",
    "recorded_thread", "correlation_id", "kind", "operation", "stream_id", "queue_index",
    "kernel_id", "copy_bytes", "lds_block_size", "scratch_size", "vgpr_count", "accum_vgpr_count",
    "sgpr_count", "workgroup_size", "grid_size", "agent", "source_agent", "target_agent",
)  # fmt: skip
"""Columns of slices, as the reader of Perfetto files names them; texts are codes."""
_KERNEL_FACTS = {
    "vgprs": "vgpr_count",
    "agprs": "accum_vgpr_count",
    "sgprs": "sgpr_count",
    "scratch_bytes": "scratch_size",
}


class Rocprofv3Slices:
    """Gathers slices; `finish` writes them, since only all of them tell which agents are GPUs."""

    def __init__(self, builder: TraceBuilder, process_names: Mapping[int, str]) -> None:
        """`process_names` are by pid, and may still grow."""
        self._rows = Rocprofv3Rows(builder)
        self._strings = builder.strings
        self._process_names = process_names
        self._parts: list[Rows] = []

    def add(self, rows: Rows, chosen: npt.NDArray[np.intp]) -> None:
        """Take the chosen rows."""
        missing = np.full(len(chosen), UNKNOWN, np.int64)
        self._parts.append(
            {name: rows[name][chosen] if name in rows else missing for name in _KEPT}
        )

    def finish(self, numbered_pids: Sequence[int]) -> None:
        """Append ops, calls and markers, their processes and the links between them.

        Processes that have a number already, because other slices are theirs, keep it.
        """
        columns = {name: np.concatenate([part[name] for part in self._parts]) for name in _KEPT}
        for taken, stated in (
            ("start_ns", "recorded_start_ns"),
            ("end_ns", "recorded_end_ns"),
        ):
            known = columns[stated] != UNKNOWN
            columns[taken] = np.where(known, columns[stated], columns[taken])
        agents = _Agents(self._rows, self._named_agents(columns))
        recorded_pids = np.unique(columns["pid"]).tolist()
        for pid in dict.fromkeys((*numbered_pids, *recorded_pids)):
            name = self._process_names.get(pid, "")
            process = self._rows.add_process(ProcessFacts(pid=pid, name=name))
            self._add_process(process, _where(columns, columns["pid"] == pid), agents)
        self._rows.finished()

    def _named_agents(self, columns: Rows) -> dict[str, bool]:
        """The agents of all slices, and whether each is a GPU."""
        is_copy = columns["category"] == self._strings.code(_COPIES)
        types = [copy_type(text) for text in self._texts(columns["name"][is_copy])]
        found: dict[str, bool] = {}
        for column, from_start in (("source_agent", False), ("target_agent", True)):
            for agent, kind in zip(self._texts(columns[column][is_copy]), types, strict=True):
                end = kind.endswith("Device") if from_start else kind.startswith("CopyDevice")
                found[agent] = found.get(agent, False) or end
        found.update(dict.fromkeys(self._texts(columns["agent"][columns["agent"] >= 0]), True))
        return found

    def _add_process(self, process: int, columns: Rows, agents: _Agents) -> None:
        code = self._strings.code
        category = columns["category"]
        kernels = category == code(_KERNELS)
        copies = category == code(_COPIES)
        markers = category == code(_MARKERS)
        if kernels.any():
            self._add_kernels(process, _where(columns, kernels), agents)
        if copies.any():
            self._add_copies(process, _where(columns, copies), agents)
        if markers.any():
            self._add_markers(process, _where(columns, markers))
        calls = ~(kernels | copies | markers)
        if calls.any():
            self._add_calls(process, _where(columns, calls))

    def _common(self, columns: Rows) -> dict[str, Array]:
        return {
            "start_ns": columns["start_ns"],
            "end_ns": columns["end_ns"],
            "thread": columns["recorded_thread"],
            "correlation": columns["correlation_id"],
        }

    def _add_kernels(self, process: int, columns: Rows, agents: _Agents) -> None:
        gpus = agents.gpus(self._texts(columns["agent"]))
        names = self._strings.codes(
            [shown_kernel_name(name) for name in self._texts(columns["name"])]
        )
        self._rows.builder.notes.add(
            "ops whose agent is not a known GPU, counted for GPU 0", int((gpus < 0).sum())
        )
        gpus = np.maximum(gpus, 0)
        index = columns["queue_index"]
        queues = np.where(index >= 0, index + _FIRST_QUEUE, UNKNOWN)
        self._rows.add_ops(
            process,
            {
                **self._common(columns),
                "gpu": gpus,
                "queue": self._rows.queues(process, gpus, queues),
                "stream": columns["stream_id"],
                "name": names,
                "type": np.full(len(gpus), self._strings.code(KERNEL_TYPE)),
                "kernel": self._kernel_rows(process, columns, names),
                "lds_bytes": columns["lds_block_size"],
                "scratch_bytes": columns["scratch_size"],
                "grid_x": columns["grid_size"],
                "workgroup_x": columns["workgroup_size"],
            },
        )

    def _kernel_rows(self, process: int, columns: Rows, names: Array) -> Array:
        """Rows in `kernels`, one for each kernel id and name."""
        keys = np.stack((columns["kernel_id"], names))
        _, first, which = np.unique(keys, axis=1, return_index=True, return_inverse=True)
        facts = {ours: columns[theirs][first] for ours, theirs in _KERNEL_FACTS.items()}
        ids = self._rows.add_kernels(process, {"name": names[first], **facts})
        chosen: Array = ids[which.reshape(-1)]
        return chosen

    def _add_copies(self, process: int, columns: Rows, agents: _Agents) -> None:
        types = [copy_type(text) for text in self._texts(columns["name"])]
        sources = agents.gpus(self._texts(columns["source_agent"]))
        targets = agents.gpus(self._texts(columns["target_agent"]))
        gpus = copy_gpus(types, sources, targets)
        self._rows.builder.notes.add(
            "copies of which no GPU is known, counted for GPU 0", int((gpus < 0).sum())
        )
        self._rows.add_ops(
            process,
            {
                **self._common(columns),
                "gpu": np.maximum(gpus, 0),
                "stream": columns["stream_id"],
                "name": np.full(len(gpus), self._strings.code("")),
                "type": self._strings.codes(types),
                "size_bytes": columns["copy_bytes"],
                "source_device": sources,
                "target_device": targets,
            },
        )

    def _add_markers(self, process: int, columns: Rows) -> None:
        markers = self._common(columns)
        del markers["correlation"]
        is_mark = (columns["kind"] == MARKER_RANGE) & (columns["operation"] == MARK)
        self._rows.add_markers(process, {**markers, "name": columns["name"]}, is_mark)

    def _add_calls(self, process: int, columns: Rows) -> None:
        sections = self._texts(columns["category"])
        kinds = [
            kind_name(kind) or section.upper()
            for kind, section in zip(columns["kind"].tolist(), sections, strict=True)
        ]
        self._rows.add_calls(
            process,
            {
                **self._common(columns),
                "name": columns["name"],
                "category": self._strings.codes(kinds),
                "domain": self._strings.codes([api_of_kind(kind) for kind in kinds]),
                "stream": columns["stream_id"],
            },
        )

    def _texts(self, codes: Array) -> list[str]:
        return [self._strings[code] if code >= 0 else "" for code in codes.tolist()]


def _where(columns: Rows, mask: npt.NDArray[np.bool_]) -> Rows:
    return {name: column[mask] for name, column in columns.items()}


class _Agents:
    """GPU numbers of agents: from the first agent that is no CPU on, or as `GPU-1` states them."""

    def __init__(self, rows: Rocprofv3Rows, is_gpu: dict[str, bool]) -> None:
        self._numbers: dict[str, int] = {}
        matches = {agent: _AGENT.fullmatch(agent) for agent in is_gpu}
        index = {agent: int(found[2]) for agent, found in matches.items() if found}
        gpus = sorted((each for each in index if is_gpu[each]), key=lambda each: index[each])
        cpus = [index[each] for each in index if not is_gpu[each]]
        lowest = min((index[each] for each in gpus), default=0)
        first = max((cpu for cpu in cpus if cpu < lowest), default=lowest - 1) + 1
        for agent in gpus:
            stated = agent.upper().startswith("GPU-")
            number = index[agent] if stated else index[agent] - first
            self._numbers[agent] = rows.gpu(GpuFacts("", agent, number))

    def gpus(self, agents: Iterable[str]) -> npt.NDArray[np.int64]:
        """The GPU of each agent, -1 where it is none."""
        return np.array([self._numbers.get(agent, UNKNOWN) for agent in agents], np.int64)
