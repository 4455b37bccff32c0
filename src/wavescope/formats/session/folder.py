"""A session folder: which processes recorded into it, their files, and what the recorder knows."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

import orjson

from wavescope.errors import UnreadableInputError
from wavescope.formats.session.layout import (
    BASE_NAME,
    CONTROL_SUFFIX,
    FACTS_SUFFIX,
    MAGIC,
    STREAMS,
    SUFFIXES,
)
from wavescope.formats.session.plain_file import DamagedStreamError, opened_plain, plain_bytes

SESSION_FACTS = "session.json"
KERNEL_FILTER = "kernel_filter"
"""The fact with the pattern of the kernels that the recording was asked for."""
RECENT_PART = "recent.json"
"""What of a recording is kept; see wavescope.collect.recent_part."""
INNER_RECORDERS = "inner_recorders.jsonl"
"""The traces of recorders that the program ran."""
RECENT_PART_DRAFT = f"{RECENT_PART}.new"
KEPT_NEWEST = "kept_newest"
"""The fact of a session whose processes drop their oldest records: how much of them is kept."""
DORMANT = "dormant"
"""The fact of a session that records only while somebody is attached."""
_WHO_WRITES_THEM = "`wavescope trace` writes such folders while it records"
_FACTS_HEAD = b'{"fact":'
_LARGEST_FACTS_BYTES = 1 << 20
_PROCESSES = Path("/proc")
_STATE, _STARTED = 0, 19
"""Places in /proc/PID/stat, counted from behind the name."""
_NS_PER_S = 1_000_000_000


def process_bases(names: Iterable[str]) -> list[str]:
    """The `<pid>-<start>` of every process that left data, the first to start first."""
    bases = set()
    for name in names:
        base, _, suffix = name.rpartition(".")
        if suffix in SUFFIXES and suffix != CONTROL_SUFFIX and BASE_NAME.fullmatch(base):
            bases.add(base)
    return sorted(bases, key=_start_and_pid)


def recorded_bases(folder: Path) -> list[str]:
    """As `process_bases`, of a folder that must have some."""
    try:
        bases = process_bases(path.name for path in folder.iterdir())
    except NotADirectoryError as error:
        raise UnreadableInputError(
            folder, "it is a file, not a session folder", hint=_WHO_WRITES_THEM
        ) from error
    except OSError as error:
        raise UnreadableInputError(folder, error.strerror or str(error)) from error
    if not bases:
        raise UnreadableInputError(folder, "no process left records in it", hint=_WHO_WRITES_THEM)
    return bases


def has_records(files: Iterable[Path]) -> bool:
    """Whether one of `files` is what a collector writes: told by name and by its first bytes."""
    for path in files:
        base, _, suffix = path.name.rpartition(".")
        if not BASE_NAME.fullmatch(base):
            continue
        heads = {FACTS_SUFFIX: _FACTS_HEAD, **{stream.suffix: MAGIC for stream in STREAMS}}
        if suffix in heads and _starts_with(path, heads[suffix]):
            return True
    return False


def files_of(folder: Path, names: Iterable[str]) -> list[Path]:
    """Those of `names` that collectors give to their files, as paths in `folder`."""
    found = []
    for name in names:
        base, _, suffix = name.rpartition(".")
        if suffix in SUFFIXES and BASE_NAME.fullmatch(base):
            found.append(folder / name)
    return found


def _starts_with(path: Path, head: bytes) -> bool:
    try:
        with opened_plain(path) as file:
            return os.read(file, len(head)) == head
    except (OSError, DamagedStreamError):
        return False


def _start_and_pid(base: str) -> tuple[int, int]:
    pid, _, start = base.partition("-")
    return int(start), int(pid)


def write_session_facts(folder: Path, facts: Mapping[str, str]) -> None:
    """Leave what the recorder knows beside the records; the reader makes it metadata.

    Command lines and folders may hold bytes that are not UTF-8; those become question marks.
    """
    texts = {key: value.encode("utf-8", "replace").decode() for key, value in facts.items()}
    (folder / SESSION_FACTS).write_bytes(orjson.dumps(texts))


def read_session_facts(folder: Path) -> dict[str, str]:
    """What the recorder left; nothing where it left nothing that can be read."""
    try:
        facts = orjson.loads(plain_bytes(folder / SESSION_FACTS, _LARGEST_FACTS_BYTES))
    except (OSError, DamagedStreamError, orjson.JSONDecodeError):
        return {}
    if not isinstance(facts, dict):
        return {}
    return {tag: value for tag, value in facts.items() if isinstance(value, str)}


def still_runs(base: str) -> bool:
    """Whether the process whose files begin with `base` lives and is the same program."""
    pid, _, start_ns = base.partition("-")
    return is_running(int(pid), int(start_ns), f"{base}.{FACTS_SUFFIX}")


def is_running(pid: int, start_ns: int, file_name: str) -> bool:
    """Whether the process that maps `file_name` since `start_ns` lives and is the same program.

    Neither a later process of the same number nor a program that the process became has it mapped.
    Of a process that may not be looked into, as one that changed its user, the start must do.
    """
    if not _has_lived_since(pid, start_ns):
        return False
    try:
        maps = (_PROCESSES / str(pid) / "maps").read_bytes()
    except PermissionError:
        return True
    except OSError:
        return False
    return b"/" + os.fsencode(file_name) in maps


def _has_lived_since(pid: int, start_ns: int) -> bool:
    """Whether the process was there then; one that ended and was not yet waited for is none."""
    try:
        text = (_PROCESSES / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return False
    fields = text.rpartition(")")[2].split()
    if len(fields) <= _STARTED or fields[_STATE] in {"Z", "X"}:
        return False
    started_ns = int(fields[_STARTED]) * _NS_PER_S // os.sysconf("SC_CLK_TCK")
    return started_ns <= start_ns
