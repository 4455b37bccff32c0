"""How each format is told by content; nothing of a format is imported to hear that it is not it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from wavescope.formats.sniff import Probe

_OWN_TABLES = frozenset(("rocpd_op", "wavescope_op", "wavescope_process"))
_OWN_PREFIX = "wavescope_"
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
_PERFETTO_FIRST_BYTE = b"\n"
"""The tag of a packet; a text may begin with it, too."""


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
_begins_with_packet = Deferred("perfetto.packet:begins_with_packet")


def is_wavescope_file(probe: Probe) -> bool:
    """Whether the tables are those of wavescope's own trace file."""
    return probe.sqlite_tables >= _OWN_TABLES


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
    header = probe.head.split(b"\n", 1)[0]
    is_csv = b"," in header and not header.startswith((b"{", b"["))
    return is_csv and _csv_kind(header) is not None


def is_rocprofv3_json(probe: Probe) -> bool:
    """Whether the text begins with the object that rocprofv3 writes."""
    return _ROCPROFV3_OPENING.match(probe.head) is not None


def is_perfetto(probe: Probe) -> bool:
    """Whether the file begins with a packet of Perfetto's."""
    return probe.head.startswith(_PERFETTO_FIRST_BYTE) and bool(_begins_with_packet(probe.head))


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
        or _has_table(probe, _OWN_PREFIX)
    )


def _has_table(probe: Probe, prefix: str) -> bool:
    return any(name.startswith(prefix) for name in probe.sqlite_tables)
