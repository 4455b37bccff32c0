"""Which of CUDA's libraries a program is given, on machines made of folders."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.unit.collect.test_preflight import a_machine
from wavescope.collect.cuda_libraries import (
    CudaLibrary,
    CudaPart,
    CudaVersion,
    Fit,
    chosen_library,
    found_libraries,
    version_text,
)
from wavescope.collect.found_cupti import cupti_for
from wavescope.collect.machine import Machine

ELF = b"\x7fELF\x02\x01"


def put(path: Path, data: bytes = ELF) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def an_environment(folder: Path, minor: int = 12) -> tuple[str, Path]:
    """A virtual environment: its interpreter and its folder of packages."""
    python = put(folder / "bin/python")
    python.chmod(0o755)
    packages = folder / f"lib/python3.{minor}/site-packages"
    packages.mkdir(parents=True)
    return str(python), packages


def with_cupti_13(packages: Path, version: str = "13.0.85") -> Path:
    (packages / f"nvidia_cuda_cupti-{version}.dist-info").mkdir()
    return put(packages / "nvidia/cu13/lib/libcupti.so.13")


def with_cupti_12(packages: Path, version: str = "12.9.79") -> Path:
    (packages / f"nvidia_cuda_cupti_cu12-{version}.dist-info").mkdir()
    return put(packages / "nvidia/cuda_cupti/lib/libcupti.so.12")


def found(machine: Machine, *command: str) -> list[tuple[Path, str]]:
    libraries = found_libraries(CudaPart.CUPTI, command, machine)
    return [(library.path, version_text(library.version)) for library in libraries]


def test_packages_of_the_programs_interpreter_come_first(tmp_path: Path) -> None:
    python, packages = an_environment(tmp_path / "venv")
    own = with_cupti_13(packages, "13.4.92")
    toolkit = put(tmp_path / "usr/local/cuda-13.0/extras/CUPTI/lib64/libcupti.so.13")
    other_python, other = an_environment(tmp_path / "other")
    of_other = with_cupti_12(other)
    machine = a_machine(tmp_path)

    assert found(machine, python, "train.py") == [(own, "13.4"), (toolkit, "13.0")]
    assert found(machine, other_python) == [(of_other, "12.9"), (toolkit, "13.0")]
    assert found(machine, "sh") == [(toolkit, "13.0")]


def test_a_script_is_looked_up_by_its_interpreter_and_mpirun_by_its_words(tmp_path: Path) -> None:
    python, packages = an_environment(tmp_path / "venv")
    own = with_cupti_13(packages)
    script = put(tmp_path / "tools/vllm", f"#!{python}\nimport vllm\n".encode())
    script.chmod(0o755)
    machine = a_machine(tmp_path, environment={"PATH": str(script.parent)})

    assert found(machine, "vllm", "serve") == [(own, "13.0")]
    assert found(machine, "mpirun", "-n", "4", python, "train.py") == [(own, "13.0")]
    assert found(machine, str(tmp_path / "nowhere/python"), "train.py") == []


def test_of_two_packages_the_one_that_torch_was_built_for_comes_first(tmp_path: Path) -> None:
    python, packages = an_environment(tmp_path / "venv")
    new, old = with_cupti_13(packages), with_cupti_12(packages)
    machine = a_machine(tmp_path)
    assert [path for path, _ in found(machine, python)] == [new, old]

    put(packages / "torch/version.py", b"__version__ = '2.8'\ncuda: Optional[str] = '12.8'\n")

    assert found(machine, python) == [(old, "12.9"), (new, "13.0")]


@pytest.mark.parametrize("variable", ["VIRTUAL_ENV", "CONDA_PREFIX"])
def test_the_active_environment_counts_for_programs_that_are_no_python(
    tmp_path: Path, variable: str
) -> None:
    _, packages = an_environment(tmp_path / "active")
    own = with_cupti_13(packages)
    conda = put(tmp_path / "active/lib/libcupti.so.12")
    machine = a_machine(tmp_path, environment={variable: str(tmp_path / "active")})

    assert found(machine, "./run.sh") == [(own, "13.0"), (conda, "12")]


def test_a_virtual_environment_may_see_the_packages_below_it(tmp_path: Path) -> None:
    python, packages = an_environment(tmp_path / "venv")
    _, below = an_environment(tmp_path / "base")
    own = with_cupti_13(below)
    settings = f"home = {tmp_path / 'base/bin'}\ninclude-system-site-packages = "
    machine = a_machine(tmp_path)

    put(packages.parents[2] / "pyvenv.cfg", f"{settings}false\n".encode())
    assert found(machine, python) == []
    put(packages.parents[2] / "pyvenv.cfg", f"{settings}true\n".encode())
    assert found(machine, python) == [(own, "13.0")]


def test_pythonpath_home_and_the_systems_packages_are_searched(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    with_cupti_13(tmp_path / "mine")
    (tmp_path / "home/.local/lib/python3.11/site-packages").mkdir(parents=True)
    with_cupti_12(tmp_path / "home/.local/lib/python3.11/site-packages")
    (tmp_path / "usr/local/lib/python3.12/dist-packages").mkdir(parents=True)
    with_cupti_12(tmp_path / "usr/local/lib/python3.12/dist-packages", "12.4.127")
    environment = {"PYTHONPATH": str(tmp_path / "mine"), "HOME": str(tmp_path / "home")}

    machine = a_machine(tmp_path, environment=environment)

    assert [version for _, version in found(machine, "prog")] == ["13.0", "12.9", "12.4"]


def test_toolkits_say_their_version_by_description_or_folder(tmp_path: Path) -> None:
    described = put(tmp_path / "sdk/lib64/libcupti.so.12")
    versions = {"cuda": {"version": "12.6.3"}, "cuda_cupti": {"version": "12.6.80"}}
    put(tmp_path / "sdk/version.json", json.dumps(versions).encode())
    put(tmp_path / "usr/local/cuda-12.4/lib64/libcupti.so.12")
    older = put(tmp_path / "usr/local/cuda-12.9/lib64/libcupti.so.12")
    newer = put(tmp_path / "usr/local/cuda-12.10/lib64/libcupti.so.12")
    put(tmp_path / "usr/local/cuda-12.10/version.json", b"[]")
    (tmp_path / "usr/local/cuda").symlink_to("cuda-12.4")
    machine = a_machine(tmp_path, environment={"CUDA_HOME": str(tmp_path / "sdk")})

    assert found(machine, "prog") == [
        (described, "12.6"),
        (tmp_path / "usr/local/cuda/lib64/libcupti.so.12", "12.4"),
        (newer, "12.10"),
        (older, "12.9"),
    ]


def test_a_library_is_listed_once_by_the_name_that_programs_ask_for(tmp_path: Path) -> None:
    folder = tmp_path / "libs"
    put(folder / "libcupti.so.2025.3.1")
    (folder / "libcupti.so.13").symlink_to("libcupti.so.2025.3.1")
    (folder / "libcupti.so").symlink_to("libcupti.so.13")
    put(folder / "libcupti.so.11.8")
    put(folder / "libcupti.so.12", b"INPUT(libcupti.so.12.4)")
    machine = a_machine(tmp_path, environment={"LD_LIBRARY_PATH": f"{folder}:{folder}"})

    assert found(machine, "prog") == [
        (folder / "libcupti.so.11.8", "11.8"),
        (folder / "libcupti.so.13", "13"),
    ]


def test_a_file_that_is_numbered_by_the_year_says_nothing_of_its_cuda(tmp_path: Path) -> None:
    put(tmp_path / "libcupti.so.2025.3.1")
    (tmp_path / "libcupti.so").symlink_to("libcupti.so.2025.3.1")
    machine = a_machine(tmp_path, environment={"LD_LIBRARY_PATH": str(tmp_path)})

    assert found(machine, "prog") == [(tmp_path / "libcupti.so", "of unknown version")]


def test_the_linkers_cache_is_the_last_resort(tmp_path: Path) -> None:
    library = put(tmp_path / "elsewhere/libcupti.so.13")
    listing = f"\tlibcupti.so.13 (libc6,x86-64) => {library}\n"
    listing += "\tlibcupti.so.12 (libc6,x86-64) => /gone/libcupti.so.12\n"

    machine = a_machine(tmp_path, linker_listing=lambda: listing)

    assert found(machine, "prog") == [(library, "13")]


@pytest.mark.parametrize(
    ("version", "driver", "fit"),
    [
        ((13, 0), (13, 0), Fit.GOOD),
        ((12, 9), (13, 0), Fit.GOOD),
        ((13,), (13, 0), Fit.GOOD),
        ((), (13, 0), Fit.GOOD),
        ((13, 4), (), Fit.GOOD),
        ((13, 4), (13, 0), Fit.NEWER_MINOR),
        ((13, 0), (12, 9), Fit.NEWER_MAJOR),
        ((13,), (12, 9), Fit.NEWER_MAJOR),
        ((11, 8), (13, 0), Fit.NOT_KNOWN),
        ((14, 0), (14, 0), Fit.NOT_KNOWN),
    ],
)
def test_fit(version: CudaVersion, driver: CudaVersion, fit: Fit) -> None:
    assert CudaLibrary(Path("/x"), version).fit(driver) is fit
    assert fit.is_usable == (fit in {Fit.GOOD, Fit.NEWER_MINOR})


def test_the_first_that_fits_is_taken_then_the_first_that_may_work() -> None:
    newer, old, good, too_new = (
        CudaLibrary(Path(f"/{version[0]}"), version)
        for version in ((12, 9), (11, 8), (12, 2), (13, 0))
    )

    assert chosen_library([too_new, newer, old, good], (12, 4)) is good
    assert chosen_library([too_new, newer, old], (12, 4)) is newer
    assert chosen_library([too_new, old], (12, 4)) is None


def test_the_compilers_library_is_found_likewise(tmp_path: Path) -> None:
    python, packages = an_environment(tmp_path / "venv")
    with_cupti_13(packages)
    (packages / "nvidia_cuda_nvrtc-13.0.88.dist-info").mkdir()
    own = put(packages / "nvidia/cu13/lib/libnvrtc.so.13")
    put(packages / "nvidia/cu13/lib/libnvrtc-builtins.so.13.0")

    libraries = found_libraries(CudaPart.NVRTC, [python], a_machine(tmp_path))

    assert libraries == [CudaLibrary(own, (13, 0))]


def test_a_recorded_program_gets_a_library_only_where_there_is_a_driver(tmp_path: Path) -> None:
    python, packages = an_environment(tmp_path / "venv")
    own, old = with_cupti_13(packages), put(tmp_path / "usr/local/cuda-12.4/lib64/libcupti.so.12")
    asked = []

    def answer(_: str, arguments: object) -> str:
        asked.append(arguments)
        return '{"version": 12040, "error": -1, "gpus": []}'

    machine = a_machine(tmp_path, answer_of=answer)
    assert cupti_for([python], machine) is None
    library = put(tmp_path / "usr/lib/libcuda.so.1")

    assert cupti_for([python], machine) == old
    assert asked == [[str(library), "version"]]
    silent = a_machine(tmp_path, answer_of=lambda *_: "")
    assert cupti_for([python], silent) == own
    chosen = a_machine(tmp_path, environment={"WAVESCOPE_CUPTI": "/my/libcupti.so"})
    assert cupti_for([python], chosen) == Path("/my/libcupti.so")
