"""The bytes of files whatever their format, packed with gzip or not.

What fails while reading becomes a clear error.
"""

from __future__ import annotations

import stat
from pathlib import Path
from typing import IO, cast

from isal import isal_zlib
from isal.igzip_lib import IsalError

from wavescope.closing import Closing
from wavescope.errors import UnreadableInputError
from wavescope.unpacking import Unpacking

GZIP_MAGIC = b"\x1f\x8b"
_GZIP_WINDOW_BITS = 31
_BLOCK_BYTES = 1 << 20
_GzipError = cast("type[Exception]", IsalError)


class ByteStream(Closing):
    """The bytes of a regular file; `was_cut` tells that gzip data ended early."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.was_cut = False
        self._file = _opened(path)
        self._packed = b""
        self._inflater = None
        if self._file.read(2) == GZIP_MAGIC:
            self._inflater = isal_zlib.decompressobj(_GZIP_WINDOW_BITS)
            self._unpacking = Unpacking(path, path.stat().st_size)
        self._file.seek(0)

    def read(self, size: int) -> bytes:
        """The next `size` bytes, fewer only at the end."""
        parts: list[bytes] = []
        while size > 0:
            part = self._read_some(size)
            if not part:
                break
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def close(self) -> None:
        self._file.close()

    def _read_some(self, size: int) -> bytes:
        try:
            return self._file.read(size) if self._inflater is None else self._inflate(size)
        except OSError as error:
            raise UnreadableInputError(self.path, error.strerror or str(error)) from error
        except _GzipError as error:
            raise UnreadableInputError(
                self.path, f"damaged gzip data: {error}", hint="was it copied completely?"
            ) from error

    def _inflate(self, size: int) -> bytes:
        assert self._inflater is not None
        while True:
            if not self._packed:
                self._packed = self._file.read(_BLOCK_BYTES)
            if not self._packed:
                self.was_cut |= not self._inflater.eof
                return b""
            if self._inflater.eof:
                self._packed = self._packed.lstrip(b"\0")
                if not self._packed.startswith(GZIP_MAGIC):
                    return b""
                self._inflater = isal_zlib.decompressobj(_GZIP_WINDOW_BITS)
            # Never more than was asked for: a small file may inflate to a huge one.
            data: bytes = self._inflater.decompress(self._packed, size)
            ended = self._inflater.eof
            self._packed = self._inflater.unused_data if ended else self._inflater.unconsumed_tail
            if data:
                self._unpacking.add(len(data))
                return data


def _opened(path: Path) -> IO[bytes]:
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise UnreadableInputError(path, "it is not a regular file")
        return path.open("rb")
    except OSError as error:
        raise UnreadableInputError(path, error.strerror or str(error)) from error
