"""What a command reads: declared as arguments, and named in errors.

An argument that names something to read has an `Input` as its `type`. By that `cli.main` knows the
inputs of every command, and tells what cannot be read from what this machine lacks.
"""

from __future__ import annotations

import argparse
import errno
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import wavescope
from wavescope.cli.options import Arguments
from wavescope.errors import UnreadableInputError
from wavescope.units import duration_text

if TYPE_CHECKING:
    from wavescope.model.result import Value


@dataclass(frozen=True)
class Input:
    """The `type` of an argument that names something to read; `kind` is what errors call it."""

    kind: str

    def __call__(self, text: str) -> str:
        """The path as it was given."""
        return text


TRACE = Input("trace")
RANK_TRACES = Input("trace of a rank")
CAPTURE = Input("capture")
COUNTER_FOLDER = Input("counter folder")
COUNTER_FILE = Input("counter file")
METRICS_FILE = Input("file of metrics")
RULES_FILE = Input("file of rules")
SESSION_FOLDER = Input("session folder")
OVERHEAD_FILE = Input("saved measurement")
RESULT_FILE = Input("saved result")
DURATIONS_FILE = Input("file of durations")


PACKABLE = frozenset((TRACE, RANK_TRACES, CAPTURE, COUNTER_FOLDER, COUNTER_FILE))
"""Inputs that can be gzipped, or lie in archives."""


@dataclass(frozen=True)
class GivenInput:
    """An input that a command line names."""

    path: str
    kind: str

    def error_for(self, error: OSError) -> UnreadableInputError | None:
        """What `error` says about this input or a file in it; None where it is about another."""
        path = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else ""
        if not path or not self._holds(path):
            return None
        reasons = {
            errno.ENOENT: f"there is no such {self.kind}",
            errno.EISDIR: f"it is a folder, not a {self.kind}",
            errno.ENOTDIR: f"it is a file, not a {self.kind}",
        }
        reason = reasons.get(error.errno or 0, error.strerror or str(error))
        return UnreadableInputError(path, reason)

    def _holds(self, path: str) -> bool:
        """Whether `path` is this input, or a file that there is, or may be, in this folder."""
        mine, other = Path(self.path).absolute(), Path(path).absolute()
        if other == mine or mine not in other.parents:
            return other == mine
        return os.path.lexists(other) or not os.access(mine, os.X_OK)


def given_inputs(
    parser: argparse.ArgumentParser, arguments: argparse.Namespace
) -> list[GivenInput]:
    """Everything that `arguments` ask the command of `parser` to read."""
    return [
        GivenInput(path, action.type.kind)
        for action in parser._actions  # argparse has no public way to list them
        if isinstance(action.type, Input)
        for path in _flat(getattr(arguments, action.dest, None))
    ]


def _flat(value: object) -> Iterator[str]:
    """The texts of a value, a list of values, or a list of lists as repeated options make it."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _flat(each)


def add_trace_argument(parser: argparse.ArgumentParser, *, required: bool = True) -> None:
    """The trace to read."""
    parser.add_argument(
        "trace",
        metavar="TRACE",
        type=TRACE,
        nargs=None if required else "?",
        help="trace of any known format; it is never changed",
    )


def add_traces_argument(
    parser: argparse.ArgumentParser, meaning: str, *, required: bool = True
) -> None:
    """Several traces to read."""
    parser.add_argument(
        "traces", metavar="TRACE", type=TRACE, nargs="+" if required else "*", help=meaning
    )


def add_capture_argument(
    parser: argparse.ArgumentParser, meaning: str, *, required: bool = True
) -> None:
    """The thread-trace capture to read."""
    parser.add_argument(
        "capture",
        metavar="CAPTURE",
        type=CAPTURE,
        nargs=None if required else "?",
        help=meaning,
    )


def add_captures_argument(
    parser: argparse.ArgumentParser, meaning: str, *, count: int | None = None
) -> None:
    """Thread-trace captures to read: `count` of them, or one and more."""
    parser.add_argument(
        "captures", metavar="CAPTURE", type=CAPTURE, nargs=count or "+", help=meaning
    )


def add_counter_files_argument(parser: argparse.ArgumentParser, meaning: str) -> None:
    """Files with hardware counters to read."""
    parser.add_argument("files", metavar="FILE", type=COUNTER_FILE, nargs="+", help=meaning)


def add_rules_flag(group: Arguments, meaning: str, name: str = "--rules") -> None:
    """A file of the user's own rules."""
    group.add_argument(name, metavar="FILE", type=RULES_FILE, help=meaning)


def add_metrics_flag(group: Arguments, meaning: str) -> None:
    """Files of the user's own metrics."""
    group.add_argument(
        "--metrics", metavar="FILE", type=METRICS_FILE, action="append", default=[], help=meaning
    )


def category_rules(path: str | None) -> wavescope.CategoryRules | None:
    """The categories of the file of --rules, where one is given."""
    return wavescope.CategoryRules.from_document(wavescope.read_rules(path)) if path else None


def add_capture_flag(parser: Arguments) -> None:
    """`--capture FILE`, which may be repeated."""
    parser.add_argument(
        "--capture",
        metavar="FILE",
        type=TRACE,
        action="append",
        default=[],
        help="trace in which graphs were captured that this one replays: replayed kernels get "
        "their operators from there (may be repeated)",
    )


def add_counter_instances_flag(group: Arguments, meaning: str) -> None:
    """`--counter-instances`: hardware counters as rocprofv3's JSON has them, not their sums."""
    group.add_argument("--counter-instances", action="store_true", help=meaning)


def joined_text(facts: Mapping[str, Value]) -> str:
    """How much of the time of graph replays the given captures explain."""
    if "replayed_ns" not in facts:
        return "no kernel of this trace was launched by a graph: the captures say nothing of it"
    joined, replayed = (
        duration_text(int(facts[name] or 0)) for name in ("joined_graph_replay_ns", "replayed_ns")
    )
    return f"{joined} of {replayed} of graph replays fit a capture by order and kernel names"
