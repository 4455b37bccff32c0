"""Libraries are read as the system's tools read them, and what was built here keeps to its lists."""

from __future__ import annotations

import fnmatch
import re
import struct
import subprocess
from pathlib import Path

import pytest

from tools.wheels.elf import library_of, read_library
from tools.wheels.exports import EXPORTS, names_in
from tools.wheels.mach_o import read_mach_library
from wavescope.native.library import SIGNATURES
from wavescope.package_files import package_file

SYSTEM = (
    "libc.so.*",
    "libm.so.*",
    "libdl.so.*",
    "libpthread.so.*",
    "librt.so.*",
    "ld-linux-*.so.*",
)
LIBRARIES = list(EXPORTS)


def installed(name: str) -> Path:
    path = package_file("lib", *name.split("/"))
    assert path is not None
    return path


def output_of(*command: str | Path) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_library_is_read_as_binutils_reads_it(name: str) -> None:
    path = installed(name)
    library = library_of(path)

    dynamic = output_of("readelf", "-dW", path)
    assert library.needed == tuple(re.findall(r"\(NEEDED\).*\[(.+)\]", dynamic))
    assert library.is_never_unloaded == ("NODELETE" in dynamic)
    names = output_of("nm", "-D", "--defined-only", "--without-symbol-versions", path).split()[2::3]
    assert library.exported == set(names)
    versions = re.findall(r"Name: (\S+)", output_of("readelf", "-VW", path))
    assert library.versions == {version for version in versions if version.startswith("GLIBC_")}
    assert ".dynsym" in library.sections


@pytest.mark.parametrize("name", LIBRARIES)
def test_only_the_listed_names_leave_a_library(name: str) -> None:
    library = library_of(installed(name))

    unlisted = [
        symbol
        for symbol in library.exported
        if not any(fnmatch.fnmatchcase(symbol, pattern) for pattern in names_in(EXPORTS[name]))
    ]
    assert unlisted == []
    assert len(library.exported) > 20


def test_python_finds_every_function_of_the_library_and_there_are_no_others() -> None:
    exported = library_of(installed("libwavescope_columns.so")).exported
    assert exported == {*SIGNATURES, "wavescope_columns_abi"}


@pytest.mark.parametrize("name", LIBRARIES)
def test_nothing_but_the_c_library_is_needed(name: str) -> None:
    needed = library_of(installed(name)).needed
    assert [other for other in needed if not any(fnmatch.fnmatch(other, s) for s in SYSTEM)] == []


@pytest.mark.parametrize("name", ["libwavescope_collector.so", "libwavescope_collector_hip.so"])
def test_a_collector_is_whole_and_stays_loaded(name: str) -> None:
    library = library_of(installed(name))

    entrances = {"OnLoad", "OnUnload", "InitializeInjection", "InitializeInjectionNvtx2"}
    assert entrances <= library.exported
    assert library.is_never_unloaded


def test_what_is_no_library_is_refused() -> None:
    with pytest.raises(ValueError, match="not an ELF file"):
        read_library(b"MZ" + bytes(100))
    with pytest.raises(ValueError, match="not a Mach-O file"):
        read_mach_library(bytes(100))


def a_mach_library() -> bytes:
    """A library of arm64 for macOS 11.0 with one function to call, one private and one imported."""
    texts = b"\0_wavescope_one\0_private\0_malloc\0"
    symbols = [
        (texts.index(b"_wave"), 0x0F),
        (texts.index(b"_priv"), 0x1F),
        (texts.index(b"_mal"), 0x01),
    ]
    system = b"/usr/lib/libSystem.B.dylib\0".ljust(32, b"\0")
    named = b"@rpath/libone.dylib\0".ljust(24, b"\0")
    commands = [
        struct.pack("<6I", 0xD, 24 + len(named), 24, 0, 0, 0) + named,
        struct.pack("<6I", 0xC, 24 + len(system), 24, 0, 0, 0) + system,
        struct.pack("<6I", 0x32, 24, 1, 11 << 16, 11 << 16, 0),
        struct.pack("<4I", 0x1D, 16, 0, 0),
    ]
    sizes = sum(len(command) for command in commands) + 24
    symbols_at = 32 + sizes
    texts_at = symbols_at + 16 * len(symbols)
    commands.append(struct.pack("<6I", 0x2, 24, symbols_at, len(symbols), texts_at, len(texts)))
    header = struct.pack("<8I", 0xFEEDFACF, 0x0100000C, 0, 6, len(commands), sizes, 0, 0)
    rows = b"".join(struct.pack("<IBBHQ", name, kind, 1, 0, 0) for name, kind in symbols)
    return header + b"".join(commands) + rows + texts


def test_a_library_of_macos_tells_what_it_is() -> None:
    library = read_mach_library(a_mach_library())

    assert (library.kind, library.processor, library.oldest_macos) == ("library", "arm64", (11, 0))
    assert library.own_name == "@rpath/libone.dylib"
    assert library.needed == ("/usr/lib/libSystem.B.dylib",)
    assert library.exported == {"wavescope_one"}
    assert library.is_signed
