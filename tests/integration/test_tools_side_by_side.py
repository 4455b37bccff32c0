"""A recording that another tool keeps the GPU's work from says so, before and afterwards.

The runtime at hand does not register with rocprofiler; that it then ignores HSA_TOOLS_LIB is played
by taking the variable away from the program.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.executed import built
from tests.recorded import PATIENCE_S, collector
from tests.softgpu_programs import require_softgpu
from wavescope.formats import open_trace
from wavescope.model.trace import Trace

DISPATCHES = 50
IGNORED = ("env", "-u", "HSA_TOOLS_LIB")


@pytest.fixture
def program(programs: Path) -> list[str]:
    collector()
    require_softgpu()
    return [str(built("hsa_load.c", programs)), "1", "1", str(DISPATCHES), "none", "exit"]


@pytest.fixture
def tool(tmp_path: Path) -> Path:
    """A library that rocprofiler-register would take for a tool."""
    source, library = tmp_path / "tool.c", tmp_path / "libtool.so"
    source.write_text("void* rocprofiler_configure(void) { return 0; }\n")
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source], check=True)
    return library


def traced(
    folder: Path, *arguments: str, **variables: str
) -> tuple[subprocess.CompletedProcess[str], Path]:
    folder.mkdir(exist_ok=True)
    output = folder / "trace.db"
    done = subprocess.run(
        [sys.executable, "-m", "wavescope", "trace", "--softgpu", "-o", str(output), *arguments],
        env=os.environ | {"XDG_RUNTIME_DIR": str(folder)} | variables,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done, output


def bringing(library: Path) -> tuple[str, ...]:
    """The beginning of a command whose program has `library` in it, which nobody set up."""
    return ("sh", "-c", f'LD_PRELOAD="$LD_PRELOAD:{library}" exec "$@"', "sh")


def notes_of(trace: Trace) -> list[str]:
    return [tag.removeprefix("note: ") for tag in trace.metadata if tag.startswith("note: ")]


def test_a_tool_that_took_the_runtime_is_named(
    program: list[str], tool: Path, tmp_path: Path
) -> None:
    done, output = traced(tmp_path, *IGNORED, *program, LD_PRELOAD=str(tool))

    assert f"another tool is set up (LD_PRELOAD={tool})" in done.stderr
    reason = (
        "dispatches and copies not recorded: another tool (libtool.so) is registered with the HSA "
        "runtime and records them instead; --other-tools off turns it off"
    )
    assert reason in done.stderr
    with open_trace(output) as trace:
        assert len(trace.ops) == 0
        assert notes_of(trace) == [reason]
        assert "--other-tools off" in trace.metadata["other_tools"]


def test_a_tool_by_variable_is_named_even_when_only_the_program_has_it(
    program: list[str], tmp_path: Path
) -> None:
    ignored = ("--other-tools", "keep", *IGNORED)
    done, output = traced(tmp_path, *ignored, "ROCP_TOOL_LIBRARIES=/opt/tool.so", *program)

    assert "another tool is set up" not in done.stderr
    assert "another tool (ROCP_TOOL_LIBRARIES=/opt/tool.so) is registered" in done.stderr
    with open_trace(output) as trace:
        assert len(notes_of(trace)) == 1


def test_a_changed_variable_is_told(program: list[str], tmp_path: Path) -> None:
    done, _ = traced(tmp_path, *IGNORED, *program)

    assert (
        "the HSA runtime did not load the collector, because HSA_TOOLS_LIB was unset" in done.stderr
    )


def test_other_tools_off_records_everything(program: list[str], tool: Path, tmp_path: Path) -> None:
    variables = {"ROCP_TOOL_LIBRARIES": str(tool), "HSA_TOOLS_LIB": "/nowhere/libother.so"}
    done, output = traced(tmp_path, "--other-tools", "off", *program, **variables)

    assert (
        f"other tools are turned off: ROCP_TOOL_LIBRARIES={tool}, "
        "HSA_TOOLS_LIB=/nowhere/libother.so" in done.stderr
    )
    with open_trace(output) as trace:
        assert (trace.op_kind == 0).sum() == DISPATCHES
        assert notes_of(trace) == []
        assert trace.metadata["other_tools"].startswith("other tools are turned off")


def test_a_tool_that_a_library_brings_along_does_not_get_the_work(
    program: list[str], tool: Path, tmp_path: Path
) -> None:
    _, output = traced(tmp_path, *bringing(tool), *program)

    note = (
        "another tool in the program (libtool.so) got no dispatches and copies, as they are "
        "recorded here; --other-tools keep leaves them to it"
    )
    with open_trace(output) as trace:
        assert (trace.op_kind == 0).sum() == DISPATCHES
        assert notes_of(trace) == [note]


def test_a_profiler_that_hides_its_function_is_known_by_its_library(
    program: list[str], tmp_path: Path
) -> None:
    source, library = tmp_path / "sdk.c", tmp_path / "librocprofiler-sdk.so.1"
    source.write_text("int nothing_to_see;\n")
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source], check=True)
    command = (*bringing(library), *program)

    _, output = traced(tmp_path / "auto", *command)
    _, kept = traced(tmp_path / "kept", "--other-tools", "keep", *command)
    missed, _ = traced(tmp_path / "missed", "--other-tools", "keep", *IGNORED, *command)

    with open_trace(output) as trace:
        assert [note.partition(" got ")[0] for note in notes_of(trace)] == [
            "another tool in the program (librocprofiler-sdk.so.1)"
        ]
    with open_trace(kept) as trace:
        assert (trace.op_kind == 0).sum() == DISPATCHES
        assert notes_of(trace) == []
    assert "another tool (librocprofiler-sdk.so.1) is registered" in missed.stderr


def test_a_tool_beside_a_runtime_that_does_not_register_costs_nothing(
    program: list[str], tool: Path, tmp_path: Path
) -> None:
    _, output = traced(tmp_path, *program, LD_PRELOAD=str(tool))

    with open_trace(output) as trace:
        assert (trace.op_kind == 0).sum() == DISPATCHES
        assert notes_of(trace) == []


def test_processes_without_a_gpu_say_nothing(tool: Path, tmp_path: Path) -> None:
    done, output = traced(tmp_path, *IGNORED, "true", LD_PRELOAD=str(tool))

    assert not output.exists()
    assert "nothing was recorded" in done.stderr
    assert f"LD_PRELOAD={tool}" in done.stderr
