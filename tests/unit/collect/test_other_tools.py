"""Other tools are found in the environment, named, and left out where that is wanted."""

from __future__ import annotations

from pathlib import Path

import pytest

from wavescope.collect.cuda_tools import cuda_tools
from wavescope.collect.record_options import OtherTools, RecordOptions
from wavescope.collect.recording.injection import Injection, injected_environment
from wavescope.collect.recording.obstacles import (
    hsa_tools,
    other_tools_sentences,
    registered_tools,
    without_other_tools,
)

ROCPROFV3 = "ROCP_TOOL_LIBRARIES=/opt/rocm/lib/librocprofiler-sdk-tool.so"
OWN = "/opt/lib/libwavescope_collector.so"


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, []),
        ({"ROCP_TOOL_LIBRARIES": ""}, []),
        (dict([ROCPROFV3.split("=")]), [ROCPROFV3]),
        ({"ROCPROFILER_REGISTER_LIBRARY": "a.so"}, ["ROCPROFILER_REGISTER_LIBRARY=a.so"]),
        ({"ROCPROFILER_REGISTER_FORCE_LOAD": "1"}, ["ROCPROFILER_REGISTER_FORCE_LOAD=1"]),
        ({"ROCPROFILER_REGISTER_FORCE_LOAD": "No"}, []),
        ({"ROCP_TOOL_LIBRARIES": "a.so", "ROCPROFILER_REGISTER_FORCE_LOAD": "0"}, []),
        ({"LD_PRELOAD": "/nowhere/lib.so", "HSA_TOOLS_LIB": "lib.so"}, []),
    ],
)
def test_variables_of_registered_tools(environment: dict[str, str], expected: list[str]) -> None:
    assert registered_tools(environment) == expected


def test_preloaded_tools_are_known_by_their_function(tmp_path: Path) -> None:
    tool, other, empty = (tmp_path / name for name in ("tool.so", "other.so", "empty.so"))
    tool.write_bytes(b"\x7fELF...\0rocprofiler_configure\0...")
    other.write_bytes(b"\x7fELF...\0rocprofiler_configure_more\0")
    empty.write_bytes(b"")
    own = tmp_path / "libwavescope_collector.so"
    own.write_bytes(tool.read_bytes())

    found = registered_tools({"LD_PRELOAD": f"{other}:{tool} {empty}:{own}"})

    assert found == [f"LD_PRELOAD={tool}"]


def test_tools_of_the_hsa_runtime() -> None:
    assert hsa_tools({"HSA_TOOLS_LIB": f"liba.so {OWN}  libb.so"}) == ["liba.so", "libb.so"]
    assert hsa_tools({"HSA_TOOLS_LIB": OWN}) == []


def test_nothing_is_said_without_other_tools() -> None:
    for choice in OtherTools:
        assert other_tools_sentences(choice, {"HSA_TOOLS_LIB": OWN, "HOME": "/"}) == []


def test_sentences_name_the_tool_who_records_and_how_to_choose() -> None:
    environment = {**dict([ROCPROFV3.split("=")]), "HSA_TOOLS_LIB": "liba.so"}

    kept = other_tools_sentences(OtherTools.KEEP, environment)
    off = other_tools_sentences(OtherTools.OFF, environment)

    assert len(kept) == 2
    assert ROCPROFV3 in kept[0]
    assert "that tool records the GPU's work and this trace will not have it" in kept[0]
    assert "HSA_TOOLS_LIB (liba.so)" in kept[1]
    assert all("--other-tools off" in sentence for sentence in kept)
    assert off == [f"other tools are turned off: {ROCPROFV3}, HSA_TOOLS_LIB=liba.so"]


def test_the_environment_without_other_tools() -> None:
    environment = {
        "HOME": "/",
        "ROCP_TOOL_LIBRARIES": "tool.so",
        "ROCPROFILER_REGISTER_LIBRARY": "sdk.so",
        "HSA_TOOLS_ROCPROFILER_V1_TOOLS": "1",
        "HSA_TOOLS_LIB": f"liba.so {OWN}",
        "LD_PRELOAD": "tool.so",
    }

    assert without_other_tools(environment) == {
        "HOME": "/",
        "HSA_TOOLS_LIB": OWN,
        "HSA_TOOLS_DISABLE_REGISTER": "1",
        "LD_PRELOAD": "tool.so",
    }


def test_tools_of_cuda_programs_are_named_by_variable_and_preloaded_library() -> None:
    preloaded = (
        f"/opt/nvidia/libToolsInjectionProxy64.so:libm.so {OWN}:/x/libsanitizer-collection.so"
    )
    environment = {"CUDA_INJECTION64_PATH": "/opt/other.so", "LD_PRELOAD": preloaded}

    assert cuda_tools(environment) == [
        "CUDA_INJECTION64_PATH=/opt/other.so",
        "Nsight Systems by LD_PRELOAD=/opt/nvidia/libToolsInjectionProxy64.so",
        "Compute Sanitizer by LD_PRELOAD=/x/libsanitizer-collection.so",
    ]
    assert cuda_tools({"CUDA_INJECTION64_PATH": OWN, "LD_PRELOAD": OWN}) == []


def test_tools_of_cuda_keep_the_gpus_work_unless_they_are_turned_off() -> None:
    environment = {"CUDA_INJECTION64_PATH": "/a.so", "NVTX_INJECTION64_PATH": "/n.so", "A": "1"}

    kept = other_tools_sentences(OtherTools.KEEP, environment)

    assert [sentence.partition(":")[0] for sentence in kept] == [
        "another tool is set up for CUDA (CUDA_INJECTION64_PATH=/a.so)",
        "another tool takes the markers of NVTX (NVTX_INJECTION64_PATH=/n.so)",
    ]
    assert all("--other-tools off" in sentence for sentence in kept)
    assert other_tools_sentences(OtherTools.OFF, environment) == [
        "other tools are turned off: CUDA_INJECTION64_PATH=/a.so, NVTX_INJECTION64_PATH=/n.so"
    ]
    assert without_other_tools(environment) == {"A": "1", "HSA_TOOLS_DISABLE_REGISTER": "1"}


def test_turned_off_tools_of_cuda_make_room_for_the_collector() -> None:
    given = {"CUDA_INJECTION64_PATH": "/a.so", "NVTX_INJECTION64_PATH": "/n.so"}
    options = RecordOptions(("prog",), other_tools=OtherTools.OFF)

    result = injected_environment(options, given, Injection(Path(OWN), Path("/data/session")))

    assert (result["CUDA_INJECTION64_PATH"], result["NVTX_INJECTION64_PATH"]) == (OWN, OWN)


@pytest.mark.parametrize("choice", OtherTools)
def test_the_recorded_program_gets_what_was_chosen(choice: OtherTools) -> None:
    given = {"ROCP_TOOL_LIBRARIES": "tool.so", "HSA_TOOLS_LIB": "liba.so"}
    options = RecordOptions(("prog",), Path("trace.db"), other_tools=choice)

    result = injected_environment(options, given, Injection(Path(OWN), Path("/data/session")))

    if choice is not OtherTools.OFF:  # a tool that was set up is kept
        assert result["ROCP_TOOL_LIBRARIES"] == "tool.so"
        assert result["HSA_TOOLS_LIB"] == f"liba.so {OWN}"
        assert "HSA_TOOLS_DISABLE_REGISTER" not in result
    else:
        assert "ROCP_TOOL_LIBRARIES" not in result
        assert result["HSA_TOOLS_LIB"] == OWN
        assert result["HSA_TOOLS_DISABLE_REGISTER"] == "1"
    assert "HSA_TOOLS_ROCPROFILER_V1_TOOLS" not in result


@pytest.mark.parametrize(
    ("choice", "command", "given", "expected"),
    [
        (OtherTools.AUTO, "python3 train.py", {}, "1"),
        (OtherTools.AUTO, "python3 train.py", {"HSA_TOOLS_LIB": "liba.so"}, "1"),
        (OtherTools.AUTO, "python3 train.py", {"HSA_TOOLS_DISABLE_REGISTER": "0"}, "0"),
        (OtherTools.AUTO, "python3 train.py", {"ROCP_TOOL_LIBRARIES": "tool.so"}, None),
        (OtherTools.AUTO, "rocprofv3 --kernel-trace -- python3 train.py", {}, None),
        (OtherTools.KEEP, "python3 train.py", {}, None),
    ],
)
def test_only_who_asked_for_another_tool_has_the_runtime_register_with_one(
    choice: OtherTools, command: str, given: dict[str, str], expected: str | None
) -> None:
    options = RecordOptions(tuple(command.split()), Path("trace.db"), other_tools=choice)

    result = injected_environment(options, given, Injection(Path(OWN), Path("/data/session")))

    assert result.get("HSA_TOOLS_DISABLE_REGISTER") == expected
