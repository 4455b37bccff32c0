"""Imports Perfetto protobuf traces, as our own exporter writes them.

Slices on queues become ops, those on threads calls and markers, flows become links. Of other
producers' files every slice on a track becomes a host call of the track's process, and a note says
so. What is damaged is skipped and counted; a file cut short is read up to there.
"""

from __future__ import annotations

import zlib
from functools import cached_property
from pathlib import Path

from wavescope.errors import UnreadableInputError
from wavescope.files import ByteStream
from wavescope.formats.perfetto.events import (
    EventLists,
    NativeEvents,
    Stop,
    TrackEvents,
)
from wavescope.formats.perfetto.packet import (
    LARGEST_PACKET_BYTES,
    PacketParts,
    Sequence,
    is_about_tracing,
    known_packet,
    packet_parts,
)
from wavescope.formats.perfetto.protobuf import (
    TRACE_PACKET,
    WAVESCOPE_DETAILS,
    Clock,
    Packet,
    SequenceFlag,
)
from wavescope.formats.perfetto.rows import RowResolver, SlicePairs
from wavescope.formats.perfetto.trace import PerfettoTrace
from wavescope.formats.perfetto.tracks import Tracks, json_object
from wavescope.formats.protobuf_wire import (
    LENGTH,
    DamagedMessageError,
    signed,
    varint_at,
)
from wavescope.model.builder import TraceBuilder
from wavescope.model.source import TraceSource
from wavescope.unpacking import Unpacking

FORMAT = "Perfetto"
_BLOCK_BYTES = 4 << 20
_ROWS_HELD = 1 << 15
_SHORT_RUN = 16
_SHORT_RUNS = 64


class _NoPacketError(Exception):
    """The bytes at a place are no field of a Perfetto trace."""


class PerfettoReader:
    """Reads one file into a builder."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._builder = TraceBuilder(str(path), FORMAT)
        self._tracks = Tracks()
        self._sequences: dict[int, Sequence] = {}
        self._resolver = RowResolver(self._builder, self._sequences, self._tracks)
        self._pairs = SlicePairs()
        self._trace = PerfettoTrace(self._builder, self._tracks)
        self._lists = EventLists()
        self._native: NativeEvents | None = NativeEvents()
        self._short_runs = 0
        self._recognised = 0

    @cached_property
    def _unpacking(self) -> Unpacking:
        return Unpacking(self._path, self._path.stat().st_size)

    def read(self) -> TraceSource:
        """The trace of the file."""
        rest = self._read_packets()
        self._flush()
        if not self._recognised:
            raise UnreadableInputError(self._path, "it holds no Perfetto packets")
        notes = self._builder.notes
        if rest:
            notes.add("the file ends within a packet: read up to there")
        notes.add("slices without an end were left out", self._pairs.begins_alone)
        notes.add("ends of slices without a beginning were left out", self._pairs.ends_alone)
        notes.add(
            "another producer's Perfetto file: every slice was read as a host call",
            int(self._trace.host_slices > 0),
        )
        self._trace.finish()
        return self._builder

    def _read_packets(self) -> bool:
        """Read all packets; whether the file ends within one."""
        data, position = b"", 0
        with ByteStream(self._path) as stream:
            while block := stream.read(max(_BLOCK_BYTES, len(data) - position)):
                data = data[position:] + block
                try:
                    position = self._consume(data)
                except _NoPacketError:
                    self._builder.notes.add("the file is damaged: read up to there")
                    return False
                if len(data) - position > LARGEST_PACKET_BYTES:
                    self._builder.notes.add("a packet is absurdly large: read up to there")
                    return False
            return stream.was_cut or position < len(data)

    def _consume(self, data: bytes, *, depth: int = 0) -> int:
        """Read the whole packets in `data`; where the first incomplete one begins."""
        position = 0
        while position < len(data):
            if self._native is not None:
                events, counters, position, stop = self._native.read(data, position)
                self._take_run(events, counters)
                if stop is Stop.FULL:
                    continue
                if position == len(data):
                    break
            following = self._field(data, position, depth)
            if following is None:
                return position
            position = following
        return position

    def _take_run(self, events: TrackEvents, counters: int) -> None:
        """Take events that were read natively; runs too short to be worth it end that way."""
        self._recognised += len(events) + counters
        if len(events):
            self._flush()
            self._add(events)
        self._short_runs = self._short_runs + 1 if 0 < len(events) < _SHORT_RUN else 0
        if self._short_runs > _SHORT_RUNS:
            self._native = None

    def _field(self, data: bytes, position: int, depth: int) -> int | None:
        """Read the field of the trace at `position`; where it ends, None when it is incomplete."""
        try:
            tag, start = varint_at(data, position, len(data))
            size, start = varint_at(data, start, len(data))
        except DamagedMessageError:
            if len(data) - position > 2 * 10:
                raise _NoPacketError from None
            return None
        if tag != TRACE_PACKET << 3 | LENGTH:
            raise _NoPacketError
        if size > LARGEST_PACKET_BYTES:
            raise _NoPacketError
        if size > len(data) - start:
            return None
        try:
            self._packet(packet_parts(memoryview(data)[start : start + size]), depth)
        except DamagedMessageError:
            self._builder.notes.add("damaged packets were skipped")
        return start + size

    def _packet(self, parts: PacketParts, depth: int) -> None:
        if known_packet(parts):
            self._recognised += 1
        elif not is_about_tracing(parts):
            self._builder.notes.add("packets of other kinds were skipped")
        sequence_id = signed(parts.numbers.get(Packet.TRUSTED_PACKET_SEQUENCE_ID, 0))
        sequence = self._sequences.setdefault(sequence_id, Sequence())
        self._update(sequence, parts)
        if Packet.TRACK_EVENT in parts.messages:
            self._event(parts, sequence, sequence_id)
        if Packet.COMPRESSED_PACKETS in parts.messages and depth == 0:
            inflated = _inflated(parts.messages[Packet.COMPRESSED_PACKETS])
            self._unpacking.add(len(inflated))
            try:
                self._consume(inflated, depth=1)
            except _NoPacketError:
                raise DamagedMessageError from None

    def _update(self, sequence: Sequence, parts: PacketParts) -> None:
        """Take in what later packets refer to."""
        cleared = parts.numbers.get(Packet.SEQUENCE_FLAGS, 0) & (
            SequenceFlag.INCREMENTAL_STATE_CLEARED
        )
        interned = parts.messages.get(Packet.INTERNED_DATA)
        if cleared or (interned is not None and sequence.redefines(interned)):
            self._flush()
        if cleared:
            sequence.clear()
        if interned is not None:
            sequence.define(interned)
        if Packet.TRACE_PACKET_DEFAULTS in parts.messages:
            sequence.set_defaults(parts.messages[Packet.TRACE_PACKET_DEFAULTS])
            # The native reader knows neither default tracks nor default clocks.
            self._native = None
        if Packet.CLOCK_SNAPSHOT in parts.messages:
            sequence.set_clocks(parts.messages[Packet.CLOCK_SNAPSHOT])
        details = (
            json_object(parts.messages[WAVESCOPE_DETAILS])
            if WAVESCOPE_DETAILS in parts.messages
            else None
        )
        if Packet.TRACK_DESCRIPTOR in parts.messages:
            self._tracks.describe(parts.messages[Packet.TRACK_DESCRIPTOR], details)
        elif details is not None:
            self._trace.take_details(details)

    def _event(self, parts: PacketParts, sequence: Sequence, sequence_id: int) -> None:
        timestamp = parts.numbers.get(Packet.TIMESTAMP, 0)
        clock = parts.numbers.get(Packet.TIMESTAMP_CLOCK_ID, sequence.default_clock)
        if clock in sequence.clocks:
            timestamp = sequence.clocks[clock].time_ns(timestamp)
        elif clock >= Clock.FIRST_OF_SEQUENCE:
            self._builder.notes.add("events of an unknown clock were skipped")
            return
        event = parts.messages[Packet.TRACK_EVENT]
        self._lists.add(event, signed(timestamp), sequence_id, sequence.default_track)
        if len(self._lists) >= _ROWS_HELD:
            self._flush()

    def _flush(self) -> None:
        """Pass on the events that were read in Python, before what they refer to changes."""
        if len(self._lists):
            self._add(self._lists.take())

    def _add(self, events: TrackEvents) -> None:
        self._trace.add(self._pairs.add(events, self._resolver.rows(events)))


def _inflated(packed: memoryview) -> bytes:
    """Packets that were compressed into one; DamagedMessageError when they are not whole."""
    inflater = zlib.decompressobj()
    try:
        data = inflater.decompress(packed, LARGEST_PACKET_BYTES)
    except zlib.error:
        raise DamagedMessageError from None
    if inflater.unconsumed_tail:
        raise DamagedMessageError
    return data


def open_perfetto(path: Path) -> TraceSource:
    """The trace in a Perfetto file."""
    return PerfettoReader(path).read()
