"""What the doctor finds on machines made of folders."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from wavescope.collect.doctor import (
    Check,
    CheckState,
    analysis_works,
    profiling_states,
    recording_state,
)
from wavescope.collect.doctor import preflight as preflight_module
from wavescope.collect.doctor.preflight import preflight
from wavescope.collect.machine import GpuNode, Machine
from wavescope.errors import MachineError


def a_machine(root: Path, **values: object) -> Machine:
    defaults: dict[str, object] = {
        "root": root,
        "environment": {},
        "find_program": lambda _: None,
        "linker_listing": lambda: "",
        "folder": root,
    }
    return Machine(**{**defaults, **values})  # type: ignore[arg-type]


def checks_of(machine: Machine, trouble: str = "") -> dict[str, Check]:
    return {check.name: check for check in preflight(machine, lambda: trouble, lambda: "")}


def with_gpu(root: Path, node: int, version: int, simds: int) -> None:
    folder = root / f"sys/class/kfd/kfd/topology/nodes/{node}"
    folder.mkdir(parents=True)
    (folder / "properties").write_text(
        f"simd_count {simds}\nsimd_per_cu 4\ngfx_target_version {version}\n"
    )


def test_a_bare_machine_can_analyse_and_says_what_recording_lacks(tmp_path: Path) -> None:
    checks = checks_of(a_machine(tmp_path))

    assert analysis_works(list(checks.values()))
    assert checks["NumPy"].state is CheckState.OK
    assert checks["HSA runtime"].state is CheckState.MISSING
    assert checks["AMD GPUs"].found == "no GPU in the kernel's topology"
    assert recording_state(list(checks.values())) in {
        "not usable",
        "markers only: there is neither an HSA runtime nor an NVIDIA GPU",
    }
    for check in checks.values():
        if check.state is CheckState.OK:
            assert check.fix == "", check.name
        else:
            assert check.enables, check.name


def test_gpus_are_named_from_the_topology(tmp_path: Path) -> None:
    with_gpu(tmp_path, 0, 0, 0)
    with_gpu(tmp_path, 1, 90402, 1216)
    with_gpu(tmp_path, 2, 90010, 440)
    with_gpu(tmp_path, 10, 110000, 192)
    machine = a_machine(tmp_path)

    assert machine.gpu_nodes() == [
        GpuNode("gfx942", 304),
        GpuNode("gfx90a", 110),
        GpuNode("gfx1100", 48),
    ]
    assert checks_of(machine)["AMD GPUs"].found == (
        "gfx942 (304 CUs), gfx90a (110 CUs), gfx1100 (48 CUs)"
    )


def test_garbage_in_the_topology_is_no_gpu_and_no_crash(tmp_path: Path) -> None:
    folder = tmp_path / "sys/class/kfd/kfd/topology/nodes/0"
    folder.mkdir(parents=True)
    (folder / "properties").write_bytes(b"simd_count abc\n\xff\xfe\nnothing\n")

    assert a_machine(tmp_path).gpu_nodes() == [GpuNode("GPU", 0)]


def test_libraries_are_found_in_rocm_path_then_folders_then_the_linkers_cache(
    tmp_path: Path,
) -> None:
    rocm = tmp_path / "my-rocm"
    (rocm / "lib").mkdir(parents=True)
    (rocm / "lib/libhsa-runtime64.so.1").touch()
    (tmp_path / "usr/lib64").mkdir(parents=True)
    (tmp_path / "usr/lib64/libamdhip64.so").touch()
    listing = "\tlibroctx64.so.4 (libc6,x86-64) => /elsewhere/libroctx64.so.4\nno arrow\n"
    machine = a_machine(
        tmp_path, environment={"ROCM_PATH": str(rocm)}, linker_listing=lambda: listing
    )

    checks = checks_of(machine)

    assert checks["HSA runtime"].found == str(rocm / "lib/libhsa-runtime64.so.1")
    assert checks["HIP runtime"].found == str(tmp_path / "usr/lib64/libamdhip64.so")
    assert checks["roctx"].found == "/elsewhere/libroctx64.so.4"
    assert checks["NVIDIA GPUs"].state is CheckState.MISSING


def test_a_device_without_permission_names_the_groups(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may open everything")
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/kfd").touch(mode=0o000)

    check = checks_of(a_machine(tmp_path))["/dev/kfd"]

    assert check.state is CheckState.NOT_USABLE
    assert check.fix == "sudo usermod -aG render,video $USER, then log in again"


@pytest.mark.parametrize(
    ("level", "state"),
    [("2", CheckState.OK), ("-1", CheckState.OK), ("4", CheckState.NOT_USABLE)],
)
def test_perf_events(tmp_path: Path, level: str, state: CheckState) -> None:
    (tmp_path / "proc/sys/kernel").mkdir(parents=True)
    (tmp_path / "proc/sys/kernel/perf_event_paranoid").write_text(f"{level}\n")

    assert checks_of(a_machine(tmp_path))["perf events"].state is state


def test_with_a_broken_native_library_analysis_does_not_work(tmp_path: Path) -> None:
    checks = checks_of(a_machine(tmp_path), trouble="the self test read other values")

    assert checks["native library"].state is CheckState.NOT_USABLE
    assert checks["native library"].found == "the self test read other values"
    assert checks["native library"].fix == "pip install --force-reinstall wavescope"
    assert not analysis_works(list(checks.values()))


def test_a_missing_native_library_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preflight_module, "library_path", lambda name: None)

    check = checks_of(a_machine(tmp_path))["native library"]

    assert (check.state, check.is_required) == (CheckState.MISSING, True)
    assert check.fix == "pip install --force-reinstall wavescope"


def test_a_native_library_of_another_version_is_not_usable(tmp_path: Path) -> None:
    def of_another_version() -> str:
        raise MachineError("it is of another version", hint="install again")

    checks = preflight(a_machine(tmp_path), of_another_version, lambda: "")

    (check,) = [check for check in checks if check.name == "native library"]
    assert (check.state, check.found) == (CheckState.NOT_USABLE, "it is of another version")


def test_without_numpy_analysis_does_not_work(tmp_path: Path) -> None:
    class Bare(Machine):
        def module_version(self, name: str) -> str:
            raise ModuleNotFoundError(f"No module named '{name}'")

    checks = preflight(Bare(root=tmp_path, folder=tmp_path), lambda: "", lambda: "")

    assert not analysis_works(checks)
    numpy = next(check for check in checks if check.name == "NumPy")
    assert (numpy.state, numpy.fix) == (CheckState.MISSING, "pip install numpy")


@pytest.mark.parametrize(
    ("said", "state", "found", "fix"),
    [
        (
            "\n\nIMPORTANT: the C extensions\nfailed",
            CheckState.NOT_USABLE,
            "IMPORTANT: the C extensions",
            "pip install --force-reinstall numpy",
        ),
        ("", CheckState.NOT_USABLE, "RuntimeError", "pip install --force-reinstall numpy"),
    ],
)
def test_a_broken_numpy_is_installed_again(
    tmp_path: Path, said: str, state: CheckState, found: str, fix: str
) -> None:
    class Broken(Machine):
        def module_version(self, name: str) -> str:
            raise RuntimeError(said)

    numpy = checks_of(Broken(root=tmp_path, folder=tmp_path))["NumPy"]

    assert (numpy.state, numpy.found, numpy.fix) == (state, found, fix)
    assert numpy.is_required


@pytest.mark.parametrize(
    ("version", "state", "fix"),
    [
        ("1.25.9", CheckState.NOT_USABLE, "pip install --upgrade numpy"),
        ("1.26.0", CheckState.OK, ""),
        ("2.0.0rc1", CheckState.OK, ""),
    ],
)
def test_a_numpy_that_is_too_old_is_said(
    tmp_path: Path, version: str, state: CheckState, fix: str
) -> None:
    class Older(Machine):
        def module_version(self, name: str) -> str:
            return version

    numpy = checks_of(Older(root=tmp_path, folder=tmp_path))["NumPy"]

    assert (numpy.state, numpy.fix) == (state, fix)


def test_oldest_versions_are_those_of_the_package() -> None:
    text = (Path(__file__).resolve().parents[3] / "pyproject.toml").read_text(encoding="utf-8")
    wanted = [module.replace(".igzip", "") for module, *_ in preflight_module.NEEDED_MODULES]

    for package in wanted:
        assert f'  "{package}",\n' in text


def test_render_nodes_without_permission_name_the_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "dev/dri").mkdir(parents=True)
    for name in ("renderD128", "renderD129", "card0"):
        (tmp_path / "dev/dri" / name).touch()
    machine = a_machine(tmp_path)
    opened = checks_of(machine)["/dev/dri/renderD*"]
    monkeypatch.setattr(os, "access", lambda path, _: Path(path).name != "renderD129")

    closed = checks_of(machine)["/dev/dri/renderD*"]

    assert (opened.state, opened.found) == (CheckState.OK, "2 can be opened")
    assert closed.found == "no permission to open renderD129"
    assert closed.fix == "sudo usermod -aG render,video $USER, then log in again"


def test_missing_render_nodes_are_a_lack_only_where_there_is_a_gpu(tmp_path: Path) -> None:
    without = checks_of(a_machine(tmp_path))["/dev/dri/renderD*"]
    with_gpu(tmp_path, 1, 90402, 1216)

    assert (without.state, without.fix) == (CheckState.MISSING, "")
    assert checks_of(a_machine(tmp_path))["/dev/dri/renderD*"].fix == (
        "in a container add --device /dev/dri"
    )


def test_the_native_self_test_passes_here() -> None:
    from wavescope.collect.doctor.native_self_test import native_self_test

    assert native_self_test() == ""


def test_recording_is_ready_where_collector_runtime_and_gpu_are() -> None:
    def state(*names: str) -> str:
        return recording_state([Check(name, "x", CheckState.OK) for name in names])

    assert state("HSA runtime") == "not usable"
    assert state("collector").startswith("markers only: there is neither an HSA runtime")
    assert state("collector", "HSA runtime") == "markers only: there is no AMD or NVIDIA GPU"
    assert "--softgpu" in state("collector", "HSA runtime", "software GPU")
    assert state("collector", "HSA runtime", "AMD GPUs", "/dev/kfd") == "ready"
    assert state("collector", "NVIDIA GPUs", "CUDA driver", "CUPTI") == "ready"
    assert "bring libcupti" in state("collector", "NVIDIA GPUs", "CUDA driver")


def test_the_profiler_is_found_where_rocm_is_installed(tmp_path: Path) -> None:
    rocm = tmp_path / "opt/rocm"
    for folder in ("bin", "lib"):
        (rocm / folder).mkdir(parents=True)
    machine = a_machine(tmp_path)
    assert checks_of(machine)["rocprofv3"].state is CheckState.MISSING
    assert "rocprofiler-sdk" in checks_of(machine)["rocprofv3"].fix
    (rocm / "bin/rocprofv3").touch(mode=0o755)
    (rocm / "lib/libhiprtc.so.6").touch()

    checks = checks_of(machine)

    assert checks["rocprofv3"].found == str(rocm / "bin/rocprofv3")
    assert checks["HIPRTC"].found == str(rocm / "lib/libhiprtc.so.6")
    assert checks["trace decoder"].state is CheckState.MISSING
    assert "--decoder DIR" in checks["trace decoder"].fix


def test_the_trace_decoder_is_found_where_the_environment_says(tmp_path: Path) -> None:
    (tmp_path / "librocprof-trace-decoder.so").touch()
    machine = a_machine(tmp_path, environment={"ROCPROF_ATT_LIBRARY_PATH": str(tmp_path)})

    check = checks_of(machine)["trace decoder"]

    assert check.found == str(tmp_path / "librocprof-trace-decoder.so")


def test_counters_and_instruction_traces_say_what_they_lack() -> None:
    def states(*names: str) -> dict[str, str]:
        return profiling_states([Check(name, "x", CheckState.OK) for name in names])

    machine = ("AMD GPUs", "/dev/kfd")
    assert states(*machine) == {
        "counters": "not here: needs rocprofv3",
        "instruction_traces": "not here: needs rocprofv3, trace decoder",
    }
    assert states(*machine, "rocprofv3") == {
        "counters": "ready",
        "instruction_traces": "not here: needs trace decoder",
    }
    assert set(states(*machine, "rocprofv3", "trace decoder").values()) == {"ready"}


def test_what_plots_and_jobs_need_comes_with_the_command_that_adds_it(tmp_path: Path) -> None:
    class Bare(Machine):
        def has_module(self, name: str) -> bool:
            return False

    machine = Bare(tmp_path, {}, lambda _: None, lambda: "", tmp_path)
    fixes = {name: check.fix for name, check in checks_of(machine).items()}

    assert fixes["vl-convert"] == "pip install 'wavescope[plots]'"
    assert fixes["pyarrow"] == "pip install 'wavescope[arrow]'"
    assert fixes["pandas"] == "pip install 'wavescope[pandas]'"
    assert fixes["distributed"] == "pip install 'wavescope[cluster]'"
    assert fixes["dask-jobqueue"] == "pip install 'wavescope[cluster-slurm]'"
    assert fixes["asyncssh"] == "pip install 'wavescope[cluster-ssh]'"
    assert fixes["PyTorch"] == "pip install torch, for the program"
    assert fixes["hipcc"].endswith("apt-get install hipcc libamdhip64-dev")
    assert fixes["mpirun"].startswith("apt-get install openmpi-bin")


def test_a_collector_that_fails_its_test_is_not_usable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from wavescope.collect.doctor import preflight as module

    monkeypatch.setattr(module, "collector_library", lambda: tmp_path / "libc.so")
    found = preflight(a_machine(tmp_path), lambda: "", lambda: "0 marks were recorded")
    (check,) = [check for check in found if check.name == "collector"]
    assert (check.state, check.found) == (CheckState.NOT_USABLE, "0 marks were recorded")
    monkeypatch.setattr(module, "collector_library", lambda: None)
    found = preflight(a_machine(tmp_path), lambda: "", lambda: "")
    (check,) = [check for check in found if check.name == "collector"]
    assert check.state is CheckState.MISSING
    assert check.found == "this installation has no collector library"
    assert check.fix.endswith("pip install --force-reinstall wavescope")


def test_each_runtime_at_hand_has_a_row_and_a_damaged_one_a_fix(tmp_path: Path) -> None:
    (tmp_path / "cache/6.4/root").mkdir(parents=True)
    (tmp_path / "usr/lib").mkdir(parents=True)
    (tmp_path / "usr/lib/libhsa-runtime64.so.1").touch()
    machine = a_machine(tmp_path, environment={"WAVESCOPE_RUNTIMES": str(tmp_path / "cache")})

    checks = checks_of(machine)

    rows = {name: check for name, check in checks.items() if name.startswith("ROCm ")}
    assert list(rows) == ["ROCm machine", "ROCm 6.4"]
    assert rows["ROCm machine"].found == f"version not known in {tmp_path / 'usr/lib'}"
    assert rows["ROCm 6.4"].state is CheckState.NOT_USABLE
    assert rows["ROCm 6.4"].found.startswith("its manifest cannot be read")
    assert rows["ROCm 6.4"].fix == "wavescope softgpu --fetch 6.4"
