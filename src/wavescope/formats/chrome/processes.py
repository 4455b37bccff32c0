"""What codes of Chrome trace events mean: processes, threads, GPUs and queues, names and roles.

A pid or tid may be a number or a string. A number stands for itself; a string that spells a number
does so too unless the file uses that number as well; every other string gets a number below any
real one.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from wavescope.arrays import Array
from wavescope.formats.chrome.categories import ROLES, Role, api_of_call, launch_preference
from wavescope.formats.chrome.event_batch import (
    OWN_MEMBER,
    EventBatch,
    EventRows,
    EventTables,
    json_object,
    json_value,
)
from wavescope.formats.chrome.events import EventFile
from wavescope.model.builder import TraceBuilder
from wavescope.model.columns import UNKNOWN
from wavescope.model.progress import Notes

if TYPE_CHECKING:
    from wavescope.formats.chrome.own_export import OwnExport
    from wavescope.formats.chrome.xla_events import XlaEvents

METADATA_PHASE = ord("M")

_GPU_NAME = re.compile(r"GPU ?(\d{1,6})\b|/device:GPU:(\d{1,6})$", re.IGNORECASE)
_XLA_GPU = "/device:GPU:"
_FIRST_INVENTED = -(1 << 40)
_INT64_LIMIT = 1 << 63
_UNNUMBERED = -2
_FIRST_RENUMBERED = 1000
_UNKNOWN_PROCESS = "unknown process"
_KINETO_SPANS = frozenset({"sSpans", "sTraces", "s"})
"""Where Kineto puts its own spans and marks, which belong to no process."""


class Writer(enum.Enum):
    """Which tool wrote a file."""

    OTHER = enum.auto()
    KINETO = enum.auto()
    WAVESCOPE = enum.auto()


class KeyNumbers:
    """The number that stands for each process or thread key; see the module's text."""

    def __init__(self) -> None:
        self._numbers: list[int] = []
        self._taken: set[int] = set()
        self._invented = _FIRST_INVENTED
        self._array: npt.NDArray[np.int64] = np.array([UNKNOWN], np.int64)

    def extend(self, keys: Sequence[str]) -> npt.NDArray[np.int64]:
        """Numbers of all `keys`, indexed by code; code -1 gives UNKNOWN."""
        if len(keys) > len(self._numbers):
            self._numbers += [self._number(key) for key in keys[len(self._numbers) :]]
            self._array = np.array([*self._numbers, UNKNOWN], np.int64)
        return self._array

    def _number(self, key: str) -> int:
        text = key[1:]
        if len(text) <= 20 and re.fullmatch(r"-?[0-9]+", text):
            number = int(text)
            if -_INT64_LIMIT <= number < _INT64_LIMIT and number not in self._taken:
                self._taken.add(number)
                return number
        while self._invented in self._taken:
            self._invented -= 1
        self._taken.add(self._invented)
        return self._invented


class MetadataNames:
    """What the file's metadata events call processes and threads, by key."""

    def __init__(self) -> None:
        self.is_complete = False
        """Whether the whole file has been looked at."""
        self.processes: dict[str, str] = {}
        self.labels: dict[str, str] = {}
        self.threads: dict[tuple[str, str], str] = {}
        self.own_tracks: dict[str, dict[str, Any]] = {}
        """What threads of our own exports stand for, see `own_export`."""
        self._gpus: dict[str, int] = {}
        self._taken: set[int] = set()
        self._next_gpu = _FIRST_RENUMBERED

    def read_all(self, path: Path) -> None:
        """Take in the names given anywhere in the file: a pass of its own over it."""
        file = EventFile(path)
        for batch in file.batches():
            self.learn(batch, file.tables)
        self.is_complete = True

    def learn(self, batch: EventBatch, tables: EventTables) -> None:
        """Take in the metadata events of `batch`."""
        rows = np.flatnonzero(batch["phase"] == METADATA_PHASE)
        if not len(rows):
            return
        ends = batch["args_end"]
        for row in rows.tolist():
            name_code, process_code = int(batch["name"][row]), int(batch["process"][row])
            if name_code < 0 or process_code < 0:
                continue
            text = batch.args[int(ends[row - 1]) if row else 0 : int(ends[row])]
            process, thread_code = tables.keys[process_code], int(batch["thread"][row])
            thread = tables.keys[thread_code] if thread_code >= 0 else ""
            self._note(tables.texts[name_code], process, thread, json_object(text))

    def _note(self, event: str, process: str, thread: str, args: dict[str, Any]) -> None:
        if event == "process_name":
            self.processes[process] = str(args.get("name", ""))
        elif event == "process_labels":
            self.labels[process] = str(args.get("labels", ""))
        elif event == "thread_name":
            self.threads[process, thread] = str(args.get("name", ""))
            details = args.get(OWN_MEMBER)
            if isinstance(details, dict):
                self.own_tracks[thread] = details

    @property
    def has_xla_gpus(self) -> bool:
        """Whether a process is named as JAX and TensorFlow name GPUs."""
        return any(name.startswith(_XLA_GPU) for name in self.processes.values())

    def gpu(self, process: str) -> int:
        """The GPU that a process key is named after, UNKNOWN for host processes."""
        if process not in self._gpus:
            self._gpus[process] = self._named_gpu(process)
        return self._gpus[process]

    def _named_gpu(self, process: str) -> int:
        for names in (self.processes, self.labels):
            match = _GPU_NAME.match(names.get(process, ""))
            if match:
                number = int(match[1] or match[2])
                # Two processes of one name are two GPUs: of different hosts, for example.
                while number in self._taken:
                    number = self._next_gpu
                    self._next_gpu += 1
                self._taken.add(number)
                return number
        return UNKNOWN


class Processes:
    """Numbers host processes in order of appearance, from 0.

    Kineto writes pid 0 or -1 where it does not know the process: that is process 0 too, the one
    that was profiled. Its bookkeeping spans belong to no process, nor does what our own exporter
    shows under an unknown one.
    """

    def __init__(self, names: MetadataNames) -> None:
        self.writer = Writer.OTHER
        self._names = names
        self.codes: list[int] = []
        """Key codes of the processes, by process id."""
        self._ids: npt.NDArray[np.int32] = np.array([UNKNOWN], np.int32)

    def ids(self, keys: Sequence[str], used: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        """Process ids of the key codes `used`, numbering new ones."""
        self._extend(keys)
        new = used[self._ids[used] == _UNNUMBERED]
        for code in dict.fromkeys(new.tolist()):
            self._ids[code] = self._new_id(code, keys[code])
        ids: npt.NDArray[np.int32] = self._ids[used]
        return ids

    def by_code(self, keys: Sequence[str]) -> npt.NDArray[np.int32]:
        """The process id of every key code, UNKNOWN for those that are no numbered process."""
        self._extend(keys)
        ids: npt.NDArray[np.int32] = np.maximum(self._ids, UNKNOWN)
        return ids

    def _extend(self, keys: Sequence[str]) -> None:
        missing = len(keys) + 1 - len(self._ids)
        if missing > 0:
            added = np.full(missing, _UNNUMBERED, np.int32)
            self._ids = np.concatenate((self._ids[:-1], added, self._ids[-1:]))

    def _new_id(self, code: int, key: str) -> int:
        is_kineto = self.writer is Writer.KINETO
        is_own = self.writer is Writer.WAVESCOPE
        if is_kineto and key in {"n0", "n-1"}:
            return 0
        if is_kineto and key in _KINETO_SPANS:
            return UNKNOWN
        if is_own and self._names.processes.get(key) == _UNKNOWN_PROCESS:
            return UNKNOWN
        self.codes.append(code)
        return len(self.codes) - 1


_KINETO_MEMBERS = frozenset({"schemaVersion", "deviceProperties"})


class TextCodes:
    """What the codes of texts mean, as arrays by code; index -1 stands for no text."""

    def __init__(self, builder: TraceBuilder) -> None:
        self._strings = builder.strings
        self.strings: npt.NDArray[np.int32] = np.array([UNKNOWN], np.int32)
        """Codes of the trace's own string table."""
        self.roles: npt.NDArray[np.int8] = np.array([Role.BY_PROCESS], np.int8)
        self.preferences: npt.NDArray[np.int8] = np.array([launch_preference("")], np.int8)
        self.domains: npt.NDArray[np.int32] = np.array([UNKNOWN], np.int32)

    def extend(self, texts: Sequence[str]) -> None:
        """Bring the arrays up to `texts`."""
        new = texts[len(self.strings) - 1 :]
        if new:
            self.strings = _inserted(self.strings, self._strings.codes(new))
            self.roles = _inserted(self.roles, [ROLES.get(text, Role.BY_PROCESS) for text in new])
            self.preferences = _inserted(self.preferences, list(map(launch_preference, new)))
            self.domains = _inserted(self.domains, list(map(self._domain_code, new)))

    def _domain_code(self, call: str) -> int:
        domain = api_of_call(call)
        return self._strings.code(domain) if domain else UNKNOWN


class Reading:
    """One import: input tables, output builder, and what codes of the input mean so far."""

    def __init__(self, path: Path, tables: EventTables, builder: TraceBuilder) -> None:
        self.path = path
        self.tables = tables
        self.builder = builder
        self.texts = TextCodes(builder)
        self.names = MetadataNames()
        self.processes = Processes(self.names)
        self.base_ns = 0
        """To be added to the times of our own exports, which are relative to their first event."""
        self.xla: XlaEvents | None = None
        """What JAX and TensorFlow write in a way of their own, if the file is one of theirs."""
        self.own: OwnExport | None = None
        """What an export of our own says of itself, if the file is one."""
        self._has_begun = False
        self._numbers = KeyNumbers()
        self._gpus: npt.NDArray[np.int64] = np.array([UNKNOWN], np.int64)

    @property
    def writer(self) -> Writer:
        """Which tool wrote the file, as far as its head tells."""
        return self.processes.writer

    @property
    def notes(self) -> Notes:
        return self.builder.notes

    @property
    def numbers(self) -> npt.NDArray[np.int64]:
        """Process and thread numbers by key code."""
        return self._numbers.extend(self.tables.keys)

    @property
    def gpus(self) -> npt.NDArray[np.int64]:
        """The GPU each process key is named after, by key code; UNKNOWN for host processes."""
        if not self.names.is_complete and self.writer is not Writer.WAVESCOPE:
            # In other files than our own, names may come after the events they explain.
            self.names.read_all(self.path)
            if self.writer is Writer.OTHER and self.names.has_xla_gpus:
                # Few files are of that kind.
                from wavescope.formats.chrome.xla_events import XlaEvents  # noqa: PLC0415

                self.xla = XlaEvents(self.tables, self.names.threads, self.builder)
        new = self.tables.keys[len(self._gpus) - 1 :]
        if new:
            self._gpus = _inserted(self._gpus, list(map(self.names.gpu, new)))
        return self._gpus

    def update(self) -> None:
        """Follow the tables, which have grown by a batch."""
        self.texts.extend(self.tables.texts)
        metadata = self.tables.metadata
        if not _KINETO_MEMBERS.isdisjoint(metadata):
            self.processes.writer = Writer.KINETO
        elif metadata.get("generator", "").startswith('"wavescope '):
            self.processes.writer = Writer.WAVESCOPE
            self.base_ns = _integer(metadata.get("baseTimeNanoseconds", "0"))
            if OWN_MEMBER in metadata and self.own is None:
                self._take_own(metadata[OWN_MEMBER])
        self._has_begun = True

    def _take_own(self, member: str) -> None:
        if self._has_begun:
            # Some events were read without knowing what their tracks stand for.
            self.notes.set("tables of wavescope that came after the first events were left out", 1)
        else:
            # Most files are another tool's.
            from wavescope.formats.chrome.own_export import OwnExport  # noqa: PLC0415

            self.own = OwnExport(self.builder, json_value(member))

    def learn(self, batch: EventBatch) -> None:
        """Take in what a batch says of processes and threads."""
        self.names.learn(batch, self.tables)
        if self.own is not None:
            self.own.learn(self.tables.keys, self.names.own_tracks)
            if not (self.own.tells_tracks(batch) or self.names.is_complete):
                # Somebody has put the events in another order.
                self.names.read_all(self.path)
                self.own.learn(self.tables.keys, self.names.own_tracks)

    def roles(self, rows: EventRows | EventBatch) -> npt.NDArray[np.int8]:
        """What each event is."""
        if self.own is not None:
            return self.own.roles(rows, self.texts)
        roles: npt.NDArray[np.int8] = self.texts.roles[rows["category"]]
        return roles

    def times(self, rows: EventRows) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Starts and ends of `rows`; ends that lie before the start are moved to it, and noted."""
        start_ns = rows["start_ns"] + self.base_ns
        end_ns = start_ns + rows["duration_ns"]
        is_reversed = end_ns < start_ns
        if is_reversed.any():
            self.notes.add(
                "events ended before they began: their end is set to the start", is_reversed.sum()
            )
            end_ns = np.maximum(start_ns, end_ns)
        return start_ns, end_ns


def _inserted(table: npt.NDArray[np.integer], added: Sequence[int] | Array) -> Array:
    """`table` with `added` before its last element."""
    return np.concatenate((table[:-1], np.asarray(added, table.dtype), table[-1:]))


def _integer(text: str) -> int:
    value = json_value(text)
    return value if isinstance(value, int) and abs(value) < _INT64_LIMIT else 0
