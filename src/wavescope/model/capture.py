"""A capture in memory: the thread trace (ATT) of one dispatch, its instructions, its waves.

Cycles are shader clock cycles. Instructions are the rows of the disassembly; what waves executed
are `Waves` events, which name an instruction by its row. A wave's events are the slice
`event_offsets[wave]:event_offsets[wave + 1]`. Every reader that skips or repairs adds a note, and
a note makes the capture partial when data is missing.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.model.progress import Notes

Integers = npt.NDArray[np.int64]
Rows = npt.NDArray[np.int32]
Codes = npt.NDArray[np.uint8]
Flags = npt.NDArray[np.bool_]


class Frame(NamedTuple):
    """A place in source code; `line` is 0 where the compiler gave none."""

    path: str
    line: int

    @property
    def label(self) -> str:
        """`file.py:10`, the file without its folders."""
        return f"{self.path.rpartition('/')[2]}:{self.line}"


class Measure(str, enum.Enum):
    """What the numbers of the instruction rows count."""

    CYCLES = "cycles"
    SAMPLES = "samples"
    """PC sampling: `latency` counts all samples of a row, `stall` those that did not issue."""


@dataclass(frozen=True, eq=False)
class Instructions:
    """The rows of code.json as columns; all arrays have one element per row."""

    text: Sequence[str]
    """As disassembled; labels are texts such as `; _Z4axpyPf` and never execute."""
    source_code: Rows
    """Index into `frames`."""
    frames: Sequence[tuple[Frame, ...]]
    """Distinct source places: the innermost frame first, `()` where there is none."""
    line_number: Rows
    """What wave files call this row; usually the row's own index."""
    address: Integers
    code_object: Integers
    hits: Integers
    """Executions by the traced waves; 0 for instructions that no wave reached."""
    latency: Integers
    """Cycles from being ready to having issued (gfx9) or executed (gfx10 and later)."""
    stall: Integers
    """Cycles of `latency` that the instruction could not issue."""
    idle: Integers
    """Cycles before the instruction in which the wave had nothing to issue."""
    is_label: Flags
    measure: Measure = Measure.CYCLES
    stall_reasons: Integers | None = None
    """PC sampling only: samples by reason, a row per instruction, columns as the file has them."""

    def __len__(self) -> int:
        return len(self.text)

    @cached_property
    def mnemonics(self) -> list[str]:
        """The distinct first words of the texts, lower case; labels are ''."""
        return self._words[0]

    @cached_property
    def mnemonic_code(self) -> Rows:
        """For each row the index into `mnemonics`."""
        return self._words[1]

    @cached_property
    def _words(self) -> tuple[list[str], Rows]:
        numbers: dict[str, int] = {}
        number = numbers.setdefault
        words = [
            "" if text.startswith(";") else text.partition(" ")[0].lower() for text in self.text
        ]
        codes = np.fromiter((number(word, len(numbers)) for word in words), np.int32, len(words))
        codes[self.is_label] = number("", len(numbers))
        return list(numbers), codes

    def mnemonic(self, row: int) -> str:
        """The mnemonic of one row."""
        return self.mnemonics[int(self.mnemonic_code[row])]

    def frames_of(self, row: int) -> tuple[Frame, ...]:
        """The inline chain of one row, innermost frame first."""
        return self.frames[int(self.source_code[row])]

    @cached_property
    def row_of_line_number(self) -> Rows:
        """The row that each line number means, -1 where none does."""
        if len(self) == 0:
            return np.empty(0, np.int32)
        rows = np.full(int(max(self.line_number.max(), 0)) + 1, -1, np.int32)
        usable = np.flatnonzero((self.line_number >= 0) & ~self.is_label)
        labels = np.flatnonzero((self.line_number >= 0) & self.is_label)
        rows[self.line_number[labels]] = labels
        rows[self.line_number[usable]] = usable
        return rows


class Category(enum.IntEnum):
    """The decoder's own class of an executed instruction."""

    NONE = 0
    SMEM = 1
    SALU = 2
    VMEM = 3
    FLAT = 4
    LDS = 5
    VALU = 6
    JUMP_TAKEN = 7
    JUMP_NOT_TAKEN = 8
    IMMEDIATE = 9
    CONTEXT = 10
    MESSAGE = 11
    BVH = 12


@dataclass(frozen=True, eq=False)
class Waves:
    """What the traced waves executed.

    `shader_engine` to `is_partial` have one element per wave; `time` to `row` one per executed
    instruction; offsets have one element more than what they divide.
    """

    shader_engine: Rows
    simd: Rows
    slot: Rows
    number: Rows
    """Counts the waves of one slot."""
    cu: Rows
    """Compute unit, on gfx10 and later the work-group processor; -1 where unknown."""
    begin: Integers
    end: Integers
    is_partial: Flags
    """The file ended early or held unusable values: the wave may have executed more."""
    event_offsets: Integers
    time: Integers
    """When the instruction was ready; it issued at `time + stall`."""
    category: Codes
    stall: Rows
    duration: Rows
    """From `time`, stall included."""
    row: Rows
    """Row of `Instructions`, -1 where the file names one that is not there."""
    dependencies: StoredDependencies

    def __len__(self) -> int:
        return len(self.begin)

    @property
    def event_count(self) -> int:
        """Executed instructions of all waves."""
        return len(self.row)

    def events(self, wave: int) -> slice:
        """The slice of the event columns that belongs to `wave`."""
        return slice(int(self.event_offsets[wave]), int(self.event_offsets[wave + 1]))

    @cached_property
    def wave_of_event(self) -> Rows:
        """For each event the wave that executed it."""
        return np.repeat(np.arange(len(self), dtype=np.int32), np.diff(self.event_offsets))

    def label(self, wave: int) -> str:
        """`SE0 SIMD2 slot 3 wave 1`: where a wave ran."""
        return (
            f"SE{self.shader_engine[wave]} SIMD{self.simd[wave]} "
            f"slot {self.slot[wave]} wave {self.number[wave]}"
        )


@dataclass(frozen=True, eq=False)
class StoredDependencies:
    """The lists of `waitcnt` in wave files: which rows a wait waited for, as the decoder says."""

    wave: Rows
    """One element per list, in the order of the wave's execution."""
    wait_row: Rows
    producer_offsets: Integers
    producer_row: Rows

    def __len__(self) -> int:
        return len(self.wait_row)

    def producers(self, index: int) -> Rows:
        """The rows that list number `index` names."""
        return self.producer_row[self.producer_offsets[index] : self.producer_offsets[index + 1]]


@dataclass(frozen=True, eq=False)
class WaveOccupancy:
    """Starts and ends of waves on all compute units of the traced shader engines, by time."""

    time: Integers
    shader_engine: Rows
    cu: Rows
    simd: Rows
    slot: Rows
    is_start: Flags
    kernel: Rows
    """Key of `kernel_names`."""
    workgroup: Integers
    """-1 where the file does not tell, as files before 2026 do not."""
    kernel_names: Mapping[int, str]

    def __len__(self) -> int:
        return len(self.time)


class SourceFile(NamedTuple):
    """The text of a file that instructions come from, as the capture kept it."""

    path: str
    lines: Sequence[str]
    encoding: str


class RealtimeClock(NamedTuple):
    """Pairs of shader clock and constant-rate clock; `frequency_hz` is that of the latter."""

    shader_clock: Integers
    realtime_clock: Integers
    frequency_hz: int

    @property
    def shader_mhz(self) -> float | None:
        """The shader clock's mean frequency, None where the pairs do not tell."""
        if len(self.shader_clock) < 2 or self.frequency_hz <= 0:
            return None
        cycles = int(self.shader_clock[-1]) - int(self.shader_clock[0])
        ticks = int(self.realtime_clock[-1]) - int(self.realtime_clock[0])
        if cycles <= 0 or ticks <= 0:
            return None
        return cycles * self.frequency_hz / ticks / 1e6


class KernelFacts(NamedTuple):
    """What a kernel trace CSV or a rocpd database says of the dispatch; None where it does not."""

    origin: str
    """The file's name."""
    kernel_name: str
    dispatch_id: int | None = None
    vgpr_count: int | None = None
    accum_vgpr_count: int | None = None
    sgpr_count: int | None = None
    lds_bytes: int | None = None
    scratch_bytes: int | None = None
    workgroup_size: tuple[int, int, int] | None = None
    grid_size: tuple[int, int, int] | None = None
    """In work-items."""
    start_ns: int | None = None
    end_ns: int | None = None
    is_certain: bool = True
    """Whether dispatch id or kernel name say that the row is this dispatch."""


class AgentFacts(NamedTuple):
    """One GPU as agent_info.csv or a rocpd database describes it."""

    chip: str
    """Such as gfx942."""
    product: str = ""
    cu_count: int | None = None
    simds_per_cu: int | None = None
    waves_per_simd: int | None = None
    lds_kib: int | None = None
    wave_size: int | None = None


class CaptureFacts(NamedTuple):
    """What the folder says about itself."""

    name: str
    """The folder's own name."""
    path: str
    dispatch_id: int | None = None
    agent_handle: str = ""
    format_version: str = ""
    gfxip: int | None = None
    """9, 10, 11 or 12: the instruction set's family."""
    chip: str = ""
    """Such as gfx950, where a file of the capture names it; analyses look at instructions else."""
    chip_origin: str = ""
    counter_names: tuple[str, ...] = ()
    expected_waves: int = 0
    """Wave files that filenames.json lists."""


@dataclass(frozen=True)
class CaptureNotes:
    """What readers of a capture say: what they mended, and what is not there at all."""

    repaired: Notes = field(default_factory=Notes)
    """Skipped or mended: the results are of all the data nevertheless."""
    missing: Notes = field(default_factory=Notes)
    """Data that should be there and is not: all results are partial."""


@dataclass(frozen=True, eq=False)
class Capture:
    """One traced dispatch."""

    facts: CaptureFacts
    kernel_name: str
    """Demangled where the capture has that, '' where it names none."""
    instructions: Instructions
    waves: Waves
    occupancy: WaveOccupancy
    sources: Mapping[str, SourceFile] = field(default_factory=dict)
    """By the path that frames use."""
    missing_sources: Mapping[str, str] = field(default_factory=dict)
    """Paths that frames use and why there is no text for them."""
    clock: RealtimeClock | None = None
    kernel_facts: KernelFacts | None = None
    agents: Sequence[AgentFacts] = ()
    notes: CaptureNotes = field(default_factory=CaptureNotes)

    @property
    def repaired(self) -> tuple[str, ...]:
        """What was skipped or repaired, one sentence each."""
        return tuple(sentence for sentence, _ in self.notes.repaired)

    @property
    def missing(self) -> tuple[str, ...]:
        """What should be there and is not, one sentence each."""
        return tuple(sentence for sentence, _ in self.notes.missing)

    @property
    def is_partial(self) -> bool:
        """Whether data is missing that the capture should have."""
        return bool(self.missing)

    def source_line(self, frame: Frame) -> str | None:
        """The text of a frame's line, None where it is not known."""
        source = self.sources.get(frame.path)
        if source is None or not 1 <= frame.line <= len(source.lines):
            return None
        return source.lines[frame.line - 1]


def no_dependencies() -> StoredDependencies:
    """Dependencies of no wave."""
    none = np.empty(0, np.int32)
    return StoredDependencies(none, none, np.zeros(1, np.int64), none)


def no_waves() -> Waves:
    """Waves of a trace whose wave files are not read."""
    rows, integers, codes = np.empty(0, np.int32), np.empty(0, np.int64), np.empty(0, np.uint8)
    start = np.zeros(1, np.int64)
    return Waves(
        shader_engine=rows,
        simd=rows,
        slot=rows,
        number=rows,
        cu=rows,
        begin=integers,
        end=integers,
        is_partial=np.empty(0, np.bool_),
        event_offsets=start,
        time=integers,
        category=codes,
        stall=rows,
        duration=rows,
        row=rows,
        dependencies=no_dependencies(),
    )


def no_occupancy() -> WaveOccupancy:
    """The occupancy of a capture without occupancy.json."""
    rows, integers = np.empty(0, np.int32), np.empty(0, np.int64)
    flags = np.empty(0, np.bool_)
    return WaveOccupancy(integers, rows, rows, rows, rows, flags, rows, integers, {})
