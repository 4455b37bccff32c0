"""What our own exports of Chrome JSON say beyond what the format has words for.

A member `wavescope` of the file holds the small tables; the names of processes and threads come
with what their track stands for; `kind` in the args of an event says what it is where its category
and name would not. Viewers and other tools pass over all three.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from wavescope.arrays import Array
from wavescope.files import ByteStream
from wavescope.formats.carried_tables import CarriedTables
from wavescope.formats.chrome.categories import ROLES, Role, op_type
from wavescope.formats.chrome.event_batch import OWN_ARGUMENTS, EventBatch, EventRows, json_object
from wavescope.formats.numbered_markers import NumberedMarkers, payload_bits
from wavescope.model.builder import TraceBuilder
from wavescope.model.columns import MARKER_UNCLOSED, UNKNOWN

if TYPE_CHECKING:
    from wavescope.formats.chrome.processes import TextCodes
    from wavescope.formats.timeline import EventBody

_GENERATOR = b'"generator":"wavescope '
_HEAD_BYTES = 4096

MEMBER = "wavescope"
"""The top-level member with the tables, and the argument of names with what tracks stand for."""
NOTES_MEMBER = "wavescope notes"
"""The last member of a file: what was noted of the trace while it was written."""

CALL, MARKER, UNSTATED_MARKER = "call", "marker", "marker without a category"
"""Kinds of events on threads whose category is none of their kind."""
DEFAULT_CATEGORIES = {"op": "op", "call": "call", "marker": "user_annotation"}
_ROLES_OF_CALLS = (Role.CALL, Role.LAUNCH_CALL, Role.BY_PROCESS)
_ROLES_OF_MARKERS = (Role.MARKER, Role.GPU_MARKER)


def stated_kind(event: EventBody, shown_category: str) -> str:
    """The kind that an event must state; empty where its category and name tell enough."""
    own_category = event.category
    role = ROLES.get(shown_category, Role.BY_PROCESS)
    if event.group == "op":
        name = str(dict(event.arguments).get("full_name", event.name))
        return "" if op_type(shown_category, name, "") == own_category else own_category
    if event.group == "marker":
        if not own_category:
            return UNSTATED_MARKER
        return "" if role in _ROLES_OF_MARKERS else MARKER
    is_told = role in _ROLES_OF_CALLS and own_category != DEFAULT_CATEGORIES["call"]
    return "" if is_told else CALL


def is_own_export(path: Path) -> bool:
    """Whether the file begins as our own exporter begins it."""
    with ByteStream(path) as stream:
        return _GENERATOR in stream.read(_HEAD_BYTES)


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
        kinds = texts.strings[rows["kind"]]
        on_queue = self.place("is_queue", rows) > 0
        is_marker = np.isin(roles, _ROLES_OF_MARKERS) & (kinds != self._code(CALL))
        is_marker |= np.isin(kinds, [self._code(MARKER), self._code(UNSTATED_MARKER)])
        is_call = np.isin(roles, (Role.CALL, Role.LAUNCH_CALL))
        host = np.where(is_marker, Role.MARKER, np.where(is_call, roles, Role.CALL))
        return np.where(on_queue, Role.OP, host).astype(np.int8)

    def op_columns(self, rows: EventRows) -> dict[str, Array]:
        """Columns of ops that only our own exports state."""
        stated = {name: rows[name] for name in OWN_ARGUMENTS if not name.endswith("_id")}
        return {
            **stated,
            "gpu": self.place("gpu", rows),
            "queue": self.place("queue", rows),
            "kernel": self.tables.kernels(stated["kernel"]),
            "sequence": np.maximum(stated["sequence"], 0),
        }

    def submitters(self, rows: EventRows) -> npt.NDArray[np.int64]:
        """Process and thread that submitted each op, one below the other."""
        return np.stack((self.tables.processes(rows["process_id"]), rows["thread_id"]))

    def host_columns(self, rows: EventRows, texts: TextCodes) -> dict[str, Array]:
        """Columns of calls and markers as they were in the trace that was exported."""
        category, kinds = texts.strings[rows["category"]], texts.strings[rows["kind"]]
        unstated = (category == self._code(DEFAULT_CATEGORIES["call"])) & (
            kinds != self._code(CALL)
        )
        unstated |= kinds == self._code(UNSTATED_MARKER)
        return {
            "category": np.where(unstated, UNKNOWN, category),
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

    def _code(self, text: str) -> int:
        return self._builder.strings.code(text)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def whole_number(value: object) -> int:
    """A number of the file, UNKNOWN where it is none that fits."""
    return value if type(value) is int and abs(value) < 1 << 62 else UNKNOWN
