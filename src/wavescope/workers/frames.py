"""Bytes with their length in front, which is how processes of the pool speak with each other."""

from __future__ import annotations

import os
import struct

_LENGTH = struct.Struct("<Q")
_READ_BYTES = 1 << 20


class ClosedError(Exception):
    """The other side has gone away."""


def send(descriptor: int, data: bytes) -> None:
    """Write `data` as one frame."""
    rest = memoryview(_LENGTH.pack(len(data)) + data)
    try:
        while rest:
            rest = rest[os.write(descriptor, rest) :]
    except BrokenPipeError as error:
        raise ClosedError from error


def received(descriptor: int) -> bytes:
    """The next frame, waited for."""
    length = _LENGTH.unpack(_exactly(descriptor, _LENGTH.size))[0]
    return _exactly(descriptor, length)


def _exactly(descriptor: int, size: int) -> bytes:
    parts = bytearray()
    while len(parts) < size:
        part = os.read(descriptor, min(size - len(parts), _READ_BYTES))
        if not part:
            raise ClosedError
        parts += part
    return bytes(parts)


class FrameReader:
    """Frames from a descriptor that does not block, as far as they have come."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._bytes = bytearray()

    def next(self) -> bytes | None:
        """One frame, None while it is not whole; the other side's end is an error then."""
        while (frame := self._whole()) is None:
            try:
                part = os.read(self._descriptor, _READ_BYTES)
            except BlockingIOError:
                return None
            if not part:
                raise ClosedError
            self._bytes += part
        return frame

    def _whole(self) -> bytes | None:
        start = _LENGTH.size
        if len(self._bytes) < start:
            return None
        end = start + _LENGTH.unpack_from(self._bytes)[0]
        if len(self._bytes) < end:
            return None
        frame = bytes(self._bytes[start:end])
        del self._bytes[:end]
        return frame
