"""`wavescope capture` with a program in rocprofv3's place."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Ran, Run, run

__all__ = ["run"]

ROOT = Path(__file__).resolve().parents[2]
STANDIN = ROOT / "tests" / "programs" / "rocprofv3_standin"
PROGRAM = (sys.executable, "-c", "print('the program ran')")


@pytest.fixture
def with_rocprofv3(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """rocprofv3 on PATH, the decoder beside it; the folder to write to."""
    decoder = tmp_path / "decoder"
    decoder.mkdir()
    (decoder / "librocprof-trace-decoder.so").touch()
    monkeypatch.setenv("PATH", f"{STANDIN}:{Path(sys.executable).parent}:/usr/bin:/bin")
    monkeypatch.setenv("ROCPROF_ATT_LIBRARY_PATH", str(decoder))
    monkeypatch.setenv("STANDIN_TESTS", str(ROOT))
    return tmp_path / "out"


def captured(run: Run, output: Path, *more: str, kernel: str = "axpy") -> Ran:
    return run("capture-att", "--kernel", kernel, "-o", output, *more, "--", *PROGRAM)


def test_a_capture_is_made_and_analysed(run: Run, with_rocprofv3: Path) -> None:
    ran = captured(run, with_rocprofv3, "--iterations", "3-4")

    assert ran.code == 0
    assert "the program ran" in ran.out
    assert "a load has nothing to hide behind" in ran.out
    assert [line for line in ran.err.splitlines() if line.startswith("wrote")] == [
        f"wrote {with_rocprofv3}/ui_output_agent_7_dispatch_{number}" for number in (3, 4)
    ]


def test_the_first_launch_is_traced_by_default(run: Run, with_rocprofv3: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    monkeypatch.setenv("STANDIN_LAUNCHES", "1")

    ran = captured(run, with_rocprofv3, "--no-analysis", "--json")

    found = json.loads(ran.out)
    assert "the program ran" in ran.err
    assert [Path(row[0]).name for row in found["tables"][0]["rows"]] == [
        "ui_output_agent_7_dispatch_1"
    ]


def test_a_rocprofv3_that_hangs_is_ended_and_its_trace_used(
    run: Run, with_rocprofv3: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STANDIN_HANGS", "1")

    ran = captured(run, with_rocprofv3, "--no-analysis", "--json", "--limit", "20")

    found = json.loads(ran.out)
    assert len(found["tables"][0]["rows"]) == 2
    assert found["findings"][0]["evidence"] == (
        "rocprofv3 was stopped, as it did not end within 20.00 s; its trace is used"
    )


def test_a_kernel_that_never_runs_leaves_nothing(run: Run, with_rocprofv3: Path) -> None:
    ran = captured(run, with_rocprofv3, kernel="gemm")

    assert ran.code == 4
    assert "left no thread trace" in ran.err
    assert "does a kernel match 'gemm'" in ran.err


def test_a_folder_in_use_is_left_alone_unless_forced(run: Run, with_rocprofv3: Path) -> None:
    with_rocprofv3.mkdir()
    (with_rocprofv3 / "notes.txt").write_text("mine")

    assert captured(run, with_rocprofv3).code == 2
    assert captured(run, with_rocprofv3, "--force", "-q").code == 0
    assert (with_rocprofv3 / "notes.txt").read_text() == "mine"


def test_a_dry_run_needs_no_rocm_and_writes_nothing(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.chdir(tmp_path)

    ran = run("capture-att", "--kernel", "pa", "--iterations", "3-4", "--dry-run", "--", "./a b")

    assert ran.code == 0
    assert 'kernel_iteration_range: "[3-4]"' in ran.out
    assert ran.out.endswith(
        "rocprofv3 -i kernel_trace_output/wavescope_att_input.yaml -- './a b'\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_without_rocm_it_says_what_to_install(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("ROCM_PATH", str(tmp_path))

    ran = captured(run, tmp_path / "out")

    assert ran.code == 4
    assert "rocprofiler-sdk" in ran.err


def test_wrong_arguments(run: Run) -> None:
    assert run("capture-att", "--kernel", "x").code == 2
    assert run("capture-att", "--kernel", "(", "--dry-run", "--", "a").code == 2
    assert run("capture-att", "--kernel", "x", "--buffer", "lots", "--", "a").code == 2
    assert run("capture-att", "--kernel", "x", "--se-mask", "0x0", "--dry-run", "--", "a").code == 2


@pytest.mark.parametrize(
    ("text", "expected"), [("96M", "0x6000000"), ("0xC000000", "0xc000000"), ("1GiB", "0x40000000")]
)
def test_buffer_sizes(run: Run, text: str, expected: str) -> None:
    ran = run("capture-att", "--kernel", "x", "--buffer", text, "--dry-run", "--json", "--", "a")

    assert f'att_buffer_size: "{expected}"' in json.loads(ran.out)["facts"]["input_file"]
