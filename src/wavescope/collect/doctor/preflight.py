"""Checks what a machine can analyse and record, and names the command that adds what is missing."""

from __future__ import annotations

import re
import shutil
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path

from wavescope.collect.doctor.check import Check, CheckState, program_check
from wavescope.collect.doctor.gpu_checks import amd_checks, counter_checks
from wavescope.collect.doctor.nvidia_checks import nvidia_checks
from wavescope.collect.libraries import collector_library, missing_collector
from wavescope.collect.machine import Machine
from wavescope.errors import WavescopeError
from wavescope.package_files import library_path
from wavescope.units import bytes_text

_BROKEN = (ImportError, AttributeError, OSError, RuntimeError, SyntaxError, TypeError, ValueError)
"""What importing a package raises that is damaged, or built for another Python or NumPy."""

NEEDED_MODULES = (
    ("numpy>=1.26", "NumPy", "all analyses"),
    ("orjson>=3.9", "orjson", "JSON output, Chrome and rocprofv3 JSON"),
    ("isal.igzip>=1.6", "isal", "reading and writing .gz at full speed"),
)
"""What analysing needs, as pyproject.toml states it: module and oldest version, name, use."""

SelfTest = Callable[[], str]
"""Runs the native library on real data; returns what is wrong, or nothing."""


def preflight(
    machine: Machine, native_self_test: SelfTest, collector_self_test: SelfTest
) -> list[Check]:
    """All checks, those for analysis first."""
    return [
        *_analysis_checks(machine, native_self_test),
        _collector(collector_self_test),
        *_optional_checks(machine),
        *amd_checks(machine),
        *counter_checks(machine),
        *nvidia_checks(machine),
        *_limit_checks(machine),
    ]


def checked_machine() -> list[Check]:
    """All checks of this machine, with its own self tests."""
    return preflight(Machine(), _native_self_test, _collector_self_test)


def _native_self_test() -> str:
    try:
        from wavescope.collect.doctor.native_self_test import native_self_test  # noqa: PLC0415  needs NumPy, which may be missing
    except ImportError as error:
        return str(error)
    return native_self_test()


def _collector_self_test() -> str:
    try:
        from wavescope.collect.recording import collector_self_test  # noqa: PLC0415  needs NumPy, which may be missing
    except ImportError as error:
        return str(error)
    return collector_self_test()


def _collector(self_test: SelfTest) -> Check:
    name, enables = "collector", "recording programs with `wavescope trace`"
    path = collector_library()
    if path is None:
        return Check(name, enables, CheckState.MISSING, *missing_collector())
    if trouble := self_test():
        fix = "pip install --force-reinstall wavescope"
        return Check(name, enables, CheckState.NOT_USABLE, trouble, fix)
    return Check(name, enables, CheckState.OK, f"self test passed ({path.name})")


def _analysis_checks(machine: Machine, native_self_test: SelfTest) -> list[Check]:
    return [
        _python(),
        *(_module(machine, *row) for row in NEEDED_MODULES),
        _sqlite(),
        _native(native_self_test),
    ]


def _python() -> Check:
    version = ".".join(str(part) for part in sys.version_info[:3])
    is_new = sys.version_info >= (3, 10)
    return Check(
        "Python",
        "everything",
        CheckState.OK if is_new else CheckState.NOT_USABLE,
        version,
        "" if is_new else "install Python 3.10 or newer",
        is_required=True,
    )


def _module(machine: Machine, wanted: str, name: str, enables: str) -> Check:
    """A package that analysing needs: there, new enough, and whole enough to be imported."""
    module, _, oldest = wanted.partition(">=")
    package = module.partition(".")[0]
    try:
        version = machine.module_version(module)
    except ModuleNotFoundError as error:
        fix = f"pip install {package}"
        return Check(name, enables, CheckState.MISSING, str(error), fix, is_required=True)
    except _BROKEN as error:
        found = next(iter(str(error).strip().splitlines()), type(error).__name__)
        fix = f"pip install --force-reinstall {package}"
        return Check(name, enables, CheckState.NOT_USABLE, found, fix, is_required=True)
    if _numbers(version) < _numbers(oldest):
        fix = f"pip install --upgrade {package}"
        found = f"{version} is older than {oldest}"
        return Check(name, enables, CheckState.NOT_USABLE, found, fix, is_required=True)
    return Check(name, enables, CheckState.OK, version, is_required=True)


def _numbers(version: str) -> tuple[int, ...]:
    """The first two numbers of a version, which say whether it is new enough."""
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2])


def _sqlite() -> Check:
    is_new = sqlite3.sqlite_version_info >= (3, 25)
    return Check(
        "SQLite",
        "trace files and `wavescope query`",
        CheckState.OK if is_new else CheckState.NOT_USABLE,
        sqlite3.sqlite_version,
        "" if is_new else "use a Python built with SQLite 3.25 or newer",
        is_required=True,
    )


def _native(self_test: SelfTest) -> Check:
    name, enables = "native library", "reading, analysing and writing traces"
    fix = "pip install --force-reinstall wavescope"
    path = library_path("wavescope_columns")
    if path is None:
        return Check(name, enables, CheckState.MISSING, "not installed", fix, is_required=True)
    try:
        trouble = self_test()
    except (OSError, WavescopeError) as error:
        trouble = str(error)
    if trouble:
        return Check(name, enables, CheckState.NOT_USABLE, trouble, fix, is_required=True)
    return Check(name, enables, CheckState.OK, f"self test passed ({path.name})", is_required=True)


def _optional_checks(machine: Machine) -> list[Check]:
    return [
        _installed(machine, "pyarrow", "Parquet output and `to_arrow()`", "arrow"),
        _installed(machine, "pandas", "`to_pandas()` in notebooks", "pandas"),
        _installed(machine, "vl-convert", "`wavescope roofline -o` as HTML, SVG or PNG", "plots"),
        _installed(
            machine, "distributed", "`wavescope ranks --scheduler` on Dask workers", "cluster"
        ),
        _installed(machine, "dask-jobqueue", "Dask workers that Slurm starts", "cluster-slurm"),
        _installed(machine, "asyncssh", "Dask workers on hosts reached by SSH", "cluster-ssh"),
        _torch(machine),
        program_check(
            machine,
            ("hipcc",),
            "compiling what `wavescope demo` records (else it shows a computed trace)",
            "install ROCm, or on Debian: apt-get install hipcc libamdhip64-dev",
        ),
        program_check(
            machine,
            ("mpirun", "srun"),
            "recording and profiling the ranks of a job",
            "apt-get install openmpi-bin, or the launcher of your cluster",
        ),
        program_check(
            machine,
            ("node", "nodejs"),
            "checking Perfetto files with Perfetto's own reader (development only)",
            "apt-get install nodejs",
        ),
        program_check(
            machine,
            ("chromium", "google-chrome", "chromium-browser"),
            "checking timelines in a browser (development only)",
            "apt-get install chromium",
        ),
    ]


def _installed(machine: Machine, name: str, enables: str, extra: str) -> Check:
    if machine.has_module(name.replace("-", "_")):
        return Check(name, enables, CheckState.OK, "installed")
    return Check(name, enables, CheckState.MISSING, "", f"pip install 'wavescope[{extra}]'")


def _torch(machine: Machine) -> Check:
    name, enables = "PyTorch", "operators as ranges: `trace --torch`, `profile --torch-trace`"
    if machine.has_module("torch"):
        return Check(name, enables, CheckState.OK, "installed")
    found = "not in wavescope's own Python; that of the program counts"
    return Check(name, enables, CheckState.MISSING, found, "pip install torch, for the program")


def _limit_checks(machine: Machine) -> list[Check]:
    return [_disk_space(machine.folder), _perf_events(machine)]


def _disk_space(folder: Path) -> Check:
    free_bytes = shutil.disk_usage(folder).free
    is_enough = free_bytes >= 1_000_000_000
    return Check(
        "disk space here",
        "writing traces and exports",
        CheckState.OK if is_enough else CheckState.NOT_USABLE,
        f"{bytes_text(free_bytes)} free",
        "" if is_enough else "free some space, or write elsewhere with -o",
    )


def _perf_events(machine: Machine) -> Check:
    level = machine.text("proc/sys/kernel/perf_event_paranoid")
    name, enables = "perf events", "sampling host threads (later version)"
    if not level:
        return Check(name, enables, CheckState.MISSING, "this kernel does not offer them")
    is_open = level.lstrip("-").isdecimal() and int(level) <= 2
    return Check(
        name,
        enables,
        CheckState.OK if is_open else CheckState.NOT_USABLE,
        f"perf_event_paranoid is {level}",
        "" if is_open else "sudo sysctl kernel.perf_event_paranoid=2",
    )
