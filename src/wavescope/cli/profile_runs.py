"""Runs the passes of `wavescope profile` one after the other, saying how far it is."""

from __future__ import annotations

import time
from pathlib import Path
from typing import NamedTuple

from wavescope.analyze.counters.pass_plan import CounterPass
from wavescope.cli.terminal import say
from wavescope.collect.counters.pc_sampling_run import PcSampling, run_pc_sampling
from wavescope.collect.counters.rocprofv3_passes import (
    PassEnd,
    PassRequest,
    run_multiplexed,
    run_pass,
)
from wavescope.collect.counters.workload_folder import WorkloadRecord
from wavescope.errors import UsageError
from wavescope.units import NS_PER, duration_text

_BAR_WIDTH = 20


class ProfileRuns(NamedTuple):
    """What the runs of one profile share; `record` is saved after each of them."""

    rocprofv3: Path
    request: PassRequest
    record: WorkloadRecord
    quiet: bool

    def one_by_one(self, passes: list[CounterPass]) -> list[PassEnd]:
        """Run the program once for each pass, until it is interrupted."""
        began_ns = time.monotonic_ns()
        ends: list[PassEnd] = []
        for number, each in enumerate(passes):
            spent_ns = time.monotonic_ns() - began_ns
            self._say(pass_line(number, len(passes), each.name, spent_ns))
            ends.append(run_pass(self.request, self.rocprofv3, each.name, each.counters))
            self._note(each.counters, ends[-1])
            if ends[-1].interrupted:
                say("interrupted: `wavescope profile --resume` goes on with the rest", label="note")
                break
        if passes:
            spent_ns = max(NS_PER["ms"], time.monotonic_ns() - began_ns)
            self._say(f"collected in {duration_text(spent_ns)}")
        return ends

    def at_once(self, passes: list[CounterPass], policy: str) -> list[PassEnd]:
        """Run the program once for all passes, whose counters take turns."""
        if self.record.passes:
            raise UsageError(
                f"{self.request.folder} holds counters already",
                hint="multiplexed counters do not add to others: choose another name, or --force",
            )
        groups = [each.counters for each in passes]
        self._say(f"one run, {len(groups)} groups of counters in turn")
        end = run_multiplexed(self.request, self.rocprofv3, "pmc_perf_0", groups, policy)
        self._note([counter for group in groups for counter in group], end)
        return [end]

    def sampled(self, how: PcSampling) -> PassEnd:
        """Run the program once, sampling its program counters."""
        self._say(f"sampling program counters, {how.method}")
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

    def _say(self, text: str) -> None:
        if not self.quiet:
            say(text)


def pass_line(done: int, total: int, name: str, spent_ns: int) -> str:
    """How far the passes are, drawn as a bar, and how long the rest may take.

    It is a line for each pass and no bar that moves, because the program writes in between.
    """
    full = done * _BAR_WIDTH // total
    left = f", about {duration_text(spent_ns // done * (total - done))} left" if done else ""
    bar = "#" * full + "-" * (_BAR_WIDTH - full)
    return f"[{bar}] pass {done + 1} of {total}: {name}{left}"
