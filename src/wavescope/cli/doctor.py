"""`wavescope doctor`: what works on this machine, and how to get what is missing."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING

from wavescope.cli.command import Command, Example
from wavescope.cli.options import (
    OutputFormat,
    OutputOptions,
    add_format_flags,
)
from wavescope.cli.outputs import print_result
from wavescope.errors import MachineError
from wavescope.version import __version__

if TYPE_CHECKING:
    from wavescope.collect.doctor.preflight import Check
    from wavescope.model.result import Finding, Result


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_format_flags(parser)


def _run(arguments: argparse.Namespace) -> int:
    from wavescope.collect.doctor.preflight import analysis_works, preflight  # noqa: PLC0415
    from wavescope.collect.machine import Machine  # noqa: PLC0415  only the chosen command imports

    options = replace(OutputOptions.from_arguments(arguments), rows=0)
    checks = preflight(Machine(), _native_self_test, _collector_self_test)
    is_ready = analysis_works(checks)
    result = checks_result(checks, is_ready=is_ready)
    if options.format is OutputFormat.TEXT:
        _leave_fixes_to_findings(result)
    print_result(result, options)
    return 0 if is_ready else MachineError.exit_code


def checks_result(checks: list[Check], *, is_ready: bool) -> Result:
    """The checks as a table, and a finding for each that names a fix."""
    from wavescope.collect.doctor.preflight import profiling_states, recording_state  # noqa: PLC0415
    from wavescope.model.result import Result, ResultColumn, ResultTable, Unit  # noqa: PLC0415

    columns = (
        ResultColumn("check", "Check", Unit.NAME, "what was looked for"),
        ResultColumn("state", "State", Unit.NAME, "ok, missing, not usable"),
        ResultColumn("enables", "Enables", Unit.NAME, "what it is for"),
        ResultColumn("found", "Found", Unit.NAME, "what there is"),
        ResultColumn("required", "Required", meaning="analysing is impossible without it"),
        ResultColumn("fix", "Fix", Unit.NAME, "the command or step that adds it"),
    )
    table = ResultTable(
        "checks",
        "Checks",
        columns,
        [(c.name, c.state.value, c.enables, c.found, c.is_required, c.fix) for c in checks],
    )
    return Result(
        "Doctor",
        [table],
        [_finding(check) for check in checks if check.fix],
        {
            "wavescope": __version__,
            "analysis": "ready" if is_ready else "not usable",
            "recording": recording_state(checks),
            **profiling_states(checks),
        },
    )


def _finding(check: Check) -> Finding:
    from wavescope.model.result import Finding, Severity  # noqa: PLC0415

    return Finding(
        "missing-" + check.name.lower().strip("/").replace("/", "-").replace(" ", "-"),
        Severity.PROBLEM if check.is_required else Severity.INFO,
        f"{check.name}: {check.state.value}",
        f"for {check.enables}",
        check.fix,
    )


def _leave_fixes_to_findings(result: Result) -> None:
    """A text table has no room for commands; the findings below it show them whole."""
    (table,) = result.tables
    shown = ("check", "state", "found")
    kept = [index for index, column in enumerate(table.columns) if column.name in shown]
    table.columns = tuple(table.columns[index] for index in kept)
    table.rows = [tuple(row[index] for index in kept) for row in table.rows]


def _native_self_test() -> str:
    try:
        from wavescope.collect.doctor.native_self_test import native_self_test  # noqa: PLC0415
    except ImportError as error:
        return str(error)
    return native_self_test()


def _collector_self_test() -> str:
    try:
        from wavescope.collect.doctor.collector_self_test import collector_self_test  # noqa: PLC0415
    except ImportError as error:
        return str(error)
    return collector_self_test()


COMMAND = Command(
    "doctor",
    "Check what this machine can analyse and record: Python packages, the native library and the "
    "collector (a small real test each), AMD and NVIDIA runtimes, GPUs, permissions, ROCm's "
    "profiler for counters and instruction traces, what plots and jobs need, disk space. "
    "Each missing thing comes with the step that adds it. Exit code 4 only when analysing itself "
    "cannot work.",
    (
        Example("wavescope doctor", "all checks, and how to fix what is missing"),
        Example("wavescope doctor --json", "the same for scripts"),
    ),
    _add_arguments,
    _run,
)
