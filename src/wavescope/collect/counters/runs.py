"""Runs the passes of a collection one after the other, and says in the end what came of them."""

from __future__ import annotations

import shlex
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from wavescope.collect.counters.pc_sampling_run import PcSampling, run_pc_sampling
from wavescope.collect.counters.rocprofv3_passes import (
    PassEnd,
    PassRequest,
    run_multiplexed,
    run_pass,
)
from wavescope.collect.counters.workload_folder import ProfileLog, WorkloadRecord
from wavescope.errors import UsageError
from wavescope.model.counters import CounterPass
from wavescope.model.progress import Tell
from wavescope.model.result import (
    ColumnOf,
    Finding,
    Result,
    ResultColumn,
    Severity,
    Unit,
    Value,
    table_of,
)
from wavescope.units import NS_PER, duration_text

_BAR_WIDTH = 20


class CounterRuns(NamedTuple):
    """What the runs of one collection share; `record` is saved after each of them."""

    rocprofv3: Path
    request: PassRequest
    record: WorkloadRecord
    tell: Tell
    """Told how far it is."""
    note: Tell
    """Told what is worth knowing in any case."""

    def one_by_one(self, passes: list[CounterPass]) -> list[PassEnd]:
        """Run the program once for each pass, until it is interrupted."""
        began_ns = time.monotonic_ns()
        ends: list[PassEnd] = []
        for number, each in enumerate(passes):
            spent_ns = time.monotonic_ns() - began_ns
            self.tell(pass_line(number, len(passes), each.name, spent_ns))
            ends.append(run_pass(self.request, self.rocprofv3, each.name, each.counters))
            self._note(each.counters, ends[-1])
            if ends[-1].interrupted:
                self.note(
                    "interrupted: `wavescope counters collect --resume` goes on with the rest"
                )
                break
        if passes:
            spent_ns = max(NS_PER["ms"], time.monotonic_ns() - began_ns)
            self.tell(f"collected in {duration_text(spent_ns)}")
        return ends

    def at_once(self, passes: list[CounterPass], policy: str) -> list[PassEnd]:
        """Run the program once for all passes, whose counters take turns."""
        if self.record.passes:
            raise UsageError(
                f"{self.request.folder} holds counters already",
                hint="multiplexed counters cannot be added to others: use another name, or --force",
            )
        groups = [each.counters for each in passes]
        self.tell(f"one run, {len(groups)} groups of counters in turn")
        end = run_multiplexed(self.request, self.rocprofv3, "pmc_perf_0", groups, policy)
        self._note([counter for group in groups for counter in group], end)
        return [end]

    def sampled(self, how: PcSampling) -> PassEnd:
        """Run the program once, sampling its program counters."""
        self.tell(f"sampling program counters, {how.method}")
        folder, command = self.request.folder, self.request.command
        end = run_pc_sampling(self.rocprofv3, folder, how, command)
        self.record.samples = {}
        if end.is_complete:
            self.record.samples = {"method": how.method, "interval": how.interval}
        self.record.save(folder)
        return end

    def _note(self, counters: list[str] | tuple[str, ...], end: PassEnd) -> None:
        self.record.note(counters, end)
        self.record.save(self.request.folder)


def pass_line(done: int, total: int, name: str, spent_ns: int) -> str:
    """How far the passes are, drawn as a bar, and how long the rest may take.

    It is a line for each pass and no bar that moves, because the program writes in between.
    """
    full = done * _BAR_WIDTH // total
    left = f", about {duration_text(spent_ns // done * (total - done))} left" if done else ""
    bar = "#" * full + "-" * (_BAR_WIDTH - full)
    return f"[{bar}] pass {done + 1} of {total}: {name}{left}"


_COLUMNS: tuple[ColumnOf[PassEnd], ...] = (
    ResultColumn("pass", "Pass", Unit.NAME, "and the file its counters are in").of(
        lambda end: end.name
    ),
    ResultColumn("dispatches", "Dispatches", Unit.COUNT, "that were counted").of(
        lambda end: end.dispatches
    ),
    ResultColumn("processes", "Processes", Unit.COUNT, "that launched them").of(
        lambda end: end.processes
    ),
    ResultColumn("counters", "Counters", Unit.COUNT, "that were read").of(
        lambda end: len(end.counters)
    ),
    ResultColumn("missing", "Missing", Unit.COUNT, "counters asked for and not reported").of(
        lambda end: len(end.missing)
    ),
    ResultColumn("outcome", "Outcome", Unit.NONE, "how the pass ended").of(lambda end: end.outcome),
)


def collection_result(folder: Path, ends: Sequence[PassEnd], notes: Sequence[str]) -> Result:
    """A row for each run, and a finding for each thing that is to be known of the counters."""
    facts: dict[str, Value] = {
        "path": str(folder),
        "passes": len(ends),
        "next": f"wavescope counters -p {shlex.quote(str(folder))}",
    }
    if not all(end.is_complete for end in ends):
        facts["unfinished"] = "the same command again runs what is missing"
    passes = table_of("passes", "Passes", _COLUMNS, ends)
    return Result("Profile", [passes], [_finding(note) for note in notes], facts)


def _finding(note: str) -> Finding:
    """A note reads 'what it is about: what is the matter'."""
    title, _, evidence = note.partition(": ")
    return Finding("profile-note", Severity.WARNING, title, evidence)


def write_down(log: ProfileLog, ends: Sequence[PassEnd], result: Result) -> None:
    """Add how the runs ended and what was found to the workload's log."""
    for each in ends:
        log.add(f"{each.name}: {each.dispatches} dispatches, {each.outcome}")
    for finding in result.findings:
        log.add(f"note: {finding.title}: {finding.evidence}")
