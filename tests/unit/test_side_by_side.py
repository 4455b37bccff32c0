"""`tools/side_by_side`, by which `make test` runs its checks beside the tests."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

_SCRIPT = Path(__file__).resolve().parents[2] / "tools" / "side_by_side"


def _run(first: str, second: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([_SCRIPT, first, second], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ("true", "true", ""),
        ("exit 3", "true", "failed, see above: exit 3\n"),
        ("true", "exit 4", "failed: exit 4\n"),
        ("exit 3", "exit 4", "failed, see above: exit 3\nfailed: exit 4\n"),
    ],
)
def test_fails_if_one_of_them_fails(first: str, second: str, said: str) -> None:
    ended = _run(first, second)

    assert (ended.returncode, ended.stderr) == (1 if said else 0, said)


def test_what_the_first_says_stays_together(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    first = f"echo begins; while [ ! -e {gate} ]; do sleep 0.01; done; echo ends >&2"

    ended = _run(first, f"echo tests; touch {gate}")

    assert ended.stdout == "tests\n\nbegins\nends\n"
