"""Output files that may be gzip-compressed while they are written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from isal import igzip


@contextmanager
def opened_output(path: Path, *, gzip: bool) -> Iterator[BinaryIO]:
    """`path` opened for writing; compressed when asked for or when its name ends in .gz."""
    with path.open("wb") as file:
        if not (gzip or path.name.endswith(".gz")):
            yield file
            return
        # No name and no time in the header: equal traces give equal files.
        packed = igzip.IGzipFile("", "wb", compresslevel=1, fileobj=file, mtime=0)  # type: ignore[no-untyped-call]
        with cast(BinaryIO, packed) as out:
            yield out
