"""Runs a program under rocprofv3 once for each pass of counters, and tells it what to count.

rocprofv3 knows counters summed up over all instances. The channels of the L2 and the accumulators
of level counters are defined on top of them, in a file of extra counters.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from wavescope.collect.counters.attachment import HOW_TO_ALLOW, Attachment
from wavescope.collect.counters.extra_counters import (
    ChannelLayout,
    counter_names,
    extra_counters,
)
from wavescope.collect.launcher import launch
from wavescope.collect.patience import Patience
from wavescope.collect.torch_ranges import torch_ranges_environment
from wavescope.errors import MachineError, UnreadableInputError, UsageError
from wavescope.formats.counters import read_pass_output, write_counter_csv
from wavescope.model.workload_layout import (
    ACCUMULATOR_SUFFIX,
    CHANNELS_SUFFIX,
    MULTIPLEXING_FILE,
    collected_name,
)

PERFMON_FOLDER = "perfmon"
RAW_FOLDER = "out"
_MOST_LISTED = 8
_RANGE = re.compile(r"(\d{1,9})(?:[:-](\d{1,9}))?", re.ASCII)


@dataclass(frozen=True)
class PassRequest:
    """What all passes of a workload have in common."""

    command: tuple[str, ...]
    folder: Path
    chip: str
    channels: ChannelLayout
    kernels: tuple[str, ...] = ()
    """Parts of kernel names: only these are counted."""
    kernel: str = ""
    """A regular expression that is found in names of kernels: only these are counted."""
    iterations: tuple[str, ...] = ()
    """Which launches of each kernel, from 1: `3` or `3:5`."""
    as_rocpd: bool = False
    keep_raw: bool = False
    torch: bool = False
    """Record the ranges around PyTorch's operators too, and the calls that launch kernels."""
    patience: Patience = field(default_factory=Patience)
    """How long a run of the program may take."""
    attachment: Attachment | None = None
    """The running process that is counted instead of a command."""

    def names(self, counters: Sequence[str]) -> list[str]:
        """The single counters that are read, as the chip spells them."""
        return counter_names(self.spelled(counters), self.channels)

    def spelled(self, counters: Sequence[str]) -> list[str]:
        """`counters` as the chip spells them."""
        return [collected_name(counter, self.chip) for counter in counters]

    def definitions(self, counters: Sequence[str]) -> str:
        """What rocprofv3 has to be told about them."""
        return extra_counters(self.spelled(counters), self.channels, self.chip)


@dataclass(frozen=True)
class PassEnd:
    """How a pass went: what was collected, or why nothing was."""

    name: str
    exit_code: int
    interrupted: bool = False
    dispatches: int = 0
    processes: int = 0
    counters: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    failure: str = ""
    given_up: str = ""
    """Why it was ended before its end, or nothing."""
    wall_ns: int = field(default=0, compare=False)

    @property
    def is_complete(self) -> bool:
        """Whether it need not be run again."""
        ended_well = self.exit_code == 0 and not self.given_up
        return ended_well and not self.failure and not self.interrupted

    @property
    def outcome(self) -> str:
        """How it ended, in words."""
        if self.interrupted:
            return "interrupted"
        if self.failure:
            return f"failed: {self.failure}"
        if self.given_up:
            return f"partial: stopped, as {self.given_up}"
        return "ok" if self.exit_code == 0 else f"partial: exit code {self.exit_code}"

    @property
    def problems(self) -> list[str]:
        """What is to be known of its counters: how it ended if not well, and what they lack."""
        found = [] if self.is_complete else [self.outcome]
        if self.missing:
            found.append(f"not reported: {_listed(self.missing)}")
        return [*found, *self.notes]


def _listed(counters: Sequence[str]) -> str:
    """The first counters of a list, all channels of one as a single item."""
    channels = Counter(name.partition("[")[0] for name in counters)
    shown = [
        f"{name} ({count} channels)" if count > 1 else name for name, count in channels.items()
    ]
    more = f" and {len(shown) - _MOST_LISTED} more" if len(shown) > _MOST_LISTED else ""
    return ", ".join(shown[:_MOST_LISTED]) + more


def write_perfmon(request: PassRequest, name: str, counters: Sequence[str]) -> Path:
    """Write the input files of a pass; the list of its counters."""
    folder = request.folder / PERFMON_FOLDER
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.txt"
    path.write_text(perfmon_text(request.names(counters)), encoding="utf-8")
    definitions = request.definitions(counters)
    if definitions:
        path.with_suffix(".yaml").write_text(definitions, encoding="utf-8")
    else:
        path.with_suffix(".yaml").unlink(missing_ok=True)
    return path


def write_multiplexing(request: PassRequest, groups: Sequence[Sequence[str]], policy: str) -> None:
    """Write what analysis has to know of groups that took turns."""
    content = {"policy": policy, "groups": [request.names(group) for group in groups]}
    (request.folder / MULTIPLEXING_FILE).write_text(json.dumps(content) + "\n", encoding="utf-8")


def write_multiplexed(request: PassRequest, name: str, groups: Sequence[Sequence[str]]) -> Path:
    """Write the input file of a single run in which groups take turns."""
    folder = request.folder / PERFMON_FOLDER
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.json"
    path.write_text(multiplexed_text([request.names(group) for group in groups]), encoding="utf-8")
    counters = [counter for group in groups for counter in group]
    path.with_suffix(".yaml").write_text(request.definitions(counters), encoding="utf-8")
    return path


def require_able(rocprofv3: Path, request: PassRequest) -> str:
    """What rocprofv3 says of its options; one that lacks an option of this request is refused."""
    needed = [
        word for word in pass_command(request, rocprofv3, Path("x"), Path("x")) if _is_long(word)
    ]
    try:
        done = subprocess.run(
            [str(rocprofv3), "--help"], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MachineError(f"{rocprofv3} cannot be run: {error}") from error
    lacking = [word for word in (*needed, "--extra-counters") if word not in done.stdout]
    if lacking:
        version = "6.4" if request.attachment is None else "7.1"
        raise MachineError(
            f"{rocprofv3} is too old: it has no {lacking[0]}",
            hint=f"install rocprofiler-sdk of ROCm {version} or later",
        )
    return done.stdout


def _is_long(word: str) -> bool:
    return word.startswith("--") and word != "--"


def pass_command(request: PassRequest, rocprofv3: Path, perfmon: Path, raw: Path) -> list[str]:
    """The command line of one pass."""
    command = [str(rocprofv3), "-A", "absolute", "-i", str(perfmon), "-d", str(raw)]
    command += ["--kernel-trace", "--output-format", "rocpd" if request.as_rocpd else "csv"]
    definitions = perfmon.with_suffix(".yaml")
    if definitions.exists():
        command += ["-E", str(definitions)]
    if request.torch:
        command += ["--marker-trace", "--hip-runtime-trace"]
    patterns = [*map(re.escape, request.kernels), *filter(None, [request.kernel])]
    if patterns:
        command += ["--kernel-include-regex", "|".join(patterns)]
    if request.iterations:
        command += ["--kernel-iteration-range", iteration_range(request.iterations)]
    if request.attachment is not None:
        return [*command, *request.attachment.options]
    return [*command, "--", *request.command]


def iteration_range(texts: Sequence[str]) -> str:
    """rocprofv3's spelling of launches such as `1` and `3:5`."""
    parts = []
    for text in texts:
        found = _RANGE.fullmatch(text.strip())
        first = int(found.group(1)) if found else 0
        last = int(found.group(2) or first) if found else 0
        if not 1 <= first <= last:
            raise UsageError(
                f"'{text}' is not a list of launches",
                hint="-d 1 is the first launch of each kernel, -d 1 3:5 means 1, 3, 4 and 5",
            )
        parts.append(f"{first}-{last}" if last > first else str(first))
    return f"[{','.join(parts)}]"


def run_pass(request: PassRequest, rocprofv3: Path, name: str, counters: Sequence[str]) -> PassEnd:
    """Run one pass and leave its counters in the folder; what was there before stays on failure."""
    return _run(request, rocprofv3, (name, counters), write_perfmon(request, name, counters))


def run_multiplexed(
    request: PassRequest, rocprofv3: Path, name: str, groups: Sequence[Sequence[str]]
) -> PassEnd:
    """Run the program once, counting another group at every launch."""
    perfmon = write_multiplexed(request, name, groups)
    counters = [counter for group in groups for counter in group]
    return _run(request, rocprofv3, (name, counters), perfmon)


def _run(
    request: PassRequest, rocprofv3: Path, what: tuple[str, Sequence[str]], perfmon: Path
) -> PassEnd:
    name, counters = what
    raw = request.folder / RAW_FOLDER / name
    shutil.rmtree(raw, ignore_errors=True)
    raw.mkdir(parents=True)
    command = pass_command(request, rocprofv3, perfmon, raw)
    environment = dict(os.environ)
    if request.channels.dies > 1:
        # Without this, counters of the dies of a chip come as one sum.
        environment["ROCPROFILER_INDIVIDUAL_XCC_MODE"] = "1"
    if request.torch:
        environment |= torch_ranges_environment(environment)
    end = launch(command, environment, patience=request.patience)
    gathered = _gathered(request, name, counters, raw)
    if request.torch:
        _keep_operators(request.folder, name, raw)
    failure = gathered.failure
    if end.exit_code and not gathered.dispatches:
        failure = f"rocprofv3 ended with {end.words}"
    if request.attachment is not None and not gathered.dispatches:
        failure = f"{failure or 'nothing was counted'}: {HOW_TO_ALLOW}"
    if end.given_up and not gathered.dispatches:
        failure = f"rocprofv3 was stopped, as {end.given_up}"
    if not request.keep_raw and not failure:
        shutil.rmtree(raw, ignore_errors=True)
    return replace(
        gathered,
        exit_code=end.exit_code,
        interrupted=end.interruptions > 0,
        failure=failure,
        given_up=end.given_up,
        wall_ns=end.wall_ns,
    )


def _gathered(request: PassRequest, name: str, counters: Sequence[str], raw: Path) -> PassEnd:
    try:
        table, process_count = read_pass_output(raw)
    except UnreadableInputError as error:
        return PassEnd(name, 0, failure=str(error))
    notes = tuple(table.notes.sentences())
    if not table.count:
        return PassEnd(name, 0, failure=": ".join(["the pass counted no dispatch", *notes]))
    target = request.folder / f"{name}.csv"
    write_counter_csv(table, target)
    return PassEnd(
        name,
        0,
        dispatches=table.count,
        processes=process_count,
        counters=tuple(table.counters),
        missing=tuple(each for each in request.names(counters) if each not in table.columns),
        notes=notes,
    )


def _keep_operators(folder: Path, name: str, raw: Path) -> None:
    """Copy what tells operators apart beside the counters, one set of files for each process."""
    for stale in folder.glob(f"torch_trace_{name}_*.csv"):
        stale.unlink()
    for kind in ("marker_api_trace", "hip_api_trace", "counter_collection"):
        for path in sorted(raw.rglob(f"*_{kind}.csv")):
            process = path.name.removesuffix(f"_{kind}.csv")
            shutil.copyfile(path, folder / f"torch_trace_{name}_{process}_{kind}.csv")


def perfmon_text(names: Sequence[str]) -> str:
    """rocprofv3's text form: what to count in one run."""
    return f"pmc: {' '.join(names)}\n\ngpu:\nrange:\nkernel:\n"


def multiplexed_text(groups: Sequence[Sequence[str]]) -> str:
    """rocprofv3's job of a single run that counts another group at every launch."""
    job = {"pmc_groups": [list(group) for group in groups], "pmc_group_interval": 1}
    return json.dumps({"jobs": [job]}, indent=1) + "\n"


_WORD = re.compile(r"\b[A-Z][A-Z0-9]*_[A-Za-z0-9_]+\b", re.ASCII)
_CERTAIN = "SQ_WAVES"
"""A counter that every chip has: a list without it is no list."""
_SUM = "_sum"


def known_counters(rocprofv3: Path) -> frozenset[str]:
    """The counters that `rocprofv3 --list-avail` names; none where it names none."""
    try:
        done = subprocess.run(
            [str(rocprofv3), "--list-avail"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=120,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return frozenset()
    return listed_counters(done.stdout)


def listed_counters(text: str) -> frozenset[str]:
    """The counters in a list, whose layout differs between versions; none if it is no list."""
    words = frozenset(_WORD.findall(text))
    return words if _CERTAIN in words else frozenset()


def unknown_counters(counters: Sequence[str], known: Collection[str], chip: str) -> list[str]:
    """Those of `counters` that rocprofv3 does not know; nothing when nothing is known of it."""
    if not known:
        return []
    lists_sums = any(name.endswith(_SUM) for name in known)
    unknown = []
    for counter in counters:
        name = counter.removesuffix(CHANNELS_SUFFIX).removesuffix(ACCUMULATOR_SUFFIX)
        name = name if lists_sums else name.removesuffix(_SUM)
        if collected_name(name, chip) not in known:
            unknown.append(counter)
    return unknown
