"""HIP calls of real programs, as the collector writes them: on the software GPU, and with a stand-in runtime."""

from __future__ import annotations

import collections
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.executed import with_collector
from tests.program_builds import built_program
from tests.recorded import (
    PATIENCE_S,
    PROGRAMS,
    Call,
    ProcessFiles,
    only_process,
    processes,
    recording_environment,
)
from tests.runtimes import behaviour
from tests.softgpu_programs import softgpu_variables

pytestmark = pytest.mark.recording

ARCHITECTURE = "gfx90a"


@dataclass(frozen=True)
class HipProgram:
    """A program of tests/programs, built, and the code object of its kernels."""

    program: Path
    code_object: Path


def hip_program_in(folder: Path, name: str) -> HipProgram:
    """A program of tests/programs with its code object, built into `folder`."""
    source = PROGRAMS / f"{name}.hip"
    architecture = f"--offload-arch={ARCHITECTURE}"
    built = HipProgram(
        built_program(source, folder / name, architecture, "-ldl"), folder / f"{name}.hsaco"
    )
    subprocess.run(
        ["hipcc", architecture, "-O1", "-w", "--genco", "-o", str(built.code_object), str(source)],
        env=os.environ | {"HIP_PLATFORM": "amd"},
        check=True,
        capture_output=True,
    )
    return built


@pytest.fixture(scope="module")
def hip_program(tmp_path_factory: pytest.TempPathFactory) -> HipProgram:
    return hip_program_in(tmp_path_factory.mktemp("hip"), "hip_calls")


def on_software_gpu(folder: Path, **settings: str) -> dict[str, str]:
    """The environment of a program that is recorded on the software GPU."""
    return with_collector(softgpu_variables(**settings), "hip", folder)


def calls_said(program: list[str], environment: dict[str, str]) -> dict[int, list[tuple[str, int]]]:
    """Run a program: by thread, the names and results of the calls that it says it made."""
    done = subprocess.run(
        program, env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 0, done.stderr
    said = collections.defaultdict(list)
    for line in done.stdout.splitlines():
        thread, name, result = line.split()
        said[int(thread)].append((name, int(result)))
    return dict(said)


def calls_recorded(process: ProcessFiles) -> dict[int, list[tuple[str, int]]]:
    found = collections.defaultdict(list)
    for call in process.calls():
        found[call.thread].append((call.name, call.result))
    return dict(found)


def recorded(folder: Path, built: HipProgram, *words: str, **settings: str) -> ProcessFiles:
    """Run a scenario; its process, after checking that it left each call once and in order."""
    said = calls_said([str(built.program), *words], on_software_gpu(folder, **settings))
    process = only_process(folder)
    assert calls_recorded(process) == said
    for call in process.calls():
        assert not call.is_open
        assert call.start_ns < call.end_ns
    assert [fact["text"] for fact in process.facts("note")] == []
    return process


def named(process: ProcessFiles, name: str) -> list[Call]:
    return [call for call in process.calls() if call.name == name]


def block(x: int, y: int = 1, z: int = 1) -> int:
    return x | y << 21 | z << 42


def test_memory_calls_keep_their_arguments(tmp_path: Path, hip_program: HipProgram) -> None:
    process = recorded(tmp_path, hip_program, "memory")

    device, impossible = named(process, "hipMalloc")
    (host,) = named(process, "hipHostMalloc")
    assert device.arguments["bytes"] == host.arguments["bytes"] == 4096
    assert device.arguments["address"] not in (0, host.arguments["address"])
    assert (impossible.result, impossible.arguments) == (2, {"address": 0, "bytes": 1 << 60})

    copies = {call.name: call.arguments for call in reversed(process.calls())}
    ends = {"dst": device.arguments["address"], "src": host.arguments["address"]}
    back = {"dst": ends["src"], "src": ends["dst"]}
    assert copies["hipMemcpy"] == {**ends, "bytes": 4096, "kind": 1}
    assert copies["hipMemcpyAsync"] == {**back, "bytes": 1000, "kind": 2}
    assert copies["hipMemcpyWithStream"] == {**back, "bytes": 1001, "kind": 2}
    assert copies["hipMemcpyHtoD"] == {**ends, "bytes": 24, "kind": 1}
    assert copies["hipMemcpyDtoH"] == {**back, "bytes": 25, "kind": 2}
    assert copies["hipMemcpy2D"]["bytes"] == 800
    assert (copies["hipMemcpy2D"]["width"], copies["hipMemcpy2D"]["height"]) == (100, 8)
    assert copies["hipMemcpyFromSymbol"]["offset"] == 4
    assert copies["hipMemset"] == {"dst": ends["dst"], "bytes": 512, "value": 7}
    assert copies["hipMemsetD32"] == {"dst": ends["dst"], "bytes": 512, "value": 9}
    assert copies["hipMemset3D"]["bytes"] == 64 * 4 * 2
    assert copies["hipMemset3D"]["dst"] == copies["hipMalloc3D"]["address"] != 0
    assert [call.arguments["device"] for call in named(process, "hipSetDevice")] == [0, 99]
    assert [call.result for call in named(process, "hipSetDevice")] == [0, 101]


def test_copies_and_fills_are_linked_to_their_calls(
    tmp_path: Path, hip_program: HipProgram
) -> None:
    process = recorded(tmp_path, hip_program, "memory")

    calls = {call.correlation: call for call in process.calls()}
    copied = {
        calls[int(op["correlation"])].name: int(op["kernel"])
        for op in process.ops()
        if op["kind"] == 2 and calls[int(op["correlation"])].arguments["kind"] != 77
    }
    kernels = {calls[int(op["correlation"])].name for op in process.ops() if op["kind"] == 1}
    assert {"hipMemset", "hipMemsetAsync", "hipMemset2D", "hipMemcpyDtoD"} <= kernels
    little = {"hipMemcpy": 4096, "hipMemcpyAsync": 1000, "hipMemcpyDtoH": 25}
    if behaviour().copies_little_by_kernels:
        assert set(little) <= kernels
    else:
        assert {name: copied[name] for name in little} == little


def test_launches_keep_kernel_shape_and_stream(tmp_path: Path, hip_program: HipProgram) -> None:
    process = recorded(tmp_path, hip_program, "streams")

    (first,) = named(process, "hipStreamCreate")
    (second,) = named(process, "hipStreamCreateWithFlags")
    scale, shift, refused = named(process, "hipLaunchKernel")
    assert scale.arguments == {
        "kernel": "_Z5scalePff", "grid_x": 3, "grid_y": 2, "grid_z": 1,
        "block": block(64, 2), "shared_bytes": 128,
    }  # fmt: skip
    assert (scale.stream, shift.stream) == (first.arguments["created"], second.arguments["created"])
    assert (shift.arguments["kernel"], shift.arguments["grid_x"]) == ("_Z5shiftPfi", 5)
    assert refused.result != 0
    assert refused.arguments["block"] == block(4096)
    (extended,) = named(process, "hipExtLaunchKernel")
    assert (extended.arguments["kernel"], extended.stream) == ("_Z5scalePff", shift.stream)
    (waited,) = named(process, "hipStreamWaitEvent")
    (made,) = named(process, "hipEventCreateWithFlags")
    assert (waited.stream, waited.arguments["event"]) == (shift.stream, made.arguments["event"])


def test_dispatches_are_linked_to_their_launches(tmp_path: Path, hip_program: HipProgram) -> None:
    process = recorded(tmp_path, hip_program, "streams")

    kernels = {fact["object"]: fact["name"] for fact in process.facts("kernel")}
    launches = {
        call.correlation: call.arguments["kernel"]
        for call in process.calls()
        if call.name in ("hipLaunchKernel", "hipExtLaunchKernel") and call.result == 0
    }
    dispatched = {int(op["correlation"]): kernels[int(op["kernel"])] for op in process.ops()}
    assert dispatched == launches
    assert len(process.ops()) == 3


def test_graph_replays_are_linked_to_their_launch(tmp_path: Path, hip_program: HipProgram) -> None:
    process = recorded(tmp_path, hip_program, "graphs")

    replays = [call.correlation for call in named(process, "hipGraphLaunch")]
    assert sorted(process.ops()["correlation"].tolist()) == sorted(replays * 5)
    (captured,) = named(process, "hipStreamEndCapture")
    (instantiated,) = named(process, "hipGraphInstantiate")
    assert captured.arguments["graph"] == instantiated.arguments["graph"] != 0
    assert {call.arguments["graph"] for call in named(process, "hipGraphLaunch")} == {
        instantiated.arguments["executable"]
    }


def test_module_launches_know_their_kernel_after_an_unload(
    tmp_path: Path, hip_program: HipProgram
) -> None:
    process = recorded(tmp_path, hip_program, "modules", str(hip_program.code_object))

    kernels = ["_Z5scalePff", "_Z5shiftPfi"]
    for name in ("hipModuleLaunchKernel", "hipExtModuleLaunchKernel"):
        assert [call.arguments["kernel"] for call in named(process, name)] == kernels
        assert [call.arguments["grid_x"] for call in named(process, name)] == [4, 4]
    assert [call.arguments["name"] for call in named(process, "hipModuleGetFunction")] == kernels
    paths = {call.arguments["path"] for call in named(process, "hipModuleLoad")}
    assert paths == {str(hip_program.code_object)}


def test_threads_keep_their_order(tmp_path: Path, hip_program: HipProgram) -> None:
    process = recorded(tmp_path, hip_program, "threads")

    calls = process.calls()
    assert len(calls) == 4 * 203
    assert len({call.correlation for call in calls}) == len(calls)
    launches = {call.correlation: call.thread for call in named(process, "hipLaunchKernel")}
    assert {int(op["correlation"]): int(op["thread"]) for op in process.ops()} == launches


def test_calls_and_dispatches_know_their_range(tmp_path: Path, hip_program: HipProgram) -> None:
    process = recorded(tmp_path, hip_program, "marked")

    outer, inner = process.marker("outer")["id"], process.marker("inner")["id"]
    assert [call.marker for call in process.calls()] == [0, outer, inner, 0]
    assert process.ops()["marker"].tolist() == [outer, inner]


def test_a_forked_child_writes_its_own_calls(tmp_path: Path, hip_program: HipProgram) -> None:
    said = calls_said([str(hip_program.program), "forks"], on_software_gpu(tmp_path))

    both = processes(tmp_path)
    assert len(both) == 2
    assert {process.pid: calls_recorded(process)[process.pid] for process in both} == said
    for process in both:
        assert {call.arguments["kernel"] for call in named(process, "hipLaunchKernel")} == {
            "_Z5scalePff"
        }
        assert sorted(process.ops()["correlation"].tolist()) == [3, 4, 5]


def test_a_killed_process_keeps_the_call_it_was_in(tmp_path: Path, hip_program: HipProgram) -> None:
    durations = tmp_path / "durations"
    durations.write_text("*scale*,3600000000000\n")
    session = tmp_path / "session"
    environment = on_software_gpu(session, WAVESCOPE_SOFTGPU_DURATIONS=str(durations))
    with subprocess.Popen(
        [str(hip_program.program), "waits"], env=environment, stdout=subprocess.PIPE, text=True
    ) as program:
        assert program.stdout is not None
        try:
            assert "waiting\n" in iter(program.stdout.readline, "")
            process = only_process(session)
            deadline = time.monotonic() + PATIENCE_S
            while len(process.calls()) < 3 and time.monotonic() < deadline:
                time.sleep(0.01)
        finally:
            program.kill()
        assert program.wait() == -signal.SIGKILL

    process.forget_shared_memory()
    allocated, launched, waited = process.calls()
    assert (allocated.is_open, launched.is_open) == (False, False)
    assert (waited.name, waited.is_open, waited.end_ns) == ("hipDeviceSynchronize", True, 0)


@pytest.mark.parametrize("mode", ["lite", "standard", "full"])
def test_other_modes_record_no_calls(tmp_path: Path, hip_program: HipProgram, mode: str) -> None:
    environment = on_software_gpu(tmp_path) | {"WAVESCOPE_MODE": mode}

    calls_said([str(hip_program.program), "marked"], environment)

    process = only_process(tmp_path)
    assert process.calls() == []
    assert process.facts("function") == []
    assert set(process.ops()["correlation"]) == {0}


def test_without_an_output_programs_run_the_same(tmp_path: Path, hip_program: HipProgram) -> None:
    recording = on_software_gpu(tmp_path)
    silent = {name: value for name, value in recording.items() if name != "WAVESCOPE_OUTPUT"}
    command = [str(hip_program.program), "streams"]

    runs = (silent, softgpu_variables())
    said = [list(calls_said(command, environment).values()) for environment in runs]

    assert said[0] == said[1]
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def plain_caller(tmp_path: Path) -> Path:
    """A library that calls a stand-in for the HIP runtime, bound to versions as HIP's are."""
    runtime, caller = tmp_path / "libamdhip64.so.5", tmp_path / "caller.so"
    versions = tmp_path / "versions.map"
    versions.write_text("hip_4.2 { global: hip*; };\n")
    named = ["-Wl,-soname,libamdhip64.so.5", f"-Wl,--version-script={versions}"]
    commands = [
        [*named, "-o", str(runtime), str(PROGRAMS / "plain_runtime.c")],
        ["-o", str(caller), str(PROGRAMS / "plain_caller.c"), str(runtime)],
    ]
    if shutil.which("cc") is None:
        pytest.skip("no C compiler to build a stand-in for the HIP runtime with")
    for words in commands:
        command = ["cc", "-shared", "-fPIC", f"-Wl,-rpath,{tmp_path}", *words]
        subprocess.run(command, check=True, capture_output=True)
    return caller


def run_python(program: str, environment: dict[str, str]) -> str:
    return subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    ).stdout


def test_a_runtime_outside_of_the_global_list_is_found(tmp_path: Path, plain_caller: Path) -> None:
    session = tmp_path / "session"
    program = f"""
import ctypes
lib = ctypes.CDLL({str(plain_caller)!r})
lib.allocate.restype = ctypes.c_size_t
print(lib.copy(100), lib.copy_async(12), lib.copy_async(13), lib.allocate(0x234))
"""

    said = run_python(program, recording_environment(session, WAVESCOPE_MODE="hip"))

    assert said.split() == ["0", "0", "1", str(0x1234)]
    calls = only_process(session).calls()
    ends = {"dst": 0x10, "src": 0x20}
    assert [(call.name, call.result, call.stream, call.arguments) for call in calls] == [
        ("hipMemcpy", 0, 0, {**ends, "bytes": 100, "kind": 2**64 - 1}),
        ("hipMemcpyAsync", 0, 0x30, {**ends, "bytes": 12, "kind": 3}),
        ("hipMemcpyAsync", 1, 0x30, {**ends, "bytes": 13, "kind": 3}),
        ("hipMalloc", 0, 0, {"address": 0x1234, "bytes": 0x234}),
    ]


def test_functions_that_are_looked_up_are_recorded_too(tmp_path: Path, plain_caller: Path) -> None:
    """By the library's handle, as ctypes and Triton do, and by HIP's own way of asking."""
    session = tmp_path / "session"
    program = f"""
import ctypes
runtime = ctypes.CDLL({str(plain_caller.parent / "libamdhip64.so.5")!r})
print(runtime.hipMemcpyAsync(16, 32, ctypes.c_size_t(13), 3, 48))
asked = ctypes.c_void_p()
kind = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_size_t] * 5)
for flags in (0, 2):
    name = b"hipMemcpyAsync"
    print(runtime.hipGetProcAddress(name, ctypes.byref(asked), 600, ctypes.c_uint64(flags), None))
    print(kind(asked.value)(16, 32, 14 + flags, 3, 48))
print(runtime.hipGetProcAddress(b"hipNothing", ctypes.byref(asked), 600, ctypes.c_uint64(0), None))
own = ctypes.CDLL(None)
own.dlsym.restype = ctypes.c_void_p
print(own.dlsym(None, b"hipMemcpyAsync") is not None, own.dlsym(None, b"no such function"))
"""

    said = run_python(program, recording_environment(session, WAVESCOPE_MODE="hip"))

    assert said.split() == ["1", "0", "0", "0", "77", "1", "True", "None"]
    calls = only_process(session).calls()
    assert [(call.name, call.result, call.arguments["bytes"]) for call in calls] == [
        ("hipMemcpyAsync", 1, 13),
        ("hipMemcpyAsync", 0, 14),
    ]


def test_the_global_list_has_what_the_runtime_has(tmp_path: Path, plain_caller: Path) -> None:
    """Programs ask it whether the runtime has a function; ours of other versions do not answer."""
    session = tmp_path / "session"
    program = f"""
import ctypes
own = ctypes.CDLL(None)
own.dlsym.restype = ctypes.c_void_p
own.dlerror.restype = ctypes.c_char_p
def found(*names):
    print(*(own.dlsym(None, name) is not None for name in names))
names = b"hipMemcpyAsync", b"hipGetProcAddress", b"hipLaunchKernelExC", b"hipGetDriverEntryPoint"
found(*names)
lib = ctypes.CDLL({str(plain_caller)!r})
found(*names)
print(b"undefined symbol: hipGetDriverEntryPoint" in own.dlerror())
"""

    said = run_python(program, recording_environment(session, WAVESCOPE_MODE="hip"))

    assert said.splitlines() == ["False False False False", "True True False False", "True"]
    assert processes(session) == []


def test_a_lookup_by_version_goes_past_the_collector(tmp_path: Path, plain_caller: Path) -> None:
    """Bound symbols have versions too, and are recorded: ours have none, which fits all."""
    session = tmp_path / "session"
    program = f"""
import ctypes
lib = ctypes.CDLL({str(plain_caller)!r})
runtime = ctypes.CDLL({str(plain_caller.parent / "libamdhip64.so.5")!r})
own = ctypes.CDLL(None)
own.dlvsym.restype = ctypes.c_void_p
handle = ctypes.c_void_p(runtime._handle)
found = own.dlvsym(handle, b"hipMemcpyAsync", b"hip_4.2")
kind = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_size_t] * 5)
print(kind(found)(16, 32, 13, 3, 48), own.dlvsym(handle, b"hipMemcpyAsync", b"hip_6.4"))
print(lib.copy_async(12))
"""

    said = run_python(program, recording_environment(session, WAVESCOPE_MODE="hip"))

    assert said.split() == ["1", "None", "0"]
    assert [call.arguments["bytes"] for call in only_process(session).calls()] == [12]


def test_copies_of_the_driver_are_read_as_the_runtime_has_them(
    tmp_path: Path, plain_caller: Path
) -> None:
    """The stand-in is of HIP 5, where the numbers of HIP_MEMCPY3D have 32 bits."""
    session = tmp_path / "session"
    program = f"""
import ctypes, struct
runtime = ctypes.CDLL({str(plain_caller.parent / "libamdhip64.so.5")!r})
end = "4Iixxxx3P2I"
copy = struct.pack("=" + end.replace("P", "Q") * 2 + "3I4x",
                   0, 0, 0, 0, 2, 0, 0x51, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0xd1, 0, 0, 0, 2, 3, 4)
print(runtime.hipDrvMemcpy3D(copy), runtime.hipDrvMemcpy3D(None))
"""

    said = run_python(program, recording_environment(session, WAVESCOPE_MODE="hip"))

    assert said.split() == ["0", "1"]
    copied, refused = only_process(session).calls()
    assert copied.arguments == {
        "dst": 0xD1, "src": 0x51, "bytes": 24, "kind": 4, "width": 2, "height": 3,
    }  # fmt: skip
    assert set(refused.arguments.values()) == {0, 4}


def test_a_function_that_nobody_has_is_refused(tmp_path: Path) -> None:
    program = """
import ctypes
lib = ctypes.CDLL(None)
print(lib.hipDeviceSynchronize(), lib.hipDeviceSynchronize(), lib.hipStreamQuery(None))
"""

    said = run_python(program, recording_environment(tmp_path, WAVESCOPE_MODE="hip"))

    assert said.split() == ["500", "500", "500"]
    process = only_process(tmp_path)
    assert process.calls() == []
    assert [fact["text"] for fact in process.facts("note")] == [
        "no loaded library has hipDeviceSynchronize: the call was refused",
        "no loaded library has hipStreamQuery: the call was refused",
    ]


def test_calls_are_not_recorded_while_paused(tmp_path: Path, plain_caller: Path) -> None:
    session = tmp_path / "session"
    program = f"""
import ctypes, wavescope
lib = ctypes.CDLL({str(plain_caller)!r})
lib.copy(1)
wavescope.pause()
lib.copy(2)
wavescope.resume()
lib.copy(3)
"""

    run_python(program, recording_environment(session, WAVESCOPE_MODE="hip"))

    calls = only_process(session).calls()
    assert [call.arguments["bytes"] for call in calls] == [1, 3]
