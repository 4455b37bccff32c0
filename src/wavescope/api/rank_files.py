"""The files of a job's ranks: found in folders, by patterns of names, or as they are given."""

from __future__ import annotations

import enum
import glob
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from wavescope.api.rank_names import host_in_name, natural_key, ranks_in_names
from wavescope.errors import UnknownFormatError, UnreadableInputError, UsageError
from wavescope.formats import is_trace, open_source
from wavescope.model.paths import PathLike
from wavescope.patterns import compiled
from wavescope.units import count_text

MOST_FILES = 100_000
_WRITTEN_TRACES = (
    *(".json", ".json.gz", ".db", ".sqlite", ".rpd", ".pftrace", ".pftrace.gz"),
    *(".perfetto-trace", ".perfetto-trace.gz", ".pb", ".pb.gz", ".xplane", ".trace", ".trace.gz"),
)
"""Files of such names are meant to be traces, even if they are empty or damaged."""
_NEVER_TRACES = (
    *(".html", ".htm", ".log", ".txt", ".md", ".out", ".err", ".py", ".pyc", ".sh", ".toml"),
    *(".yaml", ".yml", ".png", ".jpg", ".svg", ".pdf", ".so", ".o", ".npy", ".npz", ".pt"),
    *(".pth", ".pkl", ".safetensors", ".bin", ".zip", ".tar", ".tgz", ".tar.gz", ".whl", ".lock"),
    *("-wal", "-shm", "-journal", ".tmp", ".part", ".html.gz", ".log.gz", ".parquet", ".arrow"),
)
_NOT_BY_NAME = "files that are no traces by their names"
_CSV = re.compile(r"\.csv(?:\.gz)?$", re.IGNORECASE)
_KERNEL_TRACE = re.compile(r"kernel_trace\.csv(?:\.gz)?$", re.IGNORECASE)
"""rocprofv3 writes one for each process, with others of the same prefix beside it."""
_RECORD = re.compile(r"\d+-\d+\.\w+")
"""What collectors call their files: by process and time."""
_NAME_THEM = "name the folder, or the files of all ranks"
PATTERN_HINT = r"for example --rank-pattern 'node(?P<host>\d+)/gpu(?P<rank>\d+)'"


class RankFrom(str, enum.Enum):
    """What tells the rank of a file before it is read."""

    NOTHING = ""
    PATTERN = "pattern"
    NAME = "name"


@dataclass(frozen=True)
class RankFile:
    """A file or folder that is the trace of a rank, or of several."""

    path: str
    rank: int | None = None
    host: str = ""
    rank_from: RankFrom = RankFrom.NOTHING
    problem: str = ""
    """Why it cannot be used, "" when nothing is known against it."""


@dataclass
class FoundFiles:
    """What was found, and how many other files were passed over for which reason."""

    files: list[RankFile] = field(default_factory=list)
    passed_over: Counter[str] = field(default_factory=Counter)

    @property
    def sentence(self) -> str:
        """What was passed over, "" for nothing."""
        told = [(reason, count) for reason, count in self.passed_over.items() if count]
        parts = [f"{reason} ({count_text(count)})" for reason, count in told]
        return f"passed over: {', '.join(parts)}" if parts else ""


def search_rank_files(given: Sequence[PathLike], pattern: str = "") -> FoundFiles:
    """The traces of any format in natural order, each once, with the ranks that names tell.

    Folders are searched to any depth; links in them are not followed. A folder whose files are one
    trace together is one input. Of what is found in folders only traces count, told by their
    content; what is named as a file counts in any case. `pattern` is a regular expression with a
    group `rank` (or just one group), and maybe `host`, that is looked for in the paths.
    UnreadableInputError where nothing is found.
    """
    expression = _compiled(pattern) if pattern else None
    found = FoundFiles()
    paths: dict[str, str] = {}
    for path in _all_paths(given, found.passed_over):
        paths.setdefault(os.path.realpath(path), path)
        if len(paths) > MOST_FILES:
            raise _too_many()
    if not paths:
        if not given:
            raise UsageError("no trace was given", hint=_NAME_THEM)
        raise UnreadableInputError(given[0], _no_traces(given), hint=found.sentence or _NAME_THEM)
    ordered = sorted(paths.values(), key=natural_key)
    if expression is None:
        found.files = _named(ordered)
    else:
        found.files = [_matched(path, expression) for path in ordered]
    return found


def _no_traces(given: Sequence[PathLike]) -> str:
    more = f", nor are there in {len(given) - 1} more paths" if len(given) > 1 else ""
    return f"there are no traces in it{more}"


def _named(paths: Sequence[str]) -> list[RankFile]:
    ranks = ranks_in_names(paths)
    return [
        RankFile(
            path,
            rank,
            host_in_name(path),
            RankFrom.NOTHING if rank is None else RankFrom.NAME,
        )
        for path, rank in zip(paths, ranks, strict=True)
    ]


def _matched(path: str, expression: re.Pattern[str]) -> RankFile:
    """A file with the rank that a user's pattern finds in its path."""
    found = expression.search(path)
    if found is None:
        return RankFile(path, problem=f"its path does not match {expression.pattern}")
    groups = found.groupdict()
    text = groups["rank"] if "rank" in groups else found.group(1)
    host = groups.get("host") or host_in_name(path)
    if text is None or not (text.isascii() and text.isdecimal() and len(text) < 10):
        return RankFile(path, host=host, problem=f"the rank in its path is no number: {text}")
    return RankFile(path, int(text), host, RankFrom.PATTERN)


def _compiled(pattern: str) -> re.Pattern[str]:
    expression = compiled(pattern, "--rank-pattern")
    if "rank" not in expression.groupindex and (expression.groups < 1 or expression.groupindex):
        raise UsageError(
            f"--rank-pattern {pattern} has no group that is the rank", hint=PATTERN_HINT
        )
    return expression


def _all_paths(given: Sequence[PathLike], passed_over: Counter[str]) -> Iterator[str]:
    for each in given:
        text = os.fspath(each)
        if os.path.lexists(text) or not glob.has_magic(text):
            yield from _of_path(text, passed_over)
            continue
        is_empty = True
        for match in glob.iglob(text, recursive=True):  # noqa: PTH207  Path takes no whole paths
            is_empty = False
            yield from _of_match(match, passed_over)
        if is_empty:
            raise UsageError(
                f"nothing matches {text}", hint="check the pattern with `ls`, without quotes"
            )


def _of_match(path: str, passed_over: Counter[str]) -> Iterator[str]:
    """What a pattern of names found: a file that is never a trace is not meant."""
    if path.lower().endswith(_NEVER_TRACES) and not Path(path).is_dir():
        passed_over[_NOT_BY_NAME] += 1
    else:
        yield from _of_path(path, passed_over)


def _of_path(path: str, passed_over: Counter[str]) -> Iterator[str]:
    """A file as it is; a folder if it is a trace, else all traces in it."""
    if not Path(path).is_dir():
        yield path
        return
    folders, seen_count = [path], 0
    while folders:
        folder = folders.pop()
        entries = _entries(folder, passed_over)
        seen_count += len(entries)
        if seen_count > MOST_FILES:
            raise _too_many()
        traces = _traces_of_folder(folder, entries)
        if traces:
            yield from traces
            continue
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.path)
            elif _is_trace_file(entry, passed_over):
                yield entry.path


def _entries(folder: str, passed_over: Counter[str]) -> list[os.DirEntry[str]]:
    """What is in a folder, without what is hidden and without links."""
    try:
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError:
        passed_over["folders that cannot be read"] += 1
        return []
    hidden = [entry for entry in entries if entry.name.startswith(".")]
    links = [entry for entry in entries if entry.is_symlink() and entry not in hidden]
    passed_over.update({"hidden files": len(hidden), "links": len(links)})
    left_out = {entry.name for entry in (*hidden, *links)}
    return [entry for entry in entries if entry.name not in left_out]


def _traces_of_folder(folder: str, entries: Sequence[os.DirEntry[str]]) -> list[str]:
    """The folder, if its files are one trace together, or one file for each set of them that is.

    Only its own files count: what lies further down may be other ranks.
    """
    names = [entry.name for entry in entries if entry.is_file(follow_symlinks=False)]
    is_possible = any(_CSV.search(name) or _RECORD.fullmatch(name) for name in names)
    if not is_possible or not _is_trace_folder(folder):
        return []
    kernels = [name for name in names if _KERNEL_TRACE.search(name)]
    if len(kernels) > 1:
        return [str(Path(folder, name)) for name in kernels]
    return [folder]


def _is_trace_file(entry: os.DirEntry[str], passed_over: Counter[str]) -> bool:
    """Whether a file is a trace by its content, or unreadable and by its name meant to be one."""
    name = entry.name.lower()
    if not entry.is_file(follow_symlinks=False):
        passed_over["pipes, sockets and devices"] += 1
        return False
    if name.endswith(_NEVER_TRACES):
        passed_over[_NOT_BY_NAME] += 1
        return False
    try:
        found = is_trace(entry.path)
        if not found and name.endswith(".gz"):
            # That it ends early is seen, and said, only when it is opened.
            open_source(entry.path).close()
    except UnknownFormatError:
        found = False
    except UnreadableInputError:
        found = name.endswith(_WRITTEN_TRACES)
    if not found:
        passed_over["files that are no traces by their content"] += 1
    return found


def _is_trace_folder(path: str) -> bool:
    try:
        return is_trace(Path(path))
    except UnreadableInputError:
        return False


def _too_many() -> UsageError:
    return UsageError(
        f"there are more than {MOST_FILES:,} files",
        hint="name a folder that has only the traces, or a pattern such as 'run/rank*.json.gz'",
    )
