"""All commands in their groups, and how a command line finds the one it means.

Only the module of the chosen command is imported. Where a command takes inputs of several kinds,
each kind has a module with arguments of its own; `cli.dispatch` chooses by content.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from wavescope.errors import UsageError
from wavescope.model.paths import InputKind

if TYPE_CHECKING:
    from wavescope.cli.command import Command


@dataclass(frozen=True)
class CommandEntry:
    """A row of the command table: what `wavescope --help` says without importing the command."""

    name: str
    module: str
    summary: str
    aliases: tuple[str, ...] = ()
    """Names of the tools that wavescope takes the place of, and earlier ones of its own."""
    forms: Mapping[InputKind, CommandEntry] = field(default_factory=dict)
    """What does the same for inputs that are not what this entry's own module reads."""
    instead: Mapping[InputKind, str] = field(default_factory=dict)
    """The command that comes nearest for inputs that no form reads; else `SHOWN_ALONE` does."""

    @property
    def names(self) -> tuple[str, ...]:
        """Everything it may be called."""
        return (self.name, *self.aliases)


_REPORT = CommandEntry(
    "report",
    "report",
    "one page for the browser: findings, timeline, kernels, phases",
    forms={
        InputKind.CAPTURE: CommandEntry(
            "report", "report_capture", "plan, code with heat, waves over time", ("report-att",)
        ),
        InputKind.COUNTERS: CommandEntry("report", "report_counters", "metric panels and charts"),
    },
)
_COMPARE = CommandEntry(
    "compare",
    "compare",
    "what changed between runs, and is it slower?",
    forms={
        InputKind.CAPTURE: CommandEntry(
            "compare",
            "compare_captures",
            "what changed between two captures of a kernel",
            ("diff-att",),
        ),
        InputKind.COUNTERS: CommandEntry(
            "compare", "analyze", "metrics next to those of the baseline"
        ),
    },
)
_INFO = CommandEntry(
    "info",
    "info",
    "what a file holds: time span, GPUs, processes, tables",
    forms={
        InputKind.CAPTURE: CommandEntry("info", "info_capture", "kernel, dispatch, stall, waves"),
        InputKind.COUNTERS: CommandEntry("info", "info_counters", "kernels and dispatches"),
    },
)
_SUMMARY = CommandEntry("summary", "summary", "where the time goes: kernels, gaps, copies")
_HOTSPOTS = CommandEntry(
    "hotspots", "hotspots", "where a kernel stalls: instructions and source lines"
)
_COUNTERS = CommandEntry(
    "counters", "analyze", "metrics from hardware counters, in panels", ("analyze",)
)

GROUPS: Mapping[str, tuple[CommandEntry, ...]] = {
    "Record": (
        CommandEntry("trace", "trace", "run a program and record what its GPUs do"),
        CommandEntry(
            "counters collect",
            "profile",
            "run a program and collect hardware counters of its kernels",
            ("profile",),
        ),
        CommandEntry(
            "capture",
            "capture",
            "run a program and trace the instructions of a kernel",
            ("capture-att",),
        ),
        CommandEntry("run", "run", "run a program that you can attach to and record later"),
        CommandEntry("attach", "attach", "record some seconds of a program started with `run`"),
        CommandEntry(
            "snapshot", "snapshot", "write a trace of what a running recording has so far"
        ),
        CommandEntry("pause", "pause", "pause a running recording", ("stop",)),
        CommandEntry(
            "resume",
            "resume",
            "resume a paused recording, or begin one that started paused",
            ("start",),
        ),
        CommandEntry(
            "recover", "recover", "make a trace of what an interrupted recording left behind"
        ),
    ),
    "Look": (
        _INFO,
        _SUMMARY,
        CommandEntry(
            "findings",
            "findings",
            "what is worth changing, with evidence",
            ("analyze-trace",),
            instead={InputKind.CAPTURE: "plan"},
        ),
        CommandEntry("phases", "phases", "what each phase did: prefill, decode, ..."),
        CommandEntry("work", "work", "how near to the GPU's peak operators run: FLOPs, bytes"),
        CommandEntry("flame", "flame", "where time goes by stack: Python, modules, operators"),
        CommandEntry("steps", "steps", "how long each step takes, with or without markers"),
        CommandEntry("view", "view", "the whole trace in a browser, exact at every zoom"),
        _REPORT,
        _COMPARE,
        CommandEntry("ranks", "ranks", "many ranks: who is late and why, collectives, clocks"),
        CommandEntry("query", "query", "run SQL on a trace, read-only"),
    ),
    "Kernel": (
        _HOTSPOTS,
        CommandEntry(
            "plan",
            "plan",
            "what to change in a kernel, and the most it can gain",
            instead={InputKind.TRACE: "findings"},
        ),
        CommandEntry("occupancy", "occupancy", "how many waves of a kernel run at once, and why"),
    ),
    "Counters": (
        _COUNTERS,
        CommandEntry("metrics", "metrics", "the metrics of a chip: meanings and formulas"),
        CommandEntry("roofline", "roofline", "how close kernels come to the limits of the chip"),
        CommandEntry("traffic", "traffic", "how kernels use L2 and memory"),
        CommandEntry("ceilings", "ceilings", "measure how fast this GPU can be"),
    ),
    "Files": (
        CommandEntry("convert", "convert", "write a trace for other tools", ("export",)),
        CommandEntry("merge", "merge", "combine the traces of several processes or ranks"),
        CommandEntry("trim", "trim", "keep a part of a trace: time, marker, GPU, process"),
    ),
    "Machine": (
        CommandEntry(
            "doctor", "doctor", "what works on this machine, and how to get what is missing"
        ),
        CommandEntry("demo", "demo", "a tour: record and analyse LLM inference, no GPU needed"),
        CommandEntry("softgpu", "softgpu", "run a ROCm program without a GPU"),
        CommandEntry("overhead", "overhead", "measure what recording costs a program"),
        CommandEntry("completion", "completion", "completion of commands for bash, zsh and fish"),
    ),
}
COMMANDS = tuple(entry for entries in GROUPS.values() for entry in entries)
SHOWN_ALONE = {
    InputKind.TRACE: _SUMMARY,
    InputKind.CAPTURE: _HOTSPOTS,
    InputKind.COUNTERS: _COUNTERS,
}
"""What `wavescope FILE_OR_FOLDER` shows of it."""


def entry_for(name: str) -> CommandEntry:
    """The row of the command called `name`, or a usage error that offers the nearest one."""
    for entry in _all_entries():
        if name in entry.names:
            return entry
    import difflib  # noqa: PLC0415  slow to import, and only for mistakes

    names = [entry.name for entry in COMMANDS]
    aliases = [alias for entry in _all_entries() for alias in entry.aliases]
    near = difflib.get_close_matches(name, names, 1) or difflib.get_close_matches(name, aliases, 1)
    hint = f"did you mean `wavescope {near[0]}`?" if near else "`wavescope --help` lists them"
    raise UsageError(f"there is no command '{name}'", hint=hint)


def _all_entries() -> Iterator[CommandEntry]:
    """Every command, and then what has an old name of its own."""
    yield from COMMANDS
    for entry in COMMANDS:
        yield from entry.forms.values()


def command_of(entry: CommandEntry) -> Command:
    """The command itself, imported now."""
    command: Command = importlib.import_module(f"wavescope.cli.{entry.module}").COMMAND
    return command


def nearest_command(name: str, kind: InputKind) -> str:
    """The command to use where the one called `name` is given an input of another `kind`."""
    called = next((entry for entry in COMMANDS if name in entry.names), None)
    alone = SHOWN_ALONE[kind].name
    return called.instead.get(kind, alone) if called is not None else alone


def split_name(words: Sequence[str]) -> tuple[str, list[str]]:
    """The command's name, which may be two words, and its arguments."""
    two = " ".join(words[:2])
    if any(two == entry.name for entry in COMMANDS if " " in entry.name):
        return two, list(words[2:])
    return words[0], list(words[1:])


def help_text() -> str:
    """What `wavescope --help` prints."""
    group_width = max(map(len, GROUPS))
    name_width = max(len(entry.name) for entry in COMMANDS)
    rows = [
        f"{group if not at else '':<{group_width}}  {entry.name:<{name_width}}  {entry.summary}"
        for group, entries in GROUPS.items()
        for at, entry in enumerate(entries)
    ]
    return (
        "usage: wavescope COMMAND ...       do one of what follows; --help, --version\n"
        "       wavescope FILE_OR_FOLDER    show a trace, a capture or counters\n\n"
        + "\n".join(rows)
        + "\n\n"
        "`wavescope COMMAND --help` explains a command, with examples. Every command has --json.\n"
        "exit codes: 0 success, 1 a check failed, 2 wrong usage, 3 unreadable input, 4 something\n"
        "is missing here, 5 inconclusive; `wavescope trace` and `run` exit with the program's own\n"
    )
