"""Runs programs with the collector inside and reads what they left, as chunk_format.h says.

The reading is done anew here, in the plainest way, so that these tests check the files themselves.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.runtimes import plain_environment
from wavescope.package_files import library_path

PROGRAMS = Path(__file__).resolve().parent / "programs"
PATIENCE_S = 300
"""How long to wait for what comes for sure: a loaded machine is no failure."""
RANGE, MARK, OPEN = 1, 2, 3
START_STOP, OTHER_THREAD, NVTX = 1, 2, 4


def _record(fields: str) -> np.dtype[Any]:
    """A record of `name:type` words, in order and without gaps."""
    return np.dtype([tuple(word.split(":")) for word in fields.split()])


_MARKER = _record(
    "kind:u1 flags:u1 depth:<u2 thread:<u4 start:<u8 end:<u8 id:<u4 parent:<u4 text:<u8 correlation:<u8"
    " domain:<u4 payload_kind:u1 spare:u1 category:<u2 payload:<u8"
)
_CALL = _record(
    "kind:u1 flags:u1 function:<u2 thread:<u4 start:<u8 end:<u8 correlation:<u8 stream:<u8"
    " result:<i4 marker:<u4 values:(6,)<u8"
)
_OP = _record(
    "kind:u1 flags:u1 gpu:<u2 thread:<u4 start:<u8 end:<u8 correlation:<u8 kernel:<u8"
    " grid:(3,)<u4 group:(3,)<u2 queue:<u2 marker:<u4"
)

Rows = npt.NDArray[Any]


def collector(mode: str = "standard") -> Path:
    """The collector's library for a mode; skips the test where this build has none."""
    path = library_path("wavescope_collector_hip" if mode == "hip" else "wavescope_collector")
    if path is None:
        pytest.skip("this build has no collector: no C++ compiler was found when it was built")
    return path


def recording_environment(folder: Path, **settings: str) -> dict[str, str]:
    """The environment of a recorded program; settings are WAVESCOPE_ variables and others."""
    library = str(collector(settings.get("WAVESCOPE_MODE", "standard")))
    return plain_environment() | {"LD_PRELOAD": library, "WAVESCOPE_OUTPUT": str(folder)} | settings


def run_program(name: str, *arguments: str, environment: dict[str, str]) -> Any:
    """Run a Python program of tests/programs; what it printed as JSON, or None."""
    done = subprocess.run(
        [sys.executable, str(PROGRAMS / name), *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout) if done.stdout else None


@dataclass(frozen=True)
class Call:
    """One API call with its arguments by name; addresses and numbers alike are integers."""

    name: str
    result: int
    stream: int
    correlation: int
    start_ns: int
    end_ns: int
    thread: int
    marker: int
    is_open: bool
    arguments: dict[str, int | str] = field(hash=False)


@dataclass(frozen=True)
class ProcessFiles:
    """What one process left."""

    base: Path

    @property
    def pid(self) -> int:
        return int(self.base.name.partition("-")[0])

    def facts(self, kind: str) -> list[dict[str, Any]]:
        lines = Path(f"{self.base}.facts").read_text(encoding="utf-8").strip("\0").splitlines()
        return [fact for fact in map(json.loads, lines) if fact["fact"] == kind]

    def texts(self) -> dict[int, str]:
        """Texts by their ids."""
        path = Path(f"{self.base}.text")
        data, texts, at = path.read_bytes() if path.exists() else b"", {0: ""}, 0
        while at + 16 <= len(data):
            number, length = np.frombuffer(data, "<u8", 2, at).tolist()
            if number == 0:  # space that a killed process did not fill
                break
            texts[number] = data[at + 16 : at + 16 + length].decode("utf-8", "replace")
            at += 16 + (length + 7) // 8 * 8
        return texts

    def records(self, suffix: str, stream: int, record: np.dtype[Any]) -> Rows:
        """The completed records of a stream, by the time that they start."""
        path = Path(f"{self.base}.{suffix}")
        if not path.exists():
            return np.zeros(0, record)
        data = path.read_bytes()
        assert data[:8] == b"WAVESCP1"
        assert np.frombuffer(data, "<u4", 3, 8).tolist() == [1, stream, record.itemsize]
        assert np.frombuffer(data, "<u4", 1, 20)[0] == self.pid
        count = (len(data) - 4096) // record.itemsize
        rows = np.frombuffer(data, record, count, 4096)
        complete: Rows = rows[rows["kind"] != 0]
        return np.take(complete, np.argsort(complete["start"], kind="stable"))

    def markers(self) -> Rows:
        return self.records("markers", 3, _MARKER)

    def marker_texts(self) -> list[str]:
        """Texts of all markers in the order of their ids."""
        texts = self.texts()
        return [texts[row["text"]] for row in np.sort(self.markers(), order="id")]

    def marker(self, text: str) -> Any:
        """The only marker with this text."""
        texts = self.texts()
        (found,) = (row for row in self.markers() if texts[row["text"]] == text)
        return found

    def forget_shared_memory(self) -> None:
        """Free what a killed process had in flight, as its recorder would have."""
        Path("/dev/shm", f"wavescope-{self.base.name}.pending").unlink(missing_ok=True)

    def ops(self) -> Rows:
        return self.records("ops", 1, _OP)

    def calls(self) -> list[Call]:
        """All API calls in the order of their correlation ids."""
        rows = self.records("calls", 2, _CALL)  # first: what they name was written before them
        functions = {fact["function"]: fact for fact in self.facts("function")}
        texts = self.texts()
        return [_call(row, functions, texts) for row in np.sort(rows, order="correlation")]


def _call(row: Any, functions: dict[int, dict[str, Any]], texts: dict[int, str]) -> Call:
    function = functions[int(row["function"])]
    arguments: dict[str, int | str] = {}
    for word, value in zip(function["arguments"], row["values"].tolist(), strict=False):
        name, _, kind = word.partition(":")
        arguments[name] = texts[value] if kind == "text" else value
    return Call(
        function["name"],
        int(row["result"]),
        int(row["stream"]),
        int(row["correlation"]),
        int(row["start"]),
        int(row["end"]),
        int(row["thread"]),
        int(row["marker"]),
        bool(row["flags"] & 1),
        arguments,
    )


def processes(folder: Path) -> list[ProcessFiles]:
    """The recorded processes of a session, oldest first."""
    facts = sorted(folder.glob("*.facts"), key=lambda path: int(path.stem.partition("-")[2]))
    return [ProcessFiles(path.with_suffix("")) for path in facts]


def only_process(folder: Path) -> ProcessFiles:
    (process,) = processes(folder)
    return process
