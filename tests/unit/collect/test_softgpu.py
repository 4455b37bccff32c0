"""Options of the software GPU, the variables they become, and what is said when it cannot run."""

from __future__ import annotations

from pathlib import Path

import pytest

from wavescope.collect import softgpu
from wavescope.collect.machine import Machine
from wavescope.collect.preflight import CheckState, preflight
from wavescope.collect.softgpu import SoftGpuOptions, softgpu_environment, softgpu_trouble
from wavescope.errors import MachineError, UsageError


def a_machine(root: Path) -> Machine:
    return Machine(root, {}, lambda _: None, lambda: "", root)


def with_library(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    library = folder / "softgpu" / "libhsakmt.so.1"
    library.parent.mkdir(parents=True)
    library.touch()
    monkeypatch.setattr(softgpu, "softgpu_library", lambda: library)
    return library


def with_runtime(root: Path, content: bytes = b"\0libhsakmt.so.1\0") -> None:
    (root / "usr/lib").mkdir(parents=True)
    (root / "usr/lib/libhsa-runtime64.so.1").write_bytes(content)


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
        ("kernel_ns=fast", "'fast' is not a duration of kernels"),
        ("kernel_ns=lognormal:5", "'lognormal:5' is not a duration of kernels"),
    ],
)
def test_wrong_specifications_are_refused(specification: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        SoftGpuOptions.parse(specification)


def test_the_library_comes_first_on_the_linkers_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = with_library(tmp_path, monkeypatch)
    with_runtime(tmp_path)

    variables = softgpu_environment(
        "gpus=2", {"LD_LIBRARY_PATH": "/mine:/yours"}, a_machine(tmp_path)
    )

    assert variables == {
        "WAVESCOPE_SOFTGPU_GPUS": "2",
        "LD_LIBRARY_PATH": f"{library.parent}:/mine:/yours",
    }


def test_a_build_without_it_names_the_packages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(softgpu, "softgpu_library", lambda: None)

    with pytest.raises(MachineError, match="no software GPU") as raised:
        softgpu_environment("", {}, a_machine(tmp_path))
    assert "apt-get install --no-install-recommends libhsakmt-dev" in raised.value.hint


def test_a_missing_runtime_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_library(tmp_path, monkeypatch)

    trouble = softgpu_trouble(a_machine(tmp_path))

    assert str(trouble) == "the software GPU needs an HSA runtime"
    assert trouble is not None
    assert "apt-get install --no-install-recommends libhsa-runtime64-1" in trouble.hint


def test_a_runtime_with_a_driver_library_inside_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_library(tmp_path, monkeypatch)
    with_runtime(tmp_path, b"no such name")

    assert "does not load libhsakmt.so.1" in str(softgpu_trouble(a_machine(tmp_path)))


def test_the_doctor_tells_about_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = with_library(tmp_path, monkeypatch)
    monkeypatch.setattr("wavescope.collect.preflight.softgpu_library", lambda: library)

    def check() -> tuple[CheckState, str]:
        checks = {c.name: c for c in preflight(a_machine(tmp_path), lambda: "", lambda: "")}
        return checks["software GPU"].state, checks["software GPU"].found

    assert check() == (CheckState.NOT_USABLE, "the software GPU needs an HSA runtime")
    with_runtime(tmp_path)
    assert check() == (CheckState.OK, str(library))
