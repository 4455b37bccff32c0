"""Builds thread-trace folders that agree with themselves, so that tests know what must come out.

Rows of code.json are the sums over the wave files, dependencies are those that the decoder would
store, occupancy has a start and an end for every wave, snapshots name the sources.

    folder = (
        a_capture()
        .with_source("/k.py", "@kernel\\ndef k():\\n    load()\\n")
        .with_code(("s_load_dword s0, s[4:5], 0x0", "/k.py:3"), ("s_waitcnt lgkmcnt(0)", "/k.py:3"))
        .with_wave([step(1, issue=4), step(2, stall=100)])
        .write(tmp_path)
    )
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

HEADER = "ISA, _, LineNumber, Source, Codeobj, Vaddr, Hit, Latency, Stall, Idle"
KERNEL_TRACE_HEADER = [
    "Kind",
    "Agent_Id",
    "Queue_Id",
    "Stream_Id",
    "Thread_Id",
    "Dispatch_Id",
    "Kernel_Id",
    "Kernel_Name",
    "Correlation_Id",
    "Start_Timestamp",
    "End_Timestamp",
    "LDS_Block_Size",
    "Scratch_Size",
    "VGPR_Count",
    "Accum_VGPR_Count",
    "SGPR_Count",
    "Workgroup_Size_X",
    "Workgroup_Size_Y",
    "Workgroup_Size_Z",
    "Grid_Size_X",
    "Grid_Size_Y",
    "Grid_Size_Z",
]


class Step(NamedTuple):
    """One executed instruction: idle cycles before it, stalled cycles, cycles to issue."""

    row: int
    stall: int = 0
    issue: int = 4
    idle: int = 0


def step(row: int, *, stall: int = 0, issue: int = 4, idle: int = 0) -> Step:
    """A step of a wave; rows count from 1, row 0 is the kernel's label."""
    return Step(row, stall, issue, idle)


@dataclass
class WaveSpec:
    """A wave and where it ran."""

    steps: list[Step]
    begin: int = 0
    shader_engine: int = 0
    simd: int = 0
    slot: int = 0
    cu: int = 1
    workgroup: int = -1

    def events(self, categories: Sequence[int]) -> list[list[int]]:
        """The tuples of the wave file."""
        time, events = self.begin, []
        for row, stall, issue, idle in self.steps:
            time += idle
            events.append([time, categories[row], stall, stall + issue, row])
            time += stall + issue
        return events

    @property
    def end(self) -> int:
        """When the last instruction has issued."""
        return self.begin + sum(one.stall + one.issue + one.idle for one in self.steps)


@dataclass
class CaptureBuilder:
    """Collects code, waves and sources; `write` makes the folder."""

    gfxip: int = 9
    mangled: str = "_Z4axpyPf"
    demangled: str = "axpy(float*)"
    dispatch: int = 1
    version: str = "3.0.0"
    code: list[tuple[str, str]] = field(default_factory=list)
    waves: list[WaveSpec] = field(default_factory=list)
    sources: dict[str, bytes] = field(default_factory=dict)
    kernel_row: dict[str, Any] | None = None
    agent_row: dict[str, Any] | None = None
    clock: tuple[int, int] | None = None

    def with_code(self, *rows: str | tuple[str, str]) -> CaptureBuilder:
        """Append instructions: a text, or a text and its source place."""
        self.code += [(row, "") if isinstance(row, str) else row for row in rows]
        return self

    def with_wave(self, steps: Sequence[Step], **where: int) -> CaptureBuilder:
        """Append a wave that executes `steps`."""
        self.waves.append(WaveSpec(list(steps), **where))
        return self

    def with_source(self, path: str, text: str | bytes) -> CaptureBuilder:
        """Keep a copy of a source file."""
        self.sources[path] = text.encode() if isinstance(text, str) else text
        return self

    def with_kernel_row(self, **values: Any) -> CaptureBuilder:
        """Write a kernel_trace.csv beside the folder with these values of the dispatch."""
        self.kernel_row = values
        return self

    def with_agent(self, **values: Any) -> CaptureBuilder:
        """Write an agent_info.csv beside the folder."""
        self.agent_row = values
        return self

    def with_clock(self, shader_mhz: int, frequency_hz: int = 100_000_000) -> CaptureBuilder:
        """Write a realtime.json for that shader clock."""
        self.clock = shader_mhz, frequency_hz
        return self

    @property
    def name(self) -> str:
        """The folder's name."""
        return f"ui_output_agent_7_dispatch_{self.dispatch}"

    def rows(self) -> list[list[Any]]:
        """The rows of code.json: sums over the waves."""
        sums = [[0, 0, 0, 0] for _ in range(len(self.code) + 1)]
        for wave in self.waves:
            for row, stall, issue, idle in wave.steps:
                for place, value in enumerate((1, stall + issue, stall, idle)):
                    sums[row][place] += value
        rows: list[list[Any]] = [[f"; {self.mangled}", 0, 0, self.demangled, 1, 4096, 0, 0, 0, 0]]
        for index, (text, source) in enumerate(self.code, start=1):
            rows.append([text, 0, index, source, 1, 4096 + 8 * index, *sums[index]])
        return rows

    def wave_document(self, number: int, spec: WaveSpec) -> dict[str, Any]:
        """One wave file's content."""
        texts = ["", *(text for text, _ in self.code)]
        events = spec.events([category(text) for text in texts])
        lists = decoder_dependencies(self.gfxip, [(event[4], texts[event[4]]) for event in events])
        waitcnt = [[wait, [[producer, 0] for producer in found]] for wait, found in lists]
        timeline = [[3 if one.stall else 2, one.stall + one.issue + one.idle] for one in spec.steps]
        return {
            "duration": spec.end - spec.begin,
            "name": f"SE{spec.shader_engine}",
            "num_insts": len(events),
            "num_stitched": len(events),
            "wave": {
                "begin": spec.begin,
                "cu": spec.cu,
                "end": spec.end,
                "id": number,
                "instructions": events,
                "simd": spec.simd,
                "slot": spec.slot,
                "timeline": timeline,
                "waitcnt": waitcnt or None,
            },
        }

    def write(self, parent: Path) -> Path:
        """Make the folder in `parent`; its path."""
        folder = parent / self.name
        folder.mkdir(parents=True)
        write_json(
            folder / "code.json", {"code": self.rows(), "header": HEADER, "version": self.version}
        )
        self._write_waves(folder)
        self._write_occupancy(folder)
        self._write_sources(folder)
        if self.clock:
            mhz, hz = self.clock
            pairs = [[0, 0], [mhz * 1_000_000, hz]]
            write_json(folder / "realtime.json", {"SE0": pairs, "metadata": {"frequency": hz}})
        if self.kernel_row is not None:
            write_kernel_csv(
                parent / "out_kernel_trace.csv", self.dispatch, self.demangled, self.kernel_row
            )
        if self.agent_row is not None:
            write_csv(parent / "out_agent_info.csv", [{"Agent_Type": "GPU", **self.agent_row}])
        return folder

    def _write_waves(self, folder: Path) -> None:
        index: dict[str, Any] = {}
        numbers: dict[tuple[int, int, int], int] = {}
        for spec in self.waves:
            place = spec.shader_engine, spec.simd, spec.slot
            number = numbers.get(place, 0)
            numbers[place] = number + 1
            name = f"se{place[0]}_sm{place[1]}_sl{place[2]}_wv{number}.json"
            write_json(folder / name, self.wave_document(number, spec))
            node = index
            for key in place:
                node = node.setdefault(str(key), {})
            node[str(number)] = [name, spec.begin, spec.end]
        write_json(
            folder / "filenames.json",
            {
                "counter_names": [],
                "gfxip": self.gfxip,
                "gfxv": "vega" if self.gfxip <= 9 else "navi",
                "global_begin_time": 0,
                "version": self.version,
                "wave_filenames": index or None,
            },
        )

    def _write_occupancy(self, folder: Path) -> None:
        rows: dict[str, list[list[int]]] = {}
        for spec in self.waves:
            more = [0, 0, 0, spec.workgroup, 0] if spec.workgroup >= 0 else []
            for time, is_start in ((spec.begin, 1), (spec.end, 0)):
                rows.setdefault(str(spec.shader_engine), []).append(
                    [time, spec.cu, spec.simd, spec.slot, is_start, 1, *more]
                )
        names = {"dispatches": {"0": "0 / 0x0", "1": self.demangled}, "version": self.version}
        write_json(folder / "occupancy.json", {**{key: sorted(rows[key]) for key in rows}, **names})

    def _write_sources(self, folder: Path) -> None:
        tree: dict[str, Any] = {}
        for number, (path, text) in enumerate(self.sources.items()):
            local = f"source_{number}_{path.rpartition('/')[2]}"
            (folder / local).write_bytes(text)
            node = tree.setdefault("/", {}) if path.startswith("/") else tree
            *folders, last = path.lstrip("/").split("/")
            for part in folders:
                node = node.setdefault(part, {})
            node[last] = local
        if tree:
            write_json(folder / "snapshots.json", tree)


def a_capture(**values: Any) -> CaptureBuilder:
    """An empty capture to add to."""
    return CaptureBuilder(**values)


def write_json(path: Path, value: Any) -> None:
    """Write `value` as compact JSON."""
    path.write_text(json.dumps(value, separators=(",", ":")))


def write_csv(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Write `rows` with the columns of the first."""
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def write_kernel_csv(path: Path, dispatch: int, kernel: str, values: dict[str, Any]) -> None:
    """Write a kernel trace of one dispatch."""
    row: dict[str, Any] = dict.fromkeys(KERNEL_TRACE_HEADER, 0)
    row |= {"Kind": "KERNEL_DISPATCH", "Agent_Id": "Agent 1", "Dispatch_Id": dispatch}
    row |= {"Kernel_Name": kernel, "Workgroup_Size_X": 64, "Grid_Size_X": 64} | values
    write_csv(path, [row])


def category(text: str) -> int:
    """The decoder's category of an instruction, near enough."""
    for number, beginnings in (
        (9, ("s_wait", "s_nop", "s_barrier", "s_sleep")),
        (11, ("s_endpgm", "s_sendmsg")),
        (7, ("s_branch", "s_cbranch")),
        (1, ("s_load", "s_store", "s_buffer")),
        (2, ("s_",)),
        (6, ("v_",)),
        (5, ("ds_",)),
        (4, ("flat_", "global_", "scratch_")),
        (3, ("buffer_", "tbuffer_", "image_")),
    ):
        if text.startswith(beginnings):
            return number
    return 0


_WAITS = {
    9: ("lgkmcnt", "vmcnt"),
    10: ("vscnt", "vmcnt", "lgkmcnt"),
    12: ("bvhcnt", "expcnt", "samplecnt", "kmcnt", "storecnt", "loadcnt", "dscnt"),
}


def decoder_dependencies(
    gfxip: int, executed: Sequence[tuple[int, str]]
) -> list[tuple[int, list[int]]]:
    """The dependency lists that the decoder stores for a wave that executed these rows.

    Written from the format's description, on lists of rows, with no part of the code under test.
    """
    family = 9 if gfxip <= 9 else 12 if gfxip >= 12 else 10
    names = _WAITS[family]
    queues: dict[str, list[int]] = {name: [] for name in names}
    unordered: set[str] = set()
    flats: dict[str, list[int]] = {"load": [], "store": []}
    found: list[tuple[int, list[int]]] = []
    for row, text in executed:
        if text.startswith("s_wait_idle"):
            found.append((row, [one for name in names for one in queues[name]]))
            queues = {name: [] for name in names}
            continue
        if text.startswith("s_wait") and not text.startswith(("s_wait_alu", "s_waitcnt_depctr")):
            for name in names:
                if name not in text:
                    continue
                match = re.search(rf"{name}[ (]*(?:null,)? *(0x[0-9a-f]+|\d+)", text)
                limit = int(match[1], 0) if match else 0
                if limit == 0:
                    unordered.discard(name)
                if name in unordered:
                    continue
                taken = _taken_flats(family, name, flats)
                cut = max(len(queues[name]) - limit, 0)
                taken += queues[name][:cut]
                queues[name] = queues[name][cut:]
                found.append((row, taken))
            continue
        _issue(family, row, text, queues=queues, unordered=unordered, flats=flats)
    return [(row, rows) for row, rows in found if rows]


def _taken_flats(family: int, name: str, flats: dict[str, list[int]]) -> list[int]:
    if name in {"bvhcnt", "expcnt", "samplecnt", "kmcnt"}:
        return []
    groups = {
        "vscnt": ["store"],
        "storecnt": ["store"],
        "lgkmcnt": ["load", "store"],
        "dscnt": ["load", "store"],
    }
    wanted = groups.get(name, ["load"]) if family != 9 else ["load", "store"]
    taken = [row for group in wanted for row in flats[group]]
    for group in wanted:
        flats[group].clear()
    return taken


def _issue(
    family: int,
    row: int,
    text: str,
    *,
    queues: dict[str, list[int]],
    unordered: set[str],
    flats: dict[str, list[int]],
) -> None:
    is_store = family != 9 and ("store" in text or text.startswith("global_wb"))
    loads = {9: "vmcnt", 10: "vmcnt", 12: "loadcnt"}[family]
    stores = {9: "vmcnt", 10: "vscnt", 12: "storecnt"}[family]
    local = {9: "lgkmcnt", 10: "lgkmcnt", 12: "dscnt"}[family]
    scalar = {9: "lgkmcnt", 10: "lgkmcnt", 12: "kmcnt"}[family]
    if text.startswith(("s_load", "s_store")):
        unordered.add(scalar)
        queues[scalar].append(row)
    elif text.startswith("s_sendmsg_rtn") and family != 9:
        queues[scalar] += [row, row]
    elif text.startswith("s_sendmsg"):
        queues[scalar].append(row)
    elif text.startswith("flat_"):
        unordered |= {local, stores if is_store else loads}
        flats["store" if is_store else "load"].append(row)
    elif text.startswith(("ds_param_load", "ds_direct")) and family == 12:
        queues["expcnt"].append(row)
    elif text.startswith("ds_"):
        queues[local].append(row)
    elif "_bvh" in text and family == 12:
        queues["bvhcnt"].append(row)
    elif text.startswith(("global_", "buffer_", "tbuffer_", "scratch_")):
        queues[stores if is_store else loads].append(row)
