"""The closing words of commands that write a trace of a part of a recording."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

from wavescope.analyze.summary.coverage_sentence import coverage_sentence
from wavescope.cli.outputs import stdout_bytes, tell_file
from wavescope.cli.terminal import say
from wavescope.formats import open_trace
from wavescope.model.result import Result
from wavescope.render.json_text import write_json
from wavescope.units import count_text


@dataclass(frozen=True)
class RecordedPart:
    """A trace of a part of a recording."""

    path: Path
    words: str
    """What was recorded, for people."""
    pids: tuple[int, ...]
    window: tuple[int, int] | None
    """Begin and end in the trace's nanoseconds; None where all there is was meant."""
    notes: tuple[tuple[str, int], ...]


def tell_part(part: RecordedPart, arguments: argparse.Namespace) -> None:
    """Say on standard error what the trace holds; as JSON on standard output if asked."""
    with open_trace(part.path) as trace:
        result = Result("Recording")
        result.facts = {
            "path": str(part.path),
            "pids": ", ".join(map(str, part.pids)),
            "window_start_ns": part.window[0] if part.window else None,
            "window_end_ns": part.window[1] if part.window else None,
            "op_count": len(trace.ops),
            "marker_count": len(trace.markers),
            "call_count": len(trace.calls),
            "coverage": coverage_sentence(trace),
        }
    if arguments.json:
        write_json(result, stdout_bytes())
    if arguments.quiet:
        return
    say(part.words)
    say(f"coverage: {result.facts['coverage']}")
    for sentence, count in part.notes:
        say(f"{sentence}: {count_text(count)}" if count > 1 else sentence, label="note")
    tell_file(part.path, "wavescope")
