"""The examples run as they are written."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from wavescope.cli.main import main
from wavescope.collect.demo import programs

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture(scope="module")
def demo_trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The generated trace, whose numbers are known, also where the demo could be recorded."""
    folder = tmp_path_factory.mktemp("demo") / "out"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(programs, "DEMO_PROGRAMS", ())  # its own numbers must be known
        assert main(["demo", "-o", str(folder)]) == 0
    return folder / "trace.db"


def test_the_tour_runs_and_exports(demo_trace: Path) -> None:
    command = [sys.executable, str(EXAMPLES / "notebook_tour.py"), str(demo_trace)]

    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert "34,868 ops" in done.stdout
    assert demo_trace.with_suffix(".pftrace").stat().st_size > 100_000


def test_the_rule_file_groups_kernels(demo_trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rules = str(EXAMPLES / "kernel_groups.toml")

    assert (
        main(
            ["summary", str(demo_trace), "--rules", rules, "--format", "csv", "--table", "kernels"]
        )
        == 0
    )

    rows = {line.split(",")[0]: line for line in capsys.readouterr().out.splitlines()}
    assert rows["all-reduce"].startswith("all-reduce,communication,5248,")
    assert rows["attention"].startswith("attention,attention,5184,")
