"""Looks at a path and tells what it is, by content and never by suffix.

Nothing of a format is imported to hear that it is not the one.
"""

from __future__ import annotations

import re
import stat
import zlib
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from wavescope.errors import UnreadableInputError
from wavescope.files import GZIP_MAGIC

HEAD_BYTES = 64 << 10
_GZIP_WINDOW_BITS = 31
_SQLITE_HEAD = b"SQLite"
_OWN_TABLES = frozenset(("rocpd_op", "wavescope_op", "wavescope_process"))
_OWN_PREFIX = "wavescope_"
_EXPORTED_RPD = "rocpd_stackframe"
"""A table that our files of rocmProfileData have and our own trace files have not."""
_ROCPD_PREFIX = "rocpd_kernel_dispatch"
_OLD_TABLES = frozenset(("rocpd_op", "rocpd_api"))
_ONLY_IN_RPD = frozenset(
    (
        "rocpd_ustring",
        "rocpd_counter",
        "rocpd_stackframe",
        "rocpd_barrierop",
        "rocpd_kernelcodeobject",
        "rocpd_op_inputSignals",
        "rocpd_hsaApi",
        "api",
        "op",
        "copyop",
        "ktop",
    )
)
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_ROCPROFV3_OPENING = re.compile(rb'\A(?:\xef\xbb\xbf)?\s*\{\s*"rocprofiler-sdk-tool"\s*:')
_CHROME_MEMBERS = (
    b'"traceEvents"',
    b'"schemaVersion"',
    b'"deviceProperties"',
    b'"distributedInfo"',
    b'"baseTimeNanoseconds"',
    b'"displayTimeUnit"',
)
_PROTOBUF_FIRST_BYTE = b"\n"
"""The tag of Perfetto's packets and of xplane's planes; a text may begin with it, too."""
_JSON_OPENING = re.compile(rb'\s*(?:\{\s*"|\[\s*\{)')
"""After a line's end, as PyTorch begins its traces; no packet or plane that is read is such."""


@dataclass(frozen=True)
class Probe:
    """What is known of a path before its format is."""

    path: Path
    head: bytes
    """The first bytes of the file, after gzip was undone; empty for a folder."""
    is_gzip: bool = False
    is_cut: bool = False
    """Whether gzip data ended before as much was read as is looked at."""
    is_folder: bool = False
    sqlite_tables: frozenset[str] = frozenset()
    """Names of tables when the file is an SQLite database."""
    siblings: tuple[Path, ...] = ()
    """Files of the folder, when the path is one."""


def probe(path: Path) -> Probe:
    """What can be known of `path` by looking at its first bytes; errors name what is wrong."""
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            return Probe(path, b"", is_folder=True, siblings=tuple(sorted(path.iterdir())))
        if not stat.S_ISREG(mode):
            raise UnreadableInputError(
                path,
                "it is not a regular file",
                hint="save the data to a file first: a trace is read more than once",
            )
        return _probe_file(path)
    except FileNotFoundError as error:
        raise UnreadableInputError(path, "there is no such file") from error
    except PermissionError as error:
        raise UnreadableInputError(
            path, "no permission to read it", hint="check its owner and mode with `ls -l`"
        ) from error
    except OSError as error:
        raise UnreadableInputError(path, error.strerror or str(error)) from error
    except ValueError as error:  # a NUL in the name
        raise UnreadableInputError(path, str(error)) from error


def _probe_file(path: Path) -> Probe:
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    if not head:
        raise UnreadableInputError(path, "the file is empty", hint="did the recording fail?")
    is_gzip, is_cut = head.startswith(GZIP_MAGIC), False
    if is_gzip:
        head, is_cut = _inflated_head(path)
    tables = _tables(path) if head.startswith(_SQLITE_HEAD) else frozenset()
    return Probe(path, head, is_gzip, is_cut, sqlite_tables=tables)


def _inflated_head(path: Path) -> tuple[bytes, bool]:
    """The first bytes after gzip is undone, and whether the data ended before there were enough."""
    head, packed, inflater = b"", b"", zlib.decompressobj(_GZIP_WINDOW_BITS)
    try:
        with path.open("rb") as file:
            while len(head) < HEAD_BYTES:
                packed = packed or file.read(HEAD_BYTES)
                if not packed:
                    return head, not inflater.eof
                if inflater.eof:  # zeros may follow, or another part
                    packed = packed.lstrip(b"\0")
                    if not packed.startswith(GZIP_MAGIC):
                        break
                    inflater = zlib.decompressobj(_GZIP_WINDOW_BITS)
                head += inflater.decompress(packed, HEAD_BYTES - len(head))
                packed = inflater.unused_data if inflater.eof else inflater.unconsumed_tail
    except zlib.error as error:
        raise UnreadableInputError(path, f"its gzip data is damaged ({error})") from error
    return head, False


def _tables(path: Path) -> frozenset[str]:
    from wavescope.formats.sqlite.sqlite_open import (  # noqa: PLC0415  most formats need no SQLite
        ReadOnlyDatabase,
        sqlite_errors,
    )

    with sqlite_errors(path):
        database = ReadOnlyDatabase(path)
        try:
            return database.tables()
        finally:
            database.close()


@dataclass(frozen=True)
class Deferred:
    """A function of a format, imported when it is called: `folder.module:function`."""

    place: str

    def __call__(self, *arguments: Any) -> Any:
        module, _, function = self.place.partition(":")
        return getattr(import_module(f"wavescope.formats.{module}"), function)(*arguments)


_has_records = Deferred("session.folder:has_records")
_csv_groups = Deferred("rocprofv3.csv_files:groups_in_folder")
_csv_kind = Deferred("rocprofv3.csv_files:kind_of_header")
_is_times_header = Deferred("rocprofv3.times_reader:is_times_header")
_begins_with_plane = Deferred("xplane.space:begins_with_plane")
_begins_with_packet = Deferred("perfetto.packet:begins_with_packet")


def is_wavescope_file(probe: Probe) -> bool:
    """Whether the tables are those of wavescope's own trace file, not of its other exports."""
    return probe.sqlite_tables >= _OWN_TABLES and _EXPORTED_RPD not in probe.sqlite_tables


def is_rocm_trace_lite(probe: Probe) -> bool:
    """Whether the tables are rocm-trace-lite's: those of the old dialect and no more."""
    return _is_old_dialect(probe) and _ONLY_IN_RPD.isdisjoint(probe.sqlite_tables)


def is_rpd(probe: Probe) -> bool:
    """Whether the tables are rocmProfileData's."""
    return _is_old_dialect(probe) and not _ONLY_IN_RPD.isdisjoint(probe.sqlite_tables)


def is_rocpd(probe: Probe) -> bool:
    """Whether the tables are those of rocpd's schema 3."""
    return _has_table(probe, _ROCPD_PREFIX) and not _has_table(probe, _OWN_PREFIX)


def is_session(probe: Probe) -> bool:
    """Whether collectors wrote into the folder."""
    return probe.is_folder and bool(_has_records(probe.siblings))


def is_rocprofv3_csv(probe: Probe) -> bool:
    """Whether the header, or that of a file in the folder, is one that rocprofv3 writes."""
    if probe.is_folder:
        return bool(_csv_groups(probe.path)[0])
    header = _csv_header(probe)
    return bool(header) and _csv_kind(header) is not None


def is_rocprof_times(probe: Probe) -> bool:
    """Whether the header is that of rocprof's timestamps.csv."""
    header = _csv_header(probe)
    return bool(header) and bool(_is_times_header(header))


def _csv_header(probe: Probe) -> bytes:
    """The first line of what may be a CSV file, empty where it is none."""
    header = probe.head.split(b"\n", 1)[0]
    is_csv = b"," in header and not header.startswith((b"{", b"["))
    return header if is_csv else b""


def is_rocprofv3_json(probe: Probe) -> bool:
    """Whether the text begins with the object that rocprofv3 writes."""
    return _ROCPROFV3_OPENING.match(probe.head) is not None


def is_xplane(probe: Probe) -> bool:
    """Whether the file begins with a plane of an XSpace."""
    return _may_be_protobuf(probe) and bool(_begins_with_plane(probe.head))


def is_perfetto(probe: Probe) -> bool:
    """Whether the file begins with a packet of Perfetto's."""
    return _may_be_protobuf(probe) and bool(_begins_with_packet(probe.head))


def _may_be_protobuf(probe: Probe) -> bool:
    is_tagged = probe.head.startswith(_PROTOBUF_FIRST_BYTE)
    return is_tagged and _JSON_OPENING.match(probe.head) is None


def is_chrome_json(probe: Probe) -> bool:
    """Whether the text begins as a list of events or as an object that holds one."""
    text = probe.head.removeprefix(_BYTE_ORDER_MARK).lstrip()
    if text.startswith(b"["):
        return b'"ph"' in text or not text[1:].strip(b" \t\r\n]{}")
    return text.startswith(b"{") and any(member in text for member in _CHROME_MEMBERS)


def _is_old_dialect(probe: Probe) -> bool:
    """Whether the tables are those of rocm-trace-lite or rocmProfileData."""
    return not (
        _OLD_TABLES.isdisjoint(probe.sqlite_tables)
        or _has_table(probe, _ROCPD_PREFIX)
        or (_has_table(probe, _OWN_PREFIX) and _EXPORTED_RPD not in probe.sqlite_tables)
    )


def _has_table(probe: Probe, prefix: str) -> bool:
    return any(name.startswith(prefix) for name in probe.sqlite_tables)
