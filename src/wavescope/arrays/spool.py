"""An unnamed temporary file that only grows: where rows go that do not fit in memory."""

from __future__ import annotations

import os
import tempfile

from wavescope.closing import Closing

_CLOSED = -1


class Spool(Closing):
    """Bytes kept at the offsets that `write` gave; the file is made at the first of them."""

    def __init__(self) -> None:
        self._descriptor: int | None = None
        self._end = 0

    def write(self, data: memoryview | bytes) -> int:
        """Append `data`; the offset where it lies."""
        if self._descriptor is None:
            with tempfile.TemporaryFile(prefix="wavescope-") as file:
                self._descriptor = os.dup(file.fileno())
        offset = self._end
        left = memoryview(data)
        while left:
            written = os.pwrite(self._descriptor, left, self._end)
            self._end += written
            left = left[written:]
        return offset

    def read(self, offset: int, size: int) -> bytes:
        """The `size` bytes at `offset`."""
        assert self._descriptor is not None
        parts: list[bytes] = []
        end = offset + size
        while offset < end:
            parts.append(os.pread(self._descriptor, end - offset, offset))
            offset += len(parts[-1])
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def close(self) -> None:
        descriptor, self._descriptor = self._descriptor, _CLOSED
        if descriptor not in (None, _CLOSED):
            os.close(descriptor)

    def __del__(self) -> None:
        self.close()
