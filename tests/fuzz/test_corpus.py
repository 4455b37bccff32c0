"""Inputs that once broke a reader: each is answered or refused as its entry says."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fuzz.corpus import FOLDER, entries

LARGEST_BYTES = 16_000


@pytest.fixture(scope="module")
def told() -> dict[str, dict[str, Any]]:
    """What comes of all entries, run in processes that a crash may end."""
    ran = subprocess.run(
        [sys.executable, "-m", "fuzz.corpus"],
        cwd=FOLDER.parent.parent,
        capture_output=True,
        text=True,
        check=True,
    )
    return {line["name"]: line for line in map(json.loads, ran.stdout.splitlines())}


@pytest.mark.parametrize("name", entries())
def test_an_input_that_once_failed(name: str, told: dict[str, dict[str, Any]]) -> None:
    entry = entries()[name]

    assert told[name] == {
        "name": name,
        "failure": "",
        "exit_code": entry.exit_code,
        "says": entry.says,
    }


@pytest.mark.parametrize("name", entries())
def test_entries_are_small(name: str) -> None:
    files = [path for path in Path(FOLDER, name).rglob("*") if path.is_file()]

    assert sum(path.stat().st_size for path in files) < LARGEST_BYTES
