"""The closing words of a recording: top kernels, utilization, coverage, files, next commands."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from wavescope.api.recording import part_result, recording_result
from wavescope.cli.output_files import tell_file
from wavescope.cli.terminal import print_json, say, terminal_width, wants_color
from wavescope.model.paths import bytes_at
from wavescope.render.results.text import TextStyle, write_text
from wavescope.units import bytes_text, count_text

if TYPE_CHECKING:
    from pathlib import Path

    from wavescope.collect.recording import RecordedRun, Recording
    from wavescope.collect.windows import Attached, Snapshot


@dataclass(frozen=True)
class RecordingReport:
    """A program that ran, and what was recorded of it."""

    run: RecordedRun
    recording: Recording


def print_recording(report: RecordingReport, *, quiet: bool, as_json: bool) -> None:
    """Say on standard error what was recorded; as JSON on standard output if asked."""
    result = recording_result(report.recording)
    if as_json:
        print_json(result)
    print_left(report.recording.left_session)
    if quiet:
        return
    if result.tables:
        sys.stdout.flush()
        tables = replace(result, title="", facts={})
        write_text(tables, sys.stderr, TextStyle(terminal_width(), wants_color(sys.stderr)))
    if "sampled" in result.facts:
        say(f"sampled: {result.facts['sampled']}")
    say(f"coverage: {result.facts['coverage']}")
    print_notes(report.recording.notes)
    if report.recording.running:
        print_running(report.recording)
    _print_files(report)


def print_empty_recording(recording: Recording) -> None:
    """Say why there is no trace."""
    say(f"nothing was recorded ({recording.end.words}); no trace was written", label="note")
    print_left(recording.left_session)
    if recording.running:
        print_running(recording)
        return
    for reason in recording.empty_because:
        say(reason, label="note")
    say("`wavescope doctor` checks what recording needs", label="hint")


def print_left(session: Path | None) -> None:
    """Say where records are that somebody who is attached still needs, if there are any."""
    if session is None:
        return
    say_note(
        "a `wavescope attach` has not ended: it needs what it recorded, which stays in "
        f"{shlex.quote(str(session))} until it has written its trace"
    )
    say("`fg` in its shell continues one that was stopped with Ctrl-Z", label="hint")


def print_running(recording: Recording) -> None:
    """Say which processes go on, where they record, and how to get at that."""
    pids = ", ".join(str(pid) for pid in recording.running)
    session = shlex.quote(str(recording.kept_session))
    say(f"still running, and recorded into {session}: process {pids}", label="note")
    say(f"wavescope recover {session} makes a trace of all there is, now or later", label="hint")


def print_part(part: Attached | Snapshot, words: str, *, quiet: bool, as_json: bool) -> None:
    """Say what the trace of a part of a recording holds; as JSON on standard output if asked."""
    result = part_result(part)
    if as_json:
        print_json(result)
    if quiet:
        return
    say(words)
    say(f"coverage: {result.facts['coverage']}")
    print_notes(part.notes)
    tell_file(part.output, "wavescope")


def say_note(sentence: str) -> None:
    """One line that the user should know of, quiet or not."""
    say(sentence, label="note")


def print_notes(notes: tuple[tuple[str, int], ...]) -> None:
    """Say what a reader skipped or repaired."""
    for sentence, count in notes:
        say(f"{sentence}: {count_text(count)}" if count > 1 else sentence, label="note")


def _print_files(report: RecordingReport) -> None:
    output, timeline = report.run.options.output, report.run.options.timeline
    for path in (output, timeline, report.recording.kept_session):
        if path is not None:
            say(f"wrote {path} ({bytes_text(bytes_at(path))})")
    spelled = shlex.quote(str(output))
    say(f"next: wavescope summary {spelled}")
    if timeline is None:
        say(f"      wavescope convert {spelled}          # for https://ui.perfetto.dev")
    else:
        say(f"      open {timeline} at https://ui.perfetto.dev")
    if report.run.all_ranks:
        say(f"      wavescope merge {report.run.all_ranks} -o all.db          # all ranks in one")
