"""What recordings are asked to do: of a program, of a part of it, in turns to see their cost."""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass
from pathlib import Path

from wavescope.collect.torch_ranges import without_ranges_because
from wavescope.errors import UsageError
from wavescope.model.overhead_runs import WALL, MetricKind
from wavescope.patterns import compiled, no_pattern

_WALL_TIME = MetricKind(WALL, "ns", higher_is_better=False)
_CALLS_ON_CUDA = "cuda"
"""How users of CUDA call the mode `hip`."""
_SLICES = re.compile(r"(\d{1,6})(?:ms)?/(\d{1,6})(?:ms)?", re.ASCII)
_LONGEST_PERIOD_MS = 60_000
_FLUSH_PERIODS_MS = range(10, 60_001)
_SLOW_STEP = re.compile(r"(?P<marker>.+?)\s*>\s*(?P<factor>\d{1,6}(\.\d{1,6})?)\s*x\s*median")


class RecordMode(str, enum.Enum):
    """How much of the GPU's work is timed, the cheapest first."""

    LITE = "lite"
    """AMD: dispatches that carry no signal of the application. NVIDIA: kernels in short slices of
    time."""
    STANDARD = "standard"
    """AMD: all dispatches. NVIDIA: all kernels, copies and fills."""
    FULL = "full"
    """AMD: as standard. NVIDIA: also synchronization and allocations."""
    HIP = "hip"
    """All of that, and the HIP or CUDA calls that caused it; `cuda` is another word for it."""

    @classmethod
    def _missing_(cls, value: object) -> RecordMode | None:
        return cls.HIP if value == _CALLS_ON_CUDA else None

    @classmethod
    def words(cls) -> list[str]:
        """What is understood as a mode."""
        return [*(mode.value for mode in cls), _CALLS_ON_CUDA]


class OtherTools(str, enum.Enum):
    """What becomes of other tools that want the same program's GPU work."""

    AUTO = "auto"
    """Those that the user set up stay, and may keep it from this recording. Profilers that
    libraries of the program bring along do not get it."""
    KEEP = "keep"
    """All stay, and whichever comes first may keep it from this recording."""
    OFF = "off"
    """They are left out, so that this recording is whole."""


class Keep(str, enum.Enum):
    """Which records stay when a process has more than its limit."""

    NEWEST = "newest"
    """The oldest make room for new ones, for as long as the program runs."""
    OLDEST = "oldest"
    """Recording stops when the limit is reached."""


class Interception(str, enum.Enum):
    """How the packets of a queue come to the collector, on AMD GPUs."""

    RUNTIME = "runtime"
    """By the HSA runtime, which offers that to tools."""
    OWN = "own"
    """By a ring of the collector's in front of the queue's: cheaper, and tried on software GPUs
    only."""


@dataclass(frozen=True)
class Slices:
    """How lite mode samples the kernels of NVIDIA GPUs: so long of every period."""

    length_ms: int = 20
    """0 for no slices: kernels are recorded all the time, but those of graphs, which are recorded
    as a whole."""
    period_ms: int = 400

    def __post_init__(self) -> None:
        """Refuse what is no sampling."""
        if not 0 <= self.length_ms < self.period_ms <= _LONGEST_PERIOD_MS:
            raise UsageError(
                f"slices of {self.length_ms} ms of every {self.period_ms} ms cannot be recorded",
                hint=f"slices are shorter than their period, and that at most "
                f"{_LONGEST_PERIOD_MS} ms: --slices 20/400, or --slices off",
            )

    @classmethod
    def parse(cls, text: str) -> Slices:
        """What `--slices 20/400` or `--slices off` says."""
        if text.strip() == "off":
            return cls(length_ms=0)
        found = _SLICES.fullmatch(text.strip())
        if found is None or int(found[1]) == 0:
            raise UsageError(
                f"'{text}' does not say how long slices are and how often they come",
                hint="write milliseconds, for example --slices 20/400, or --slices off",
            )
        return cls(int(found[1]), int(found[2]))


@dataclass(frozen=True)
class RecordOptions:
    """One recording: the command and how it is watched."""

    command: tuple[str, ...]
    output: Path = Path("trace.db")
    """The trace to write; %p in its name is the process id, %h the host, %rank% the rank and
    %env{NAME}% a variable. Ranks of a job write a trace each."""
    mode: RecordMode = RecordMode.STANDARD
    softgpu: str | None = None
    """Run on software GPUs as this text describes them; None for the machine's own."""
    start_paused: bool = False
    delay_ms: int = 0
    duration_ms: int | None = None
    """How long to record; None until the end."""
    last_ms: int | None = None
    """Keep only the newest part of so long; None keeps all."""
    until_marker: str = ""
    """End when a marker closes whose text matches this regular expression."""
    when: str = ""
    """Write a snapshot when this happens; see `SlowStep`."""
    max_bytes: int | None = None
    """Most bytes of records that are kept of each process; None for no limit."""
    keep: Keep | None = None
    """Which of them, where there are more; None for the newest."""
    kernel: str = ""
    """Only kernels whose readable name this regular expression of Python's finds."""
    torch: bool = False
    """Put ranges around the operators of torch."""
    other_tools: OtherTools = OtherTools.AUTO
    interception: Interception | None = None
    """None for what WAVESCOPE_INTERCEPTION of the environment says, else the runtime's."""
    slices: Slices | None = None
    """Of lite mode on NVIDIA GPUs; None for slices as `Slices` has them."""
    flush_ms: int | None = None
    """How long records of NVIDIA GPUs may wait to be written; None for the collector's choice."""
    timeline: Path | None = None
    """A Perfetto timeline to write too; placeholders are those of the output."""
    keep_chunks: bool = False
    force: bool = False

    def __post_init__(self) -> None:
        """Refuse what would be understood only when the program runs."""
        if not self.command:
            raise UsageError("no program to record was given")
        object.__setattr__(self, "mode", RecordMode(self.mode))
        if self.interception is not None:
            object.__setattr__(self, "interception", Interception(self.interception))
        if self.keep is not None:
            object.__setattr__(self, "keep", Keep(self.keep))
            if self.max_bytes is None:
                raise UsageError(
                    f"--keep {Keep(self.keep).value} would have no effect: there is no limit",
                    hint="add --max-size BYTES, or leave that option out",
                )
        if self.slices is not None and self.mode is not RecordMode.LITE:
            raise UsageError(
                f"--slices would have no effect: mode {self.mode.value} records all the time",
                hint="add --mode lite, or leave that option out",
            )
        if self.flush_ms is not None and self.flush_ms not in _FLUSH_PERIODS_MS:
            raise UsageError(
                f"records cannot be written every {self.flush_ms} ms",
                hint=f"--flush-period takes {_FLUSH_PERIODS_MS[0]}ms to {_FLUSH_PERIODS_MS[-1]}ms",
            )
        compiled_pattern(self.kernel, "--kernel")
        compiled_pattern(self.until_marker, "--until-marker")
        if self.when:
            SlowStep.parse(self.when)
        if self.torch and (reason := without_ranges_because(self.command)):
            raise UsageError(
                f"--torch would have no effect: {reason}", hint="leave that option out"
            )

    @property
    def keeps_newest(self) -> bool:
        """Whether old records make room for new ones where there is a limit."""
        return self.keep is not Keep.OLDEST


@dataclass(frozen=True)
class AttachOptions:
    """One window of a running program."""

    process: int
    """The dormant program, or a process that it runs, with those below it."""
    output: Path = Path("trace.db")
    duration_ms: int = 10_000
    force: bool = False


@dataclass(frozen=True)
class OverheadOptions:
    """What to run, how often, and what to read of it."""

    command: tuple[str, ...]
    modes: tuple[RecordMode, ...] = (RecordMode.LITE, RecordMode.STANDARD, RecordMode.FULL)
    metric: MetricKind = _WALL_TIME
    """What is measured: a time, or a number in the program's output."""
    rounds: int = 5
    warm_ups: int = 1
    """Runs before the first round that do not count."""
    softgpu: str | None = None
    """Run on software GPUs as this text describes them; None for the machine's own."""
    interception: Interception | None = None
    """As in `RecordOptions`."""
    seed: int = 0
    label: str = ""
    case: tuple[tuple[str, str], ...] = ()
    """What tells this measurement from others of its version: model, ranks, concurrency."""


@dataclass(frozen=True)
class SlowStep:
    """A step that takes longer than so many times the median of those before it."""

    marker: re.Pattern[str]
    factor: float

    @classmethod
    def parse(cls, text: str) -> SlowStep:
        """What `--when 'step > 2x median'` says."""
        found = _SLOW_STEP.fullmatch(text.strip())
        if found is None:
            raise UsageError(
                f"'{text}' is not a condition", hint="write for example --when 'step > 2x median'"
            )
        return cls(compiled_pattern(found["marker"], "--when"), float(found["factor"]))


def compiled_pattern(text: str, what: str) -> re.Pattern[str]:
    """A regular expression that the option `what` has, and that a session can keep."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise no_pattern(text, str(error), what) from error
    return compiled(text, what)
