"""The options of the commands that only read, and command lines of them that a case holds."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from wavescope.cli.dispatch import invocation
from wavescope.cli.main import main
from wavescope.errors import EXIT_OK

_INPUTS = {
    "info": ("trace.db",),
    "summary": ("trace.db",),
    "findings": ("trace.db",),
    "phases": ("trace.db",),
    "steps": ("trace.db",),
    "work": ("trace.db",),
    "flame": ("trace.db",),
    "report": ("trace.db",),
    "compare": ("trace.db", "trace.db"),
    "ranks": ("trace.db", "trace.db"),
    "query": ("trace.db", "SELECT 1"),
    "hotspots": ("capture",),
    "plan": ("capture",),
    "occupancy": ("capture",),
    "counters": ("workload",),
    "roofline": ("workload",),
    "traffic": ("workload",),
    "metrics": (),
}
_OF_OTHER_MACHINES = {"--scheduler", "--ssh", "--slurm"}
_OUTPUTS = {"output", "memory_chart", "workers"}
"""What is written, and processes, which are not what is looked at here."""


def options_of_commands(folder: Path) -> str:
    """By command, its inputs as JSON and the options that take a value."""
    found = {}
    for name, inputs in _INPUTS.items():
        given = [str(folder / each) for each in inputs]
        parser = invocation([name, *given]).parser()
        options = [action.option_strings[-1] for action in parser._actions if _takes_value(action)]
        found[name] = (inputs, options)
    return json.dumps(found)


def _takes_value(action: argparse.Action) -> bool:
    return (
        bool(action.option_strings)
        and action.nargs != 0
        and action.dest not in _OUTPUTS
        and not _OF_OTHER_MACHINES.intersection(action.option_strings)
    )


def run_command_line(folder: Path) -> int:
    """The exit code of the command whose words lie in `folder`, which is the current one then."""
    try:
        words = json.loads((folder / "words.json").read_bytes())
    except (ValueError, RecursionError):
        return EXIT_OK
    is_line = isinstance(words, list) and all(isinstance(word, str) for word in words)
    if not is_line or (words[:1] and words[0] not in _INPUTS):
        return EXIT_OK
    names = {name for inputs in _INPUTS.values() for name in inputs if " " not in name}
    return main([str(folder / word) if word in names else word for word in words])
