"""What `wavescope profile` shows in the end, and writes down in the workload's log."""

from __future__ import annotations

import shlex
from pathlib import Path

from wavescope.collect.counters.profile_log import ProfileLog
from wavescope.collect.counters.rocprofv3_passes import PassEnd
from wavescope.model.result import Finding, Result, ResultColumn, ResultTable, Severity, Unit

_COLUMNS = (
    ResultColumn("pass", "Pass", Unit.NAME, "and the file its counters are in"),
    ResultColumn("dispatches", "Dispatches", Unit.COUNT, "that were counted"),
    ResultColumn("processes", "Processes", Unit.COUNT, "that launched them"),
    ResultColumn("counters", "Counters", Unit.COUNT, "that were read"),
    ResultColumn("missing", "Missing", Unit.COUNT, "counters asked for and not reported"),
    ResultColumn("outcome", "Outcome", Unit.NONE, "how the pass ended"),
)


def profile_result(folder: Path, ends: list[PassEnd], notes: list[str]) -> Result:
    """A row for each run, and a finding for each thing that is to be known of the counters."""
    rows = [
        (
            each.name,
            each.dispatches,
            each.processes,
            len(each.counters),
            len(each.missing),
            each.outcome,
        )
        for each in ends
    ]
    result = Result("Profile", [ResultTable("passes", "Passes", _COLUMNS, list(rows))])
    result.facts = {
        "path": str(folder),
        "passes": len(ends),
        "next": f"wavescope analyze -p {shlex.quote(str(folder))}",
    }
    if not all(end.is_complete for end in ends):
        result.facts["unfinished"] = "the same command again runs what is missing"
    result.findings = [_finding(note) for note in notes]
    return result


def _finding(note: str) -> Finding:
    """A note reads 'what it is about: what is the matter'."""
    title, _, evidence = note.partition(": ")
    return Finding("profile-note", Severity.WARNING, title, evidence)


def write_down(log: ProfileLog, ends: list[PassEnd], result: Result) -> None:
    """Add how the runs ended and what was found to the workload's log."""
    for each in ends:
        log.add(f"{each.name}: {each.dispatches} dispatches, {each.outcome}")
    for finding in result.findings:
        log.add(f"note: {finding.title}: {finding.evidence}")
