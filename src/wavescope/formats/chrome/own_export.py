"""What our own exports of Chrome JSON say beyond what the format has words for.

A member `wavescope` of the file holds the small tables; the names of processes and threads come
with what their track stands for; `kind` in the args of an event says what it is where its category
and name would not. Viewers and other tools pass over all three.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from wavescope.arrays import Array
from wavescope.formats.carried_tables import CarriedTables
from wavescope.formats.chrome.categories import OP_CATEGORIES, ROLES, Role, op_type
from wavescope.formats.chrome.event_batch import (
    ID_NUMBER,
    OWN_ARGUMENTS,
    EventBatch,
    EventRows,
    json_object,
    whole_number,
)
from wavescope.formats.chrome.links import (
    FLOW_END,
    FLOW_START,
    KeyedLinks,
    Mask,
    OpCauses,
    has_key,
)
from wavescope.formats.numbered_markers import NumberedMarkers, payload_bits
from wavescope.model.builder import TraceBuilder
from wavescope.model.columns import MARKER_UNCLOSED, OPS, UNKNOWN, Column, ColumnType

if TYPE_CHECKING:
    from wavescope.formats.timeline import EventBody

_LARGEST_INT32 = (1 << 31) - 1
_COMPLETE_PHASE = ord("X")
_TRACK = ("process", "thread", "start_ns")

DEFAULT_CATEGORIES = {"op": "op", "call": "call", "marker": "user_annotation"}
_ROLES_OF_CALLS = (Role.CALL, Role.LAUNCH_CALL, Role.BY_PROCESS)
_ROLES_OF_MARKERS = (Role.MARKER, Role.GPU_MARKER)


class _Kind(enum.IntEnum):
    """What the kind of an event says it is; its category or type follows in the text."""

    UNSTATED = 0
    MARKER = 1
    CALL = 2
    UNNAMED_OP = 3
    OP = 4


_WORDS = {_Kind.MARKER: "marker of ", _Kind.CALL: "call of ", _Kind.UNNAMED_OP: "unnamed "}


def shown_category(event: EventBody, category: str) -> str:
    """The category to show: calls and markers are never shown as an op."""
    if not category or (event.group != "op" and category in OP_CATEGORIES):
        return DEFAULT_CATEGORIES[event.group]
    return category


def stated_kind(event: EventBody, shown: str) -> str:
    """The kind that an event must state; empty where its shown category and name tell enough."""
    if event.group == "op":
        return _kind_of_op(event, shown)
    is_marker = event.group == "marker"
    roles = _ROLES_OF_MARKERS if is_marker else _ROLES_OF_CALLS
    is_told = ROLES.get(shown, Role.BY_PROCESS) in roles and shown == event.category
    if not is_marker and not event.category:
        is_told = True
    elif event.category == DEFAULT_CATEGORIES["call"]:
        is_told = False
    return "" if is_told else _WORDS[_Kind.MARKER if is_marker else _Kind.CALL] + event.category


def _kind_of_op(event: EventBody, shown: str) -> str:
    full_name = dict(event.arguments).get("full_name")
    name = str(full_name or event.name)
    if full_name is None and name == event.category:  # an op without a name, shown by its type
        is_told = op_type(shown, name, "") == event.category
        return "" if is_told else _WORDS[_Kind.UNNAMED_OP] + event.category
    is_told = op_type(shown, name, "") == event.category != name
    return "" if is_told else event.category


class TextCodes(Protocol):
    """What the codes of texts mean, as arrays by code."""

    strings: npt.NDArray[np.int32]
    roles: npt.NDArray[np.int8]


_PLACE = ("process", "pid", "thread", "gpu", "queue", "is_queue")


class OwnExport:
    """What an export of our own says of its events.

    Every track has a thread number of its own, which tells what it stands for.
    """

    def __init__(self, builder: TraceBuilder, member: object) -> None:
        self._builder = builder
        self.tables = CarriedTables(builder)
        self.markers = NumberedMarkers(builder)
        pieces = member.get("tables") if isinstance(member, dict) else None
        for piece in pieces if isinstance(pieces, list) else [None]:
            self.tables.take(piece)
        self._columns: dict[str, npt.NDArray[np.int64]] = {}
        self._tracks: tuple[int, int] = (0, 0)

    def learn(self, keys: Sequence[str], tracks: Mapping[str, Mapping[str, object]]) -> None:
        """Follow the keys of threads, and what is known of tracks by key."""
        if self._tracks == (len(keys), len(tracks)):
            return
        self._tracks = (len(keys), len(tracks))
        places = [tracks.get(key, {}) for key in keys]
        for name in _PLACE:
            values = [
                int(place.get("track") == "queue")
                if name == "is_queue"
                else whole_number(place.get(name))
                for place in places
            ]
            self._columns[name] = np.array([*values, UNKNOWN], np.int64)
        self._columns["process"] = self.tables.processes(self._columns["process"])
        self._columns["is_told"] = np.array([*(bool(place) for place in places), False], np.int64)

    def tells_tracks(self, batch: EventBatch) -> bool:
        """Whether it is known what the tracks of all slices and marks stand for."""
        rows = np.isin(batch["phase"], (ord("X"), ord("i")))
        return bool(np.all(self._columns["is_told"][batch["thread"][rows]]))

    def place(self, name: str, rows: EventRows | EventBatch) -> npt.NDArray[np.int64]:
        """What the tracks of events stand for: `name` is a process, thread, gpu, queue, ..."""
        column: npt.NDArray[np.int64] = self._columns[name][rows["thread"]]
        return column

    def pids(self, rows: EventRows) -> npt.NDArray[np.int64]:
        """The pid of each event: that of its process, or what is known instead of a process."""
        process = self.place("process", rows)
        known = np.array([*self.tables.pids, UNKNOWN], np.int64)
        return np.where(process >= 0, known[process], self.place("pid", rows))

    def roles(self, rows: EventRows | EventBatch, texts: TextCodes) -> npt.NDArray[np.int8]:
        """What each event is: told by its track, by its kind, else by its category."""
        roles = texts.roles[rows["category"]]
        kinds, _ = self._kinds(rows, texts)
        is_marker = np.isin(roles, _ROLES_OF_MARKERS) & (kinds != _Kind.CALL)
        is_marker |= kinds == _Kind.MARKER
        is_call = np.isin(roles, (Role.CALL, Role.LAUNCH_CALL))
        host = np.where(is_marker, Role.MARKER, np.where(is_call, roles, Role.CALL))
        on_queue = self.place("is_queue", rows) > 0
        return np.where(on_queue, Role.OP, host).astype(np.int8)

    def op_names(
        self, rows: EventRows, texts: TextCodes, names: Array, types: Array
    ) -> dict[str, Array]:
        """Names and types of ops; `types` are what category and name tell."""
        kinds, meanings = self._kinds(rows, texts)
        is_stated = (kinds == _Kind.OP) | (kinds == _Kind.UNNAMED_OP)
        types = np.where(is_stated, meanings, types)
        is_unnamed = (kinds == _Kind.UNNAMED_OP) | (~is_stated & (names == types))
        return {"name": np.where(is_unnamed, UNKNOWN, names), "type": types}

    def _kinds(
        self, rows: EventRows | EventBatch, texts: TextCodes
    ) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.int32]]:
        """The kind of each event, and the code of the category or type that it states."""
        codes = rows["kind"]
        kinds, meanings = np.zeros(len(codes), np.int8), np.full(len(codes), UNKNOWN, np.int32)
        stated = np.flatnonzero(codes >= 0)
        if len(stated):
            distinct, places = np.unique(codes[stated], return_inverse=True)
            strings = texts.strings[distinct].tolist()
            told = np.array([self._kind(code) for code in strings], np.int32)[places.reshape(-1)]
            kinds[stated], meanings[stated] = told[:, 0], told[:, 1]
        return kinds, meanings

    def _kind(self, code: int) -> tuple[int, int]:
        strings = self._builder.strings
        text = strings[code]
        for kind, words in _WORDS.items():
            if text.startswith(words):
                meaning = text.removeprefix(words)
                return kind, strings.code(meaning) if meaning else UNKNOWN
        return _Kind.OP, code

    def op_columns(self, rows: EventRows) -> dict[str, Array]:
        """Columns of ops that only our own exports state."""
        columns = {name: rows[name] for name in OWN_ARGUMENTS if not name.endswith("_id")}
        columns |= {name: self.place(name, rows) for name in ("gpu", "queue")}
        for axis in "xyz":
            columns[f"grid_{axis}"] = rows[f"grid_{axis}"]
            columns[f"workgroup_{axis}"] = rows[f"block_{axis}"]
        columns["kernel"] = self.tables.kernels(columns["kernel"])
        columns["sequence"] = np.maximum(columns["sequence"], 0)
        return {name: _fitting(OPS.column(name), values) for name, values in columns.items()}

    def submitters(self, rows: EventRows) -> npt.NDArray[np.int64]:
        """Process and thread that submitted each op, one below the other."""
        return np.stack((self.tables.processes(rows["process_id"]), rows["thread_id"]))

    def host_columns(self, rows: EventRows, texts: TextCodes) -> dict[str, Array]:
        """Columns of calls and markers as they were in the trace that was exported."""
        category = texts.strings[rows["category"]]
        unstated = category == self._builder.strings.find(DEFAULT_CATEGORIES["call"])
        kinds, meanings = self._kinds(rows, texts)
        is_stated = (kinds == _Kind.CALL) | (kinds == _Kind.MARKER)
        return {
            "category": np.where(is_stated, meanings, np.where(unstated, UNKNOWN, category)),
            "process": self.place("process", rows),
            "thread": self.place("thread", rows),
        }

    def marker_columns(self, flags: Array, args: Array) -> dict[str, Array]:
        """Columns that only our own exports state of markers, in their args."""
        strings = self._builder.strings
        stated = [json_object(text) for text in self._builder.texts(args)]
        texts = {
            name: strings.codes([_text(each.get(name)) for each in stated])
            for name in ("type", "domain", "subcategory")
        }
        unclosed = np.array([each.get("unclosed") == 1 for each in stated], bool)
        bits = [payload_bits(_text(each.get("payload"))) for each in stated]
        return {
            **texts,
            "flags": flags | unclosed * MARKER_UNCLOSED,
            "payload": np.array(bits, np.int64).view(np.float64),
        }


def _fitting(column: Column, values: Array) -> Array:
    """Numbers of the file that fit the column; others are unknown."""
    if column.type is not ColumnType.INT32:
        return values
    return np.where(np.abs(values) <= _LARGEST_INT32, values, UNKNOWN)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


class SliceArrows:
    """Arrows that follow directly after the slice at their end."""

    def __init__(self, links: KeyedLinks) -> None:
        self._links = links
        self._last = dict.fromkeys(("call", "op", "name", *_TRACK), UNKNOWN)
        """The last slice of the batch before."""

    def add(self, batch: EventBatch, call: Array, op: Array) -> Mask:
        """Take the arrows at slices; which events of the batch they are.

        `call` and `op` are the ids that the events became, UNKNOWN for what they are not.
        """
        phase = batch["phase"]
        before = np.arange(1, batch.rows + 1)
        before = np.maximum.accumulate(np.where(phase == _COMPLETE_PHASE, before, 0))
        slices = {"call": call, "op": op, **{name: batch[name] for name in ("name", *_TRACK)}}
        slices = {
            name: np.concatenate(([self._last[name]], values)) for name, values in slices.items()
        }
        self._last = {name: int(values[before[-1]]) for name, values in slices.items()}
        is_arrow = (batch["id_kind"] == ID_NUMBER) & has_key(batch["id"])
        for name in _TRACK:
            is_arrow &= slices[name][before] == batch[name]
        starts = np.flatnonzero(is_arrow & (phase == FLOW_START) & (slices["call"][before] >= 0))
        ends = np.flatnonzero(is_arrow & (phase == FLOW_END) & (slices["op"][before] >= 0))
        cause = OpCauses(
            *(slices[name][before[starts]] for name in ("call", "name", "process", "thread"))
        )
        self._links.add_calls(batch["id"][starts], np.zeros(len(starts), np.int8), cause)
        self._links.add_ops(batch["id"][ends], slices["op"][before[ends]])
        taken = np.zeros(batch.rows, np.bool_)
        taken[starts] = taken[ends] = True
        return taken
