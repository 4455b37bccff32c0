"""Runs the passes of a collection one after the other, and says in the end what came of them."""

from __future__ import annotations

import os
import shlex
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from wavescope.collect.counters.extra_counters import Group, groups_that_fit
from wavescope.collect.counters.rocprofv3_passes import (
    PassEnd,
    PassRequest,
    run_multiplexed,
    run_pass,
    write_multiplexing,
)
from wavescope.collect.counters.workload_folder import ProfileLog, WorkloadRecord
from wavescope.collect.launcher import launch
from wavescope.collect.patience import Patience, patience_for
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
from wavescope.model.workload_layout import PC_SAMPLE_FILES, PC_SAMPLE_JSON
from wavescope.units import NS_PER, duration_text

_BAR_WIDTH = 20
_SAMPLING = "pc_sampling"
_PREFIX = "ps_file"
_STOCHASTIC, _HOST_TRAP = "stochastic", "host_trap"
_STOCHASTIC_CHIPS = ("gfx940", "gfx941", "gfx942", "gfx950")
_DEFAULT_INTERVAL = {_STOCHASTIC: 1 << 20, _HOST_TRAP: 512}
_UNIT = {_STOCHASTIC: "cycles", _HOST_TRAP: "time"}
_LEAST_CYCLES = 1 << 16


@dataclass(frozen=True)
class PcSampling:
    """How samples are taken: every so many cycles by the hardware, or microseconds by the host."""

    method: str
    interval: int

    def __post_init__(self) -> None:
        cycles = self.interval
        if self.method == _STOCHASTIC and (cycles < _LEAST_CYCLES or cycles & (cycles - 1)):
            raise UsageError(
                f"{cycles} cycles cannot be an interval of stochastic sampling",
                hint=f"--pc-sampling-interval takes a power of two from {_LEAST_CYCLES} on",
            )

    @property
    def options(self) -> list[str]:
        """rocprofv3's options for it."""
        how = ["--pc-sampling-method", self.method, "--pc-sampling-unit", _UNIT[self.method]]
        return ["--pc-sampling-beta-enabled", *how, "--pc-sampling-interval", str(self.interval)]


def is_sampled(samples: Mapping[str, str | int], method: str, interval: int) -> bool:
    """Whether samples that are there are what is asked for; 0 and an empty text ask for nothing."""
    asked = {"method": method, "interval": interval}
    return bool(samples) and all(
        samples.get(name) == value for name, value in asked.items() if value
    )


def pc_sampling(chip: str, method: str = "", interval: int = 0) -> PcSampling:
    """What was asked for, and for the rest what suits the chip: older ones are sampled by host."""
    method = method or (_STOCHASTIC if chip in _STOCHASTIC_CHIPS else _HOST_TRAP)
    return PcSampling(method, interval or _DEFAULT_INTERVAL[method])


def sampling_command(
    rocprofv3: Path, folder: Path, how: PcSampling, command: Sequence[str]
) -> list[str]:
    """The command line of the run; its files lie in `folder` itself."""
    output = [
        "--kernel-trace",
        "--output-format",
        "csv",
        "json",
        "-d",
        str(folder),
        "-o",
        _PREFIX,
    ]
    return [str(rocprofv3), *how.options, *output, "--", *command]


def is_able(rocprofv3: Path) -> bool:
    """Whether this rocprofv3 samples program counters at all."""
    done = subprocess.run(
        [str(rocprofv3), "--help"], capture_output=True, text=True, timeout=60, check=False
    )
    return "--pc-sampling-beta-enabled" in done.stdout


def run_pc_sampling(rocprofv3: Path, request: PassRequest, how: PcSampling) -> PassEnd:
    """Sample the program once; the samples of an earlier run are replaced."""
    folder = request.folder
    if not is_able(rocprofv3):
        return PassEnd(
            _SAMPLING, 0, failure=f"{rocprofv3} is too old: it samples no program counters"
        )
    for path in folder.glob(f"{_PREFIX}_*"):
        path.unlink()
    command = sampling_command(rocprofv3, folder, how, request.command)
    end = launch(command, dict(os.environ), patience=request.patience)
    written = [path.name for path in folder.glob(f"{_PREFIX}_*")]
    has_samples = any(
        PC_SAMPLE_JSON.fullmatch(name) or PC_SAMPLE_FILES.fullmatch(name) for name in written
    )
    failure = "" if has_samples else "no samples were written"
    if end.exit_code and not has_samples:
        failure = f"rocprofv3 ended with {end.words}"
    if end.given_up and not has_samples:
        failure = f"rocprofv3 was stopped, as {end.given_up}"
    return PassEnd(
        _SAMPLING,
        end.exit_code,
        interrupted=end.interruptions > 0,
        processes=1,
        failure=failure,
        given_up=end.given_up,
    )


class CounterRuns(NamedTuple):
    """What the runs of one collection share; `record` is saved after each of them."""

    rocprofv3: Path
    request: PassRequest
    record: WorkloadRecord
    tell: Tell
    """Told how far it is."""
    warn: Tell
    """Told what is worth knowing in any case."""
    limit_s: float = 0.0
    """How long each run may take; 0 where nobody said."""

    def one_by_one(self, passes: list[CounterPass]) -> list[PassEnd]:
        """Run the program once for each pass, until it is interrupted."""
        began_ns = time.monotonic_ns()
        ends: list[PassEnd] = []
        for number, each in enumerate(passes):
            spent_ns = time.monotonic_ns() - began_ns
            self.tell(pass_line(number, len(passes), each.name, spent_ns))
            ends.append(run_pass(self._patient(ends), self.rocprofv3, each.name, each.counters))
            self._note(each.counters, ends[-1])
            if ends[-1].interrupted:
                self.warn(
                    "interrupted: `wavescope counters collect --resume` goes on with the rest"
                )
                break
        if passes:
            spent_ns = max(NS_PER["ms"], time.monotonic_ns() - began_ns)
            self.tell(f"collected in {duration_text(spent_ns)}")
        return ends

    def at_once(self, passes: list[CounterPass], policy: str) -> list[PassEnd]:
        """Run the program once for all passes, whose counters take turns.

        It is run more than once where rocprofv3 cannot take the definitions of all counters at
        once: the launches of these runs are joined, as those of passes are.
        """
        if self.record.passes:
            raise UsageError(
                f"{self.request.folder} holds counters already",
                hint="multiplexed counters cannot be added to others: use another name, or --force",
            )
        runs = self.taking_turns(passes)
        if len(runs) > 1:
            self.warn(
                f"{len(runs)} runs of the program, not one: rocprofv3 cannot take the definitions "
                f"of all {len(passes)} groups at once; -b asks for fewer"
            )
        write_multiplexing(self.request, [each.counters for each in passes], policy)
        ends: list[PassEnd] = []
        for number, groups in enumerate(runs):
            self.tell(f"run {number + 1} of {len(runs)}, {len(groups)} groups in turn")
            name = f"pmc_perf_{number}"
            ends.append(run_multiplexed(self._patient(ends), self.rocprofv3, name, groups))
            self._note([counter for group in groups for counter in group], ends[-1])
            if ends[-1].interrupted:
                break
        return ends

    def taking_turns(self, passes: list[CounterPass]) -> list[list[Group]]:
        """The groups of counters of each run in which they take turns."""
        return groups_that_fit([each.counters for each in passes], self.request.definitions)

    def sampled(self, how: PcSampling) -> PassEnd:
        """Run the program once, sampling its program counters."""
        self.tell(f"sampling program counters, {how.method}")
        folder = self.request.folder
        end = run_pc_sampling(self.rocprofv3, self._patient([]), how)
        self.record.samples = {}
        if end.is_complete:
            self.record.samples = {"method": how.method, "interval": how.interval}
        self.record.save(folder)
        return end

    def _patient(self, ends: Sequence[PassEnd]) -> PassRequest:
        """The request with how long the next run may take, after what is known of others."""
        longest_ns = max((end.wall_ns for end in ends if end.is_complete), default=0)
        patience = patience_for(self.limit_s, longest_ns / NS_PER["s"])
        if self.request.attachment is not None:
            # rocprofv3 itself stands still until it lets go of the process.
            patience = Patience(self.limit_s, standstill_s=0)
        return replace(self.request, patience=patience)

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
