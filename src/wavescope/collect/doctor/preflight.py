"""Checks what a machine can analyse and record, and names the command that adds what is missing."""

from __future__ import annotations

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
    modules = (
        ("numpy", "NumPy", "all analyses", True),
        ("orjson", "orjson", "JSON output, Chrome and rocprofv3 JSON", True),
        ("isal.igzip", "isal", "reading and writing .gz at full speed", True),
    )
    return [
        _python(),
        *(_module(machine, *row) for row in modules),
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


def _module(machine: Machine, module: str, name: str, enables: str, is_required: bool) -> Check:
    fix = f"pip install {module.partition('.')[0]}"
    try:
        version = machine.module_version(module)
    except ImportError as error:
        is_absent = isinstance(error, ModuleNotFoundError)
        state = CheckState.MISSING if is_absent else CheckState.NOT_USABLE
        return Check(name, enables, state, str(error), fix, is_required)
    return Check(name, enables, CheckState.OK, version, "", is_required)


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
        _torch(machine),
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
