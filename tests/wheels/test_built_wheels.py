"""The wheels that `make wheels` wrote: whole, true to their tags, and free of other libraries."""

from __future__ import annotations

import base64
import csv
import fnmatch
import hashlib
import io
import json
import re
import subprocess
import tarfile

import pytest

from tests.wheels.wheel_files import LINUX, METADATA, REPOSITORY, VERSION, wheel_of
from tools.wheels.elf import SharedLibrary, read_library
from tools.wheels.exports import EXPORTS, names_in
from tools.wheels.mach_o import read_mach_library
from tools.wheels.targets import GLIBC, TARGETS, Target
from wavescope.native.library import SIGNATURES

pytestmark = pytest.mark.wheels

COLUMNS = {*SIGNATURES, "wavescope_columns_abi"}
SYSTEM = ("libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "ld-linux-*")
EXAMPLES = {
    *("llm_inference.hip", "llm_inference.py", "empty_kernels.py"),
    *("llm_inference.durations", "llama_bench.durations"),
}
MACOS = TARGETS[-1]
MACOS_OTHERS = r"_mh_dylib_header|__dso_handle|_Z(n|d)[wal]\w*"

each_target = pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
each_linux = pytest.mark.parametrize("target", LINUX, ids=lambda target: target.name)
each_library = pytest.mark.parametrize("name", list(EXPORTS))


def tracked_files(folder: str) -> list[str]:
    command = ["git", "-C", str(REPOSITORY), "ls-files", "-z", folder]
    listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [name for name in listed.split("\0") if name]


def library_in(target: Target, name: str) -> SharedLibrary:
    return read_library(wheel_of(target).content[f"wavescope/lib/{name}"])


@each_target
def test_a_wheel_is_for_its_platform_and_any_python(target: Target) -> None:
    lines = wheel_of(target).metadata("WHEEL").splitlines()
    assert [line for line in lines if line.startswith("Tag:")] == [f"Tag: {target.tag}"]
    assert "Root-Is-Purelib: false" in lines


@each_target
def test_every_file_is_recorded_as_it_is(target: Target) -> None:
    wheel = wheel_of(target)
    rows = {
        name: (told, size) for name, told, size in csv.reader(io.StringIO(wheel.metadata("RECORD")))
    }
    assert rows.pop(f"{METADATA}/RECORD") == ("", "")
    assert set(rows) == set(wheel.content) - {f"{METADATA}/RECORD"}
    for name, (told, size) in rows.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(wheel.content[name]).digest())
        assert told == "sha256=" + digest.rstrip(b"=").decode(), name
        assert int(size) == len(wheel.content[name]), name


@each_target
def test_a_wheel_has_every_file_of_the_package_and_its_libraries(target: Target) -> None:
    names = {name for name in wheel_of(target).content if not name.startswith(METADATA)}
    sources = {name.removeprefix("src/") for name in tracked_files("src/wavescope")}
    assert {"wavescope/py.typed", "wavescope/model/chips/chips.toml"} <= sources

    built = {f"wavescope/lib/{name}" for name in EXPORTS}
    if target.system == "Darwin":
        built = {"wavescope/lib/libwavescope_columns.dylib"}
    else:
        built |= {f"wavescope/lib/examples/{name}" for name in EXAMPLES}
    assert names == sources | built


@each_target
def test_a_wheel_tells_its_parts(target: Target) -> None:
    wheel = wheel_of(target)
    inside = wheel.metadata(f"sboms/{target.name}.cdx.json")
    assert wheel.path.with_suffix(".whl.cdx.json").read_text() == inside

    document = json.loads(inside)
    assert (document["bomFormat"], document["specVersion"]) == ("CycloneDX", "1.6")
    assert document["metadata"]["component"]["version"] == VERSION
    parts = {row["name"] for row in document["components"]}
    lines = wheel.metadata("METADATA").splitlines()
    required = [
        line for line in lines if line.startswith("Requires-Dist:") and "extra ==" not in line
    ]
    needed = {re.split(r"[ ;<>=]+", line)[1] for line in required}
    assert needed == {"isal", "numpy", "orjson", "tomli"}
    assert needed <= parts
    assert "libc++" in parts


@each_linux
@each_library
def test_a_library_loads_with_the_oldest_glibc(target: Target, name: str) -> None:
    library = library_in(target, name)

    assert library.machine == target.processor
    asked = [version.removeprefix("GLIBC_") for version in library.versions]
    assert asked
    assert max(tuple(int(part) for part in version.split(".")) for version in asked) <= GLIBC


@each_linux
@each_library
def test_a_library_needs_no_other_than_the_system_s(target: Target, name: str) -> None:
    needed = library_in(target, name).needed
    assert [other for other in needed if not any(fnmatch.fnmatch(other, s) for s in SYSTEM)] == []


@each_linux
@each_library
def test_only_the_listed_names_leave_a_library(target: Target, name: str) -> None:
    exported = library_in(target, name).exported
    patterns = names_in(EXPORTS[name])
    assert [s for s in exported if not any(fnmatch.fnmatchcase(s, p) for p in patterns)] == []


@each_linux
@each_library
def test_no_library_carries_what_only_a_debugger_reads(target: Target, name: str) -> None:
    sections = library_in(target, name).sections
    assert [section for section in sections if section.startswith((".debug", ".symtab"))] == []


@each_linux
@each_library
def test_no_library_names_the_folder_it_was_built_in(target: Target, name: str) -> None:
    content = wheel_of(target).content[f"wavescope/lib/{name}"]
    assert str(REPOSITORY).encode() not in content


@each_linux
def test_functions_are_the_ones_that_python_calls(target: Target) -> None:
    assert library_in(target, "libwavescope_columns.so").exported == COLUMNS


@each_linux
@pytest.mark.parametrize("name", ["libwavescope_collector.so", "libwavescope_collector_hip.so"])
def test_collectors_have_all_their_parts_and_stay_loaded(target: Target, name: str) -> None:
    library = library_in(target, name)
    entrances = {"OnLoad", "OnUnload", "InitializeInjection", "InitializeInjectionNvtx2"}
    assert entrances | {"roctxRangePushA", "nvtxRangePushA"} <= library.exported
    assert ("hipLaunchKernel" in library.exported) == name.endswith("_hip.so")
    assert library.is_never_unloaded


def test_the_library_of_macos_is_signed_and_needs_only_the_system() -> None:
    library = read_mach_library(wheel_of(MACOS).content["wavescope/lib/libwavescope_columns.dylib"])

    assert (library.kind, library.processor, library.oldest_macos) == ("library", "arm64", (11, 0))
    assert library.needed == ("/usr/lib/libSystem.B.dylib",)
    assert library.is_signed
    # zig's linker takes no list of names for macOS: besides ours, what it adds itself and the weak
    # operators new and delete, of which macOS keeps one in a process, can be seen.
    others = library.exported - COLUMNS
    assert library.exported >= COLUMNS
    assert [name for name in others if not re.fullmatch(MACOS_OTHERS, name)] == []
    assert REPOSITORY.as_posix() not in library.own_name


@each_linux
def test_auditwheel_agrees_with_the_tag(target: Target) -> None:
    tools = REPOSITORY / "build" / "wheels" / "environment" / "bin"
    command = [tools / "python", "-m", "auditwheel", "show", wheel_of(target).path]
    said = " ".join(
        subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    )

    found = re.search(r'following platform tag: "manylinux_(\d+)_(\d+)_(\w+)"', said)
    assert found is not None, said
    assert (int(found[1]), int(found[2])) <= GLIBC
    assert found[3] == target.processor


def test_the_sdist_has_all_that_a_build_needs() -> None:
    with tarfile.open(REPOSITORY / "dist" / f"wavescope-{VERSION}.tar.gz") as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    needed = [*tracked_files("src"), *tracked_files("native"), *tracked_files("examples")]
    assert [name for name in needed if name not in names] == []
    assert {"pyproject.toml", "README.md", "LICENSE", "PKG-INFO"} <= names
    assert [name for name in names if name.startswith(("build/", "dist/", ".venv/"))] == []
