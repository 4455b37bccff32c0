"""Every command of the tutorials runs as it is printed, on the software GPU."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.llama import RUNTIME, require_llama
from tests.program_builds import APT
from tests.softgpu_programs import require_softgpu
from wavescope.collect.machine import Machine

ROOT = Path(__file__).resolve().parents[2]
TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
SHELL_BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


def require_recording() -> None:
    """Skip with the reason where the examples cannot be recorded."""
    require_softgpu()
    if not Machine().program("hipcc"):
        pytest.skip(f"hipcc is not installed: {APT}")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that has the examples, as the repository's root has them."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    return tmp_path


def run_in(
    folder: Path, script: str, variables: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    binaries = Path(sys.executable).parent
    environment = {
        **os.environ,
        "PATH": f"{binaries}:{os.environ['PATH']}",
        "XDG_CACHE_HOME": str(folder / "cache"),
        "COLUMNS": "160",
        **(variables or {}),
    }
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )
    # Shown by pytest when the test fails: which command printed what.
    print(done.stdout, done.stderr, sep="\n--- stderr ---\n")
    return done


def script_of(page: str) -> str:
    blocks = SHELL_BLOCK.findall((ROOT / "docs" / "tutorials" / f"{page}.md").read_text())
    assert blocks
    return "\n".join(blocks)


def test_prefill_vs_decode(folder: Path) -> None:
    require_recording()

    done = run_in(folder, script_of("prefill-vs-decode"))

    assert done.returncode == 0, done.stderr
    by_markers, without = done.stdout.split("Phases without markers", 1)
    for text in (by_markers, without):
        assert re.search(r"=== prefill \(88 ops, [\d.]+ us GPU time\) ===", text)
        assert re.search(r"=== decode \(7,232 ops, [\d.]+ ms GPU time\) ===", text)
    # A host that is late in the first steps makes them warm-up.
    found = re.search(r"^ +0 +0 +1 +decode +(\d+) +(\d+) +0 +113 ", by_markers, re.MULTILINE)
    assert found is not None
    assert int(found[1]) + int(found[2]) == 64
    assert (folder / "trace.pftrace").stat().st_size > 10_000
    assert (folder / "report.html").read_text().startswith("<!DOCTYPE html>")


def test_find_the_regression(folder: Path) -> None:
    require_recording()

    done = run_in(folder, script_of("find-the-regression"))

    assert done.returncode == 0, done.stderr
    assert re.search(r"^needless_copy .* 192 .*\bnew\b", done.stdout, re.MULTILINE)
    assert re.search(r"^verdict +regression$", done.stdout, re.MULTILINE)
    assert re.findall(r"^exit code (\d)$", done.stdout, re.MULTILINE) == ["1", "5"]
    assert re.search(r"^verdict +inconclusive$", done.stdout, re.MULTILINE)
    assert re.search(r"^verdict +pass$", done.stdout, re.MULTILINE)
    assert "regression" in (folder / "comment.md").read_text()


def test_is_tracing_free_here(folder: Path) -> None:
    require_recording()

    done = run_in(folder, script_of("is-tracing-free-here"))

    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len([line for line in lines if line.startswith(("lite ", "full "))]) >= 4
    assert "tokens/s" in done.stdout
    assert (folder / "overhead.html").exists()


@pytest.mark.runtimes
@pytest.mark.engine
def test_record_an_llm_engine(folder: Path) -> None:
    require_llama()
    runtime = RUNTIME.require()
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")

    variables = {"WAVESCOPE_RUNTIMES": str(runtime.folder.parent)}
    done = run_in(folder, script_of("record-an-llm-engine"), variables)

    assert done.returncode == 0, done.stderr
    assert re.search(r"^prefill +6 .* 792 ", done.stdout, re.MULTILINE)
    assert re.search(r"^decode +81 .* 7,453 ", done.stdout, re.MULTILINE)
    assert re.search(r"^unclassified +- .* 47 ", done.stdout, re.MULTILINE)
    assert re.search(r"^mul_mat_vec_q \(q4_0\) +2,025 ", done.stdout, re.MULTILINE)
    assert re.search(r"timed all 8,239 dispatches$", done.stderr, re.MULTILINE)
    assert (folder / "engine.html").read_text().startswith("<!DOCTYPE html>")
    assert json.loads((folder / "answer.json").read_text())["tokens_predicted"] == 32
    assert re.search(r"\bpaused\b", done.stdout)


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_links_of_tutorials_lead_somewhere(page: Path) -> None:
    targets = [link for link in LINK.findall(page.read_text()) if "://" not in link]

    assert targets
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_every_tutorial_is_run() -> None:
    assert [page.stem for page in TUTORIALS] == [
        "find-the-regression",
        "is-tracing-free-here",
        "prefill-vs-decode",
        "record-an-llm-engine",
    ]
