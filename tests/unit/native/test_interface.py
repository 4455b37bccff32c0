"""The library and its Python side are of one version and agree on every function and structure."""

from __future__ import annotations

import ctypes
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from wavescope.errors import MachineError
from wavescope.native import COUNTER_ACTION, columns_library, interface, library, pointer
from wavescope.native.library import ABI, SIGNATURES
from wavescope.package_files import library_path

NATIVE = Path(__file__).parents[3] / "native"
_STRUCTURES = {
    "WavescopeLane": "LaneColumns",
    "WavescopeTrackEvents": "TrackEventColumns",
    "WavescopeWaveColumns": "WaveColumnPointers",
    "WavescopeWaveFacts": "WaveValues",
    "WavescopeDependencies": "FoundDependencies",
}


def headers() -> str:
    folders = (
        *("column_operators", "lane_pixels", "sqlite_pages", "chrome_json", "trace_encoder"),
        "thread_trace",
    )
    text = "".join((NATIVE / folder / f"{folder}.h").read_text() for folder in folders)
    return re.sub(r"//[^\n]*", "", text)


def functions() -> dict[str, int]:
    """The number of arguments of every function that a header declares."""
    found = {}
    for name, arguments in re.findall(
        r"WAVESCOPE_EXPORT\s+[\w:\s]+?[\s*]+(wavescope_\w+)\(([^;]*)\);", headers()
    ):
        found[name] = 0 if arguments.strip() in ("", "void") else arguments.count(",") + 1
    return found


def test_every_function_of_the_headers_has_a_signature() -> None:
    expected = {name: len(arguments) for name, (_, arguments) in SIGNATURES.items()}

    assert functions() == expected


def test_the_library_exports_what_is_declared_and_nothing_else() -> None:
    path = library_path("wavescope_columns")
    assert path is not None
    listed = subprocess.run(
        ["nm", "--dynamic", "--defined-only", path], capture_output=True, text=True, check=True
    )
    exported = {line.split()[-1] for line in listed.stdout.splitlines()}

    assert {name for name in exported if name.startswith("wavescope_")} == {
        *SIGNATURES,
        "wavescope_columns_abi",
    }


def members(body: str) -> list[str]:
    found = re.findall(r"(\w+)(?:\[\w+\])?;", body)
    return ["from_" if name == "from" else name for name in found]


def test_structures_have_the_members_of_the_headers() -> None:
    declared = re.compile(r"typedef struct (\w*)\s*\{(.*?)\}\s*(\w+);", re.DOTALL)
    bodies = {name or other: body for name, body, other in declared.findall(headers())}
    actions = bodies.pop("WavescopeCounterAction")
    for name, body in bodies.items():
        structure = getattr(interface, _STRUCTURES.get(name, name.removeprefix("Wavescope")))
        assert [field[0] for field in structure._fields_] == members(body), name
    assert list(COUNTER_ACTION.names or ()) == members(actions)
    assert len(bodies) == sum(
        isinstance(value, type) and issubclass(value, ctypes.Structure)
        for value in vars(interface).values()
    )


def test_the_number_of_the_interface_is_that_of_the_header() -> None:
    text = (NATIVE / "interface" / "version.h").read_text()

    assert re.findall(r"WAVESCOPE_COLUMNS_ABI = (\d+)", text) == [str(ABI)]


def built(folder: Path, source: str) -> Path:
    """A library made of `source`."""
    path = folder / "libother.so"
    (folder / "other.c").write_text(source)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", path, folder / "other.c"], check=True)
    return path


@pytest.mark.parametrize(
    ("source", "number"),
    [("int wavescope_columns_abi(void) { return 9999; }", 9999), ("int nothing;", 0)],
)
def test_a_library_of_another_version_is_refused(source: str, number: int, tmp_path: Path) -> None:
    path = built(tmp_path, source)

    with pytest.raises(MachineError) as caught:
        library.opened(path)

    assert str(caught.value) == (
        f"{path} is of another version of wavescope: its interface is number {number}, "
        f"this one needs {ABI}"
    )
    assert caught.value.hint == ("install wavescope again: pip install --force-reinstall wavescope")


def test_a_file_that_is_no_library_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "lib.so"
    path.write_bytes(b"text")

    with pytest.raises(MachineError, match="cannot be loaded"):
        library.opened(path)


def test_a_missing_library_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "library_path", lambda name: None)

    with pytest.raises(MachineError, match=r"libwavescope_columns\.so, is not installed"):
        columns_library.__wrapped__()


def test_pointers_are_of_the_right_type_and_without_gaps() -> None:
    numbers = np.arange(6, dtype=np.int64)

    assert pointer(numbers, np.int64) == numbers.ctypes.data
    assert pointer(None, np.int64) is None
    with pytest.raises(TypeError, match="expected an array of int32, not of int64"):
        pointer(numbers, np.int32)
    with pytest.raises(TypeError, match="not of int64 with gaps"):
        pointer(numbers[::2], np.int64)


def test_arguments_are_checked_in_every_call() -> None:
    starts = np.arange(4, dtype=np.int64)

    assert columns_library().wavescope_uncovered_ns(starts, starts + 1, 4) == 0
    for wrong in (starts.astype(np.float64), starts.astype(np.int32), starts[::-1]):
        with pytest.raises(ctypes.ArgumentError):
            columns_library().wavescope_uncovered_ns(starts, wrong, len(wrong))
