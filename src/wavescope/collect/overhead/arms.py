"""Runs a program again and again, alone and recorded in several modes, in turns.

Machines drift: they warm up, others use them. Every round therefore runs every arm once, in an
order that is drawn anew with a fixed seed, and only runs of one round are compared.
"""

from __future__ import annotations

import random
import re
import resource
import shlex
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from wavescope.collect.launcher import ProgramEnd, children_print_to, launch
from wavescope.collect.record_options import OverheadOptions, RecordMode, RecordOptions
from wavescope.collect.recording import record
from wavescope.collect.runtimes import chosen_runtime, command_on
from wavescope.collect.softgpu import SoftGpuOptions, softgpu_environment
from wavescope.errors import UsageError, WavescopeError
from wavescope.model.overhead_runs import (
    BASELINE,
    CPU,
    WALL,
    ArmRun,
    MetricKind,
    OverheadRuns,
    TraceFacts,
)
from wavescope.patterns import compiled
from wavescope.version import __version__

MOST_OUTPUT_BYTES = 4 << 20
"""How much of the end of the program's output is searched for the metric."""
_SHOWN_LINES = 5
_NUMBER = re.compile(r"[+-]?[\d,]*\.?\d+(?:[eE][+-]?\d+)?", re.ASCII)


LookAtTrace = Callable[[Path], TraceFacts]
HearRun = Callable[[ArmRun, int, int], None]
"""Called after each run with the run, how many are done, and how many there are."""


def measured_arms(
    options: OverheadOptions, environment: Mapping[str, str], look_at: LookAtTrace, hear: HearRun
) -> OverheadRuns:
    """All runs of the measurement; an error when one of them fails or prints no metric."""
    compiled_metric(options.metric)
    with tempfile.TemporaryDirectory(prefix="wavescope-overhead-") as name:
        runner = _Runner(options, environment, look_at, Path(name))
        for _ in range(options.warm_ups):
            runner.run(BASELINE, 0)
        schedule = arm_schedule(options)
        runs = []
        for done, (round_number, arm) in enumerate(schedule, 1):
            runs.append(runner.run(arm, round_number))
            hear(runs[-1], done, len(schedule))
    return OverheadRuns(
        options.label or f"wavescope {__version__}",
        shlex.join(options.command),
        options.metric,
        tuple(runs),
        __version__,
        datetime.now(timezone.utc).isoformat(timespec="seconds"),
        options.softgpu,
        options.case,
    )


def arm_schedule(options: OverheadOptions) -> list[tuple[int, str]]:
    """Round and arm of every run, in the order in which they are made."""
    rng = random.Random(options.seed)  # noqa: S311  an order, no secret
    schedule = []
    for round_number in range(1, options.rounds + 1):
        arms = [BASELINE, *(mode.value for mode in options.modes)]
        rng.shuffle(arms)
        schedule += [(round_number, arm) for arm in arms]
    return schedule


def compiled_metric(metric: MetricKind) -> re.Pattern[str] | None:
    """The expression that finds the metric in the output; None for times."""
    if metric.is_time:
        return None
    expression = compiled(metric.name)
    if not expression.groups:
        raise UsageError(
            f"the metric '{metric.name}' does not say which part is the number",
            hint=r"put it in brackets: --metric 'throughput: ([\d.]+) tok/s'",
        )
    return expression


def value_in(output: str, expression: re.Pattern[str]) -> float | None:
    """What the expression's first group says at its last match; None without a positive number."""
    found = None
    for match in expression.finditer(output):
        found = match
    number = _NUMBER.search(found.group(1) or "") if found else None
    value = float(number.group().replace(",", "")) if number else 0.0
    return value if 0 < value < float("inf") else None


@dataclass(frozen=True)
class _Runner:
    options: OverheadOptions
    environment: Mapping[str, str]
    look_at: LookAtTrace
    folder: Path

    def run(self, arm: str, round_number: int) -> ArmRun:
        """Run the program once; its output goes to a file."""
        output = self.folder / "output.txt"
        trace = None
        cpu_before_ns = _cpu_ns_of_children()
        output.unlink(missing_ok=True)
        with output.open("ab") as file, children_print_to(file.fileno(), file.fileno()):
            end = self._alone() if arm == BASELINE else None
            if end is None:
                end, trace = self._recorded(RecordMode(arm))
        if end.interruptions:
            raise KeyboardInterrupt
        text = _tail(output)
        if end.status:
            raise self._failure(arm, f"it ended with {end.words}", text)
        # At least a nanosecond: ratios are taken of these.
        cpu_ns = max(1, _cpu_ns_of_children() - cpu_before_ns)
        times: dict[str, float] = {WALL: max(1, end.wall_ns), CPU: cpu_ns}
        value = times.get(self.options.metric.name) or self._printed_value(arm, text)
        return ArmRun(arm, round_number, float(value), end.wall_ns, cpu_ns, trace)

    def _alone(self) -> ProgramEnd:
        environment = dict(self.environment)
        runtime = None
        if self.options.softgpu is not None:
            gpus = SoftGpuOptions.parse(self.options.softgpu)
            environment |= softgpu_environment(gpus, environment)
            runtime = chosen_runtime(gpus.runtime, environment)
        return launch(command_on(runtime, self.options.command, environment), environment)

    def _recorded(self, mode: RecordMode) -> tuple[ProgramEnd, TraceFacts]:
        path = self.folder / "trace.db"
        options = RecordOptions(
            command=self.options.command,
            output=path,
            mode=mode,
            softgpu=self.options.softgpu,
            interception=self.options.interception,
        )
        recording = record(options, self.environment)
        if recording.output is None:
            return recording.end, TraceFacts()
        facts = self.look_at(recording.output)
        recording.output.unlink()
        return recording.end, facts

    def _printed_value(self, arm: str, text: str) -> float:
        expression = compiled_metric(self.options.metric)
        value = value_in(text, expression) if expression else None
        if value is None:
            raise self._failure(
                arm, f"its output has no number where '{self.options.metric.name}' looks", text
            )
        return value

    def _failure(self, arm: str, reason: str, text: str) -> WavescopeError:
        role = "alone" if arm == BASELINE else f"recorded in mode {arm}"
        last = " / ".join(text.strip().splitlines()[-_SHOWN_LINES:]) or "nothing"
        return WavescopeError(
            f"{self.options.command[0]}, {role}: {reason}",
            hint=f"the last line of its output: {last}",
        )


def _cpu_ns_of_children() -> int:
    """CPU time of all programs that were run and have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return round((usage.ru_utime + usage.ru_stime) * 1e9)


def _tail(path: Path) -> str:
    with path.open("rb") as stream:
        stream.seek(max(0, path.stat().st_size - MOST_OUTPUT_BYTES))
        return stream.read().decode(errors="replace")
