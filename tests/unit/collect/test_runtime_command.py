"""How a program is started on another runtime than the machine's."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit.collect.test_program_files import a_program, elf
from wavescope.collect.runtimes import Runtime, command_on
from wavescope.collect.runtimes.packages import Package
from wavescope.collect.runtimes.runtime import Manifest, opened_runtime, write_manifest
from wavescope.collect.softgpu import SoftGpuOptions
from wavescope.errors import UsageError

LIBRARIES = "root/usr/lib/x86_64-linux-gnu"


def a_runtime(folder: Path, *versions: tuple[str, str]) -> Runtime:
    """A runtime of empty files."""
    for name in (f"{LIBRARIES}/ld-linux-x86-64.so.2", f"{LIBRARIES}/libhsa-runtime64.so.1"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    packages = tuple(Package(name, version, "amd64", 0, "") for name, version in versions)
    return Runtime(folder, Manifest("6.4", "forky", "file:/a", "now", packages, {}))


def test_the_linker_of_the_runtime_loads_the_program(tmp_path: Path) -> None:
    runtime = a_runtime(tmp_path / "6.4")
    program = a_program(tmp_path / "app", elf(3))
    libraries = tmp_path / "6.4" / LIBRARIES

    assert runtime.command([str(program), "-x", "a b"], {}) == [
        str(libraries / "ld-linux-x86-64.so.2"),
        *("--library-path", str(libraries)),
        *("--argv0", str(program), str(program), "-x", "a b"),
    ]


def test_what_the_user_had_searched_comes_after_the_runtime(tmp_path: Path) -> None:
    runtime = a_runtime(tmp_path / "6.4")
    a_program(tmp_path / "app", elf(3))

    command = runtime.command(["app"], {"PATH": str(tmp_path), "LD_LIBRARY_PATH": "/a::/b;/c"})

    assert command[2] == f"{tmp_path / '6.4' / LIBRARIES}:/a:/b:/c"
    assert command[3:] == ["--argv0", "app", str(tmp_path / "app")]


def test_the_linker_searches_for_no_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = a_runtime(tmp_path / "6.4")
    a_program(tmp_path / "app", elf(3))
    a_program(tmp_path / "script", b"#!./app\n")
    monkeypatch.chdir(tmp_path)

    assert runtime.command(["./app"], {})[3:] == ["--argv0", "./app", "./app"]
    assert runtime.command(["./script", "1"], {})[4:] == ["./app", "./app", "./script", "1"]


def test_folders_of_a_part_are_searched_too(tmp_path: Path) -> None:
    folder = tmp_path / "6.4+llama"
    made = a_runtime(folder)
    (folder / LIBRARIES / "llama").mkdir()
    write_manifest(folder, replace(made.manifest, name="6.4+llama"))

    assert opened_runtime(folder).library_folders == (
        folder / LIBRARIES,
        folder / LIBRARIES / "llama",
    )


def test_programs_of_the_runtime_come_first(tmp_path: Path) -> None:
    runtime = a_runtime(tmp_path / "6.4")
    a_program(tmp_path / "rocminfo", elf(3))
    environment = {"PATH": str(tmp_path)}
    assert runtime.command(["rocminfo"], environment)[-1] == str(tmp_path / "rocminfo")

    (runtime.root / "usr/bin").mkdir()
    own = a_program(runtime.root / "usr/bin/rocminfo", elf(3))
    assert runtime.command(["rocminfo"], environment)[-1] == str(own)
    assert runtime.command([f"{tmp_path}/rocminfo"], {})[-1] == str(tmp_path / "rocminfo")


def test_of_a_script_the_interpreter_is_loaded(tmp_path: Path) -> None:
    runtime = a_runtime(tmp_path / "6.4")
    a_program(tmp_path / "python3", elf(3))
    script = a_program(tmp_path / "run.py", b"#!/usr/bin/env python3\n")

    command = runtime.command(["run.py", "1"], {"PATH": str(tmp_path)})

    assert command[3:] == ["--argv0", "python3", str(tmp_path / "python3"), str(script), "1"]


@pytest.mark.parametrize(
    ("interpreter", "told"),
    [
        (
            "bash",
            [
                (
                    "'app' is run by bash: the programs that it starts run on the machine's own "
                    "ROCm, not on 6.4; name such a program itself"
                )
            ],
        ),
        ("python3", []),
    ],
)
def test_what_only_starts_others_is_told(interpreter: str, told: list[str], tmp_path: Path) -> None:
    a_program(tmp_path / interpreter, elf(3))
    a_program(tmp_path / "app", f"#!/usr/bin/env {interpreter}\n".encode())
    heard: list[str] = []

    a_runtime(tmp_path / "6.4").command(["app"], {"PATH": str(tmp_path)}, heard.append)

    assert heard == told


@pytest.mark.parametrize(
    ("program", "told"),
    [
        (b"\0libamdhip64.so.5\0", True),
        (b"\0libamdhip64.so.6\0", False),
        (b"\0libamdhip64.so.5\0libamdhip64.so.6\0", False),
        (b"\0libamdhip64.so\0libhsa-runtime64.so.1\0", False),
    ],
)
def test_a_program_for_another_hip_is_told(program: bytes, told: bool, tmp_path: Path) -> None:
    runtime = a_runtime(tmp_path / "6.4")
    (tmp_path / "6.4" / LIBRARIES / "libamdhip64.so.6").touch()
    path = a_program(tmp_path / "app", elf(3) + program)
    heard: list[str] = []

    runtime.command([str(path)], {}, heard.append)

    expected = (
        f"'{path}' was built for libamdhip64.so.5, and the runtime 6.4 has libamdhip64.so.6: "
        "the machine's own may take its place, and fail; "
        "docs/runtimes.md#programs-for-another-version says how to build it"
    )
    assert heard == ([expected] if told else [])


def test_of_a_runtime_without_hip_nothing_is_told(tmp_path: Path) -> None:
    path = a_program(tmp_path / "app", elf(3) + b"libamdhip64.so.5")
    heard: list[str] = []
    a_runtime(tmp_path / "6.4").command([str(path)], {}, heard.append)
    assert heard == []


@pytest.mark.parametrize(
    ("content", "words"),
    [(elf(1), "it is statically linked"), (b"MZ", "it is not an ELF program")],
)
def test_programs_that_load_no_libraries_are_refused(
    content: bytes, words: str, tmp_path: Path
) -> None:
    program = a_program(tmp_path / "app", content)

    with pytest.raises(UsageError, match=words):
        a_runtime(tmp_path / "6.4").command([str(program)], {})


def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no program 'nothing'"):
        a_runtime(tmp_path / "6.4").command(["nothing"], {"PATH": str(tmp_path)})


def test_on_the_machines_own_runtime_a_command_stays_as_it_is() -> None:
    assert command_on(None, ["app", "1"], {}) == ["app", "1"]


def test_versions_are_those_of_the_vendor(tmp_path: Path) -> None:
    runtime = a_runtime(
        tmp_path,
        ("libamdhip64-5", "5.7.1-6+deb13u1"),
        ("libc6", "2.41"),
        ("libhsa-runtime64-1", "1:6.1.2+dfsg-3"),
    )

    assert runtime.versions == "ROCr 6.1.2, HIP 5.7.1"


def test_a_folder_without_a_manifest_is_no_runtime(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="its manifest cannot be read"):
        opened_runtime(tmp_path)


def test_a_specification_of_gpus_names_a_runtime_that_is_no_variable() -> None:
    options = SoftGpuOptions.parse("gpus=8,runtime=6.4+llama")

    assert options.other_runtime == "6.4+llama"
    assert SoftGpuOptions.parse("runtime=machine").other_runtime is None
    assert options.variables() == {"WAVESCOPE_SOFTGPU_GPUS": "8"}
