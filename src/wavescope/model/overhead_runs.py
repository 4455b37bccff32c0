"""Runs of one program with and without recording: what an overhead measurement consists of."""

from __future__ import annotations

from dataclasses import dataclass

BASELINE = "baseline"
WALL = "wall"
CPU = "cpu"


@dataclass(frozen=True)
class MetricKind:
    """What was measured of each run."""

    name: str
    """`wall`, `cpu`, or the regular expression that finds the value in the program's output."""
    unit: str
    higher_is_better: bool

    @property
    def is_time(self) -> bool:
        """Whether values are nanoseconds that were measured from outside."""
        return self.name in (WALL, CPU)


@dataclass(frozen=True)
class TraceFacts:
    """What a recording of the program held."""

    op_count: int = 0
    kernel_count: int = 0
    """Different kernel names."""
    seen: int = 0
    """Dispatches that passed the recorder."""
    timed: int = 0
    """Of these, recorded with times."""
    size_bytes: int = 0


@dataclass(frozen=True)
class ArmRun:
    """One run; `arm` is `baseline` or a recording mode."""

    arm: str
    round: int
    value: float
    wall_ns: int
    cpu_ns: int = 0
    """CPU time of the program and all that it started and waited for."""
    trace: TraceFacts | None = None
    """None for the baseline."""


@dataclass(frozen=True)
class OverheadRuns:
    """All runs of one measurement."""

    label: str
    """What was measured, for tables of several: a version, a machine."""
    command: str
    metric: MetricKind
    runs: tuple[ArmRun, ...]
    wavescope_version: str = ""
    recorded_at: str = ""
    softgpu: str | None = None
    case: tuple[tuple[str, str], ...] = ()
    """What tells this measurement from others of its version: model, ranks, concurrency."""

    @property
    def modes(self) -> list[str]:
        """The recording modes, from the lightest to the heaviest."""
        found = {run.arm for run in self.runs} - {BASELINE}
        known = [mode for mode in ("lite", "standard", "full", "hip") if mode in found]
        return known + sorted(found - set(known))

    def of_arm(self, arm: str) -> list[ArmRun]:
        """The runs of one arm by round."""
        return sorted((run for run in self.runs if run.arm == arm), key=lambda run: run.round)

    def pairs(self, mode: str) -> list[tuple[ArmRun, ArmRun]]:
        """For each round with both the baseline's run and the one recorded in `mode`."""
        baseline = {run.round: run for run in self.of_arm(BASELINE)}
        return [(baseline[run.round], run) for run in self.of_arm(mode) if run.round in baseline]
