"""Options of the software GPU, the variables they become, and what is said when it cannot run."""

from __future__ import annotations

from pathlib import Path

import pytest

from wavescope.collect.doctor import CheckState
from wavescope.collect.doctor.preflight import preflight
from wavescope.collect.machine import Machine
from wavescope.collect.softgpu import (
    SoftGpuOptions,
    environment,
    softgpu_environment,
    softgpu_trouble,
)
from wavescope.errors import MachineError, UsageError

NODES = "sys/devices/virtual/kfd/kfd/topology/nodes"


def a_machine(root: Path) -> Machine:
    return Machine(root, {}, lambda _: None, lambda: "", root)


def with_library(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    library = folder / "softgpu" / "libwavescope_softgpu.so"
    library.parent.mkdir(parents=True)
    library.touch()
    monkeypatch.setattr(environment, "softgpu_library", lambda: library)
    return library


def with_runtime(root: Path) -> None:
    (root / "usr/lib").mkdir(parents=True)
    (root / "usr/lib/libhsa-runtime64.so.1").touch()


def test_a_specification_becomes_variables() -> None:
    options = SoftGpuOptions.parse(
        "gfx1030,gpus=8,kernel_ns=lognormal:5000:0.4,fault=hang:kernel=gemm:ms=5,fault=fail"
    )

    assert options == SoftGpuOptions(
        chip="gfx1030",
        gpus=8,
        kernel_ns="lognormal:5000:0.4",
        faults=("hang:kernel=gemm:ms=5", "fail"),
    )
    assert options.variables() == {
        "WAVESCOPE_SOFTGPU_CHIP": "gfx1030",
        "WAVESCOPE_SOFTGPU_GPUS": "8",
        "WAVESCOPE_SOFTGPU_KERNEL_NS": "lognormal:5000:0.4",
        "WAVESCOPE_SOFTGPU_FAULTS": "hang,kernel=gemm,ms=5;fail",
    }


def test_nothing_given_leaves_everything_to_the_environment() -> None:
    assert SoftGpuOptions.parse("") == SoftGpuOptions()
    assert SoftGpuOptions().variables() == {}


@pytest.mark.parametrize(
    ("specification", "message"),
    [
        ("gfx9", "there is no software GPU 'gfx9'"),
        ("gpus=0", "0 GPUs"),
        ("gpus=17", "17 GPUs"),
        ("gpus=many", "gpus=many of the software GPU is not a number"),
        ("gpus=٣", "is not a number"),
        ("speed=1", "the software GPU has no setting 'speed'"),
        ("faults=hang", "the software GPU has no setting 'faults'"),
        ("partition=tpx", "there is no partition mode 'tpx'"),
        ("memory_mib=5", "5 MiB of memory"),
        ("large_bar=7", "large_bar=7"),
        ("kernel_ns=fast", "'fast' is not a duration of kernels"),
        ("kernel_ns=lognormal:5", "'lognormal:5' is not a duration of kernels"),
    ],
)
def test_wrong_specifications_are_refused(specification: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        SoftGpuOptions.parse(specification)


def test_the_library_is_preloaded_after_what_the_user_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = with_library(tmp_path, monkeypatch)
    with_runtime(tmp_path)
    given = {"LD_PRELOAD": "/mine.so", "XDG_CACHE_HOME": str(tmp_path)}

    variables = softgpu_environment("gpus=2", given, a_machine(tmp_path))

    tree = Path(variables.pop("WAVESCOPE_SOFTGPU_TREE"))
    assert tree.parent == tmp_path / "wavescope/softgpu/machines"
    assert sorted(path.name for path in (tree / NODES).iterdir()) == ["0", "1", "2"]
    assert variables == {
        "WAVESCOPE_SOFTGPU_GPUS": "2",
        "LD_PRELOAD": f"/mine.so:{library}",
        "HSA_ENABLE_IPC_MODE_LEGACY": "0",
    }
    again = softgpu_environment("gpus=2", {**given, **variables}, a_machine(tmp_path))
    assert again["LD_PRELOAD"] == f"/mine.so:{library}"


def test_the_users_way_of_sharing_memory_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_library(tmp_path, monkeypatch)
    with_runtime(tmp_path)
    given = {"HSA_ENABLE_IPC_MODE_LEGACY": "1", "XDG_CACHE_HOME": str(tmp_path)}

    variables = softgpu_environment("", given, a_machine(tmp_path))

    assert variables["HSA_ENABLE_IPC_MODE_LEGACY"] == "1"


def test_variables_of_the_environment_make_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_library(tmp_path, monkeypatch)
    with_runtime(tmp_path)
    given = {
        "WAVESCOPE_SOFTGPU_CHIP": "gfx942",
        "WAVESCOPE_SOFTGPU_GPUS": "2",
        "WAVESCOPE_SOFTGPU_MEMORY_MIB": "128",
        "XDG_CACHE_HOME": str(tmp_path),
    }

    variables = softgpu_environment("gpus=1", given, a_machine(tmp_path))

    nodes = Path(variables["WAVESCOPE_SOFTGPU_TREE"], NODES)
    assert sorted(path.name for path in nodes.iterdir()) == ["0", "1"]
    assert "gfx_target_version 90402\n" in (nodes / "1/properties").read_text()
    assert "size_in_bytes 134217728\n" in (nodes / "1/mem_banks/0/properties").read_text()


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("CHIP", "gfx1", "there is no software GPU 'gfx1'"),
        ("GPUS", "two", "gpus=two of the software GPU is not a number"),
        ("LARGE_BAR", "2", "large_bar=2"),
        ("MEMORY_MIB", "1", "1 MiB of memory"),
        ("PARTITION", "dpx", "there is no partition mode 'dpx'"),
    ],
)
def test_wrong_variables_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, message: str
) -> None:
    with_library(tmp_path, monkeypatch)
    with_runtime(tmp_path)

    with pytest.raises(UsageError, match=message):
        softgpu_environment("", {f"WAVESCOPE_SOFTGPU_{variable}": value}, a_machine(tmp_path))


def test_a_path_that_cannot_be_preloaded_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_library(tmp_path / "with space", monkeypatch)
    with_runtime(tmp_path)

    with pytest.raises(MachineError, match="cannot be preloaded: its path has a space or a colon"):
        softgpu_environment("", {}, a_machine(tmp_path))


def test_a_build_without_it_names_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environment, "softgpu_library", lambda: None)

    with pytest.raises(MachineError, match="no software GPU") as raised:
        softgpu_environment("", {}, a_machine(tmp_path))
    assert raised.value.hint == "on Linux: pip install --force-reinstall wavescope"


def test_a_missing_runtime_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_library(tmp_path, monkeypatch)

    trouble = softgpu_trouble(a_machine(tmp_path))

    assert str(trouble) == "the software GPU needs an HSA runtime"
    assert trouble is not None
    assert "apt-get install --no-install-recommends libhsa-runtime64-1" in trouble.hint


def test_the_doctor_tells_about_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = with_library(tmp_path, monkeypatch)
    monkeypatch.setattr("wavescope.collect.doctor.gpu_checks.softgpu_library", lambda: library)

    def check() -> tuple[CheckState, str]:
        checks = {c.name: c for c in preflight(a_machine(tmp_path), lambda: "", lambda: "")}
        return checks["software GPU"].state, checks["software GPU"].found

    assert check() == (CheckState.NOT_USABLE, "the software GPU needs an HSA runtime")
    with_runtime(tmp_path)
    assert check() == (CheckState.OK, str(library))
