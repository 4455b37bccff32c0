"""Every way of HIP to launch a kernel: what is recorded of the call, and the dispatch that is linked to it."""

from __future__ import annotations

import collections
from pathlib import Path

import pytest

from tests.integration.test_collector_hip import (
    HipProgram,
    block,
    calls_said,
    hip_program_in,
    named,
    on_software_gpu,
    recorded,
)
from tests.recorded import Call, ProcessFiles
from tests.runtimes import behaviour
from tests.softgpu_programs import softgpu_variables

pytestmark = pytest.mark.recording

KERNEL = "_Z5scalePff"
SHAPE = {
    "kernel": KERNEL, "grid_x": 3, "grid_y": 2, "grid_z": 1,
    "block": block(64, 2), "shared_bytes": 128,
}  # fmt: skip
SEVERAL_DEVICES = {"kernel": KERNEL, "count": 1, "flags": 0}


@pytest.fixture(scope="module")
def hip_launches(tmp_path_factory: pytest.TempPathFactory) -> HipProgram:
    return hip_program_in(tmp_path_factory.mktemp("hip"), "hip_launches")


def launched(folder: Path, built: HipProgram, scenario: str) -> ProcessFiles:
    return recorded(folder, built, scenario, str(built.code_object))


def launches(process: ProcessFiles) -> dict[str, Call]:
    return {call.name: call for call in process.calls() if "kernel" in call.arguments}


def kernels_by_call(process: ProcessFiles) -> dict[str, list[str]]:
    """The kernels that were dispatched, by the name of the call that they are linked to."""
    names = {fact["object"]: fact["name"] for fact in process.facts("kernel")}
    calls = {call.correlation: call.name for call in process.calls()}
    found = collections.defaultdict(list)
    for op in process.ops():
        found[calls[int(op["correlation"])]].append(names[int(op["kernel"])])
    return dict(found)


def test_launches_of_host_functions(tmp_path: Path, hip_launches: HipProgram) -> None:
    process = launched(tmp_path, hip_launches, "stubs")

    found = launches(process)
    assert {name: call.arguments for name, call in found.items()} == {
        "hipLaunchKernel": SHAPE,
        "hipLaunchKernel_spt": SHAPE,
        "hipExtLaunchKernel": SHAPE,
        "hipLaunchCooperativeKernel": SHAPE,
        "hipLaunchCooperativeKernel_spt": SHAPE,
        "hipLaunchCooperativeKernelMultiDevice": SEVERAL_DEVICES,
        "hipExtLaunchMultiKernelMultiDevice": SEVERAL_DEVICES,
    }
    (stream,) = named(process, "hipStreamCreate")
    assert found.pop("hipLaunchKernel_spt").stream == 0
    assert {call.stream for call in found.values()} == {stream.arguments["created"]}


def test_launches_of_module_functions(tmp_path: Path, hip_launches: HipProgram) -> None:
    process = launched(tmp_path, hip_launches, "functions")

    assert {name: call.arguments for name, call in launches(process).items()} == {
        "hipModuleLaunchKernel": SHAPE,
        "hipExtModuleLaunchKernel": SHAPE,
        "hipHccModuleLaunchKernel": SHAPE,
    }


@pytest.mark.parametrize("scenario", ["stubs", "functions"])
def test_each_launch_has_its_dispatch(
    tmp_path: Path, hip_launches: HipProgram, scenario: str
) -> None:
    process = launched(tmp_path, hip_launches, scenario)

    by_call = kernels_by_call(process)
    assert set(by_call) == set(launches(process))
    for name, kernels in by_call.items():
        assert kernels.count(KERNEL) == 1, name


def test_changes_of_a_graph(tmp_path: Path, hip_launches: HipProgram) -> None:
    process = launched(tmp_path, hip_launches, "graph")

    (allocated,) = named(process, "hipMalloc")
    (made,) = named(process, "hipGraphInstantiate")
    (kernel,) = named(process, "hipGraphExecKernelNodeSetParams")
    (fill,) = named(process, "hipGraphExecMemsetNodeSetParams")
    assert kernel.arguments == SHAPE | {"grid_x": 5, "grid_y": 1}
    node = fill.arguments.pop("node")
    assert node != 0
    assert fill.arguments == {
        "dst": allocated.arguments["address"], "bytes": 256, "value": 7,
        "executable": made.arguments["executable"],
    }  # fmt: skip
    assert kernels_by_call(process)["hipGraphLaunch"].count(KERNEL) == 1


def test_newer_functions_where_the_runtime_has_them(
    tmp_path: Path, hip_launches: HipProgram
) -> None:
    process = launched(tmp_path / "session", hip_launches, "newer")

    by_call = kernels_by_call(process)
    assert set(launches(process)) == behaviour().newer_launches
    for name, call in launches(process).items():
        if name in ("hipGraphAddNode", "hipGraphExecNodeSetParams"):
            assert (call.arguments["kernel"], call.arguments["type"]) == (KERNEL, 0)
        else:
            assert call.arguments == SHAPE
            assert by_call[name].count(KERNEL) == len(named(process, name))


def test_a_program_that_asks_finds_the_functions_of_its_runtime(
    tmp_path: Path, hip_launches: HipProgram
) -> None:
    """Not those that only the collector has, which would answer hipErrorNotFound."""
    command = [str(hip_launches.program), "newer", str(hip_launches.code_object)]

    runs = (on_software_gpu(tmp_path), softgpu_variables())
    said = [list(calls_said(command, environment).values()) for environment in runs]

    assert said[0] == said[1]
    assert {result for calls in said[0] for _, result in calls} == {0}
