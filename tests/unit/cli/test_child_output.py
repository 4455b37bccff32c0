"""Programs that a command runs print where it tells them to, and it prints where it did."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from wavescope.collect.launcher import children_print_to

_PROGRAM = ("sh", "-c", "echo data; echo trouble >&2")


def test_children_print_elsewhere_meanwhile(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with (tmp_path / "out").open("wb") as out, (tmp_path / "err").open("wb") as err:
        with children_print_to(out.fileno(), err.fileno()):
            subprocess.run(_PROGRAM, check=True)
        subprocess.run(_PROGRAM, check=True)

    assert ((tmp_path / "out").read_text(), (tmp_path / "err").read_text()) == (
        "data\n",
        "trouble\n",
    )
    assert capfd.readouterr() == ("data\n", "trouble\n")


def test_what_fails_meanwhile_leaves_the_streams_as_they_were(
    capfd: pytest.CaptureFixture[str],
) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    with (
        Path(os.devnull).open("wb") as nowhere,
        pytest.raises(ZeroDivisionError),
        children_print_to(nowhere.fileno(), nowhere.fileno()),
    ):
        raise ZeroDivisionError

    subprocess.run(_PROGRAM, check=True)
    assert capfd.readouterr() == ("data\n", "trouble\n")
    assert len(list(Path("/proc/self/fd").iterdir())) == before
