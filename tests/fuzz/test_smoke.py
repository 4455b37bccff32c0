"""Some hundred cases of all readers, the same each time: `make fuzz` runs others."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from fuzz.readers import READERS
from fuzz.samples import SAMPLE_MAKERS
from wavescope.formats.registry import importers

CASES = 12
ROOT = Path(__file__).parent.parent.parent


def test_no_case_of_any_reader_fails(tmp_path: Path) -> None:
    options = ["--cases", str(CASES), "--seed", "15", "--own-samples", "--failures", str(tmp_path)]

    ran = subprocess.run(
        [sys.executable, "-m", "fuzz", *options],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (ran.returncode, ran.stderr) == (0, ""), ran.stdout
    assert f"| all | {CASES * len(READERS)} |" in ran.stdout.replace(",", "")
    assert list(tmp_path.iterdir()) == []


def test_every_format_has_samples_and_is_fuzzed() -> None:
    names = {reader.name for reader in READERS}

    assert {importer.name for importer in importers()} <= names
    assert set(SAMPLE_MAKERS) == names
