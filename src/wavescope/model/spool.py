"""An unnamed temporary file that only grows: where rows go that do not fit in memory."""

from __future__ import annotations

import tempfile
from typing import IO

from wavescope.closing import Closing


class Spool(Closing):
    """Bytes kept at the offsets that `write` gave; the file is made at the first of them."""

    def __init__(self) -> None:
        self._file: IO[bytes] | None = None
        self._end = 0

    def write(self, data: memoryview | bytes) -> int:
        """Append `data`; the offset where it lies."""
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="wavescope-")  # noqa: SIM115  closed by close()
        offset = self._end
        self._file.seek(offset)
        self._file.write(data)
        self._end += len(data)
        return offset

    def read(self, offset: int, size: int) -> bytes:
        """The `size` bytes at `offset`."""
        assert self._file is not None
        self._file.seek(offset)
        return self._file.read(size)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def __del__(self) -> None:
        self.close()
