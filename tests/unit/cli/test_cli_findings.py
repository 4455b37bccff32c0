"""`wavescope findings` (also `analyze-trace`): findings for people, programs and CI."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.unit.analyze.findings import traces
from tests.unit.cli.conftest import Run
from wavescope.formats.wavescope.writing import write_trace


@pytest.fixture
def launch_bound_file(tmp_path: Path) -> Path:
    path = tmp_path / "trace.db"
    write_trace([traces.decode_of_short_ops().builder], path)
    return path


def ids(out: str) -> list[str]:
    return [finding["id"] for finding in json.loads(out)["findings"]]


def test_people_read_the_conclusion_its_evidence_gain_and_the_next_step(
    run: Run, launch_bound_file: Path
) -> None:
    ran = run("analyze-trace", launch_bound_file)

    assert (ran.code, ran.err) == (0, "")
    assert "warning: Phase decode is bound by launches: 94 % of" in ran.out
    assert "200 ops, median 2.000 us" in ran.out
    assert "gain up to 90.6 %: 1.000 us left of each of these gaps" in ran.out
    assert "-> launch them as one graph" in ran.out


def test_programs_get_sql_and_numbers(run: Run, launch_bound_file: Path) -> None:
    ran = run("findings", launch_bound_file, "--json")
    document = json.loads(ran.out)
    finding = next(each for each in document["findings"] if each["id"] == "launch-bound")

    assert finding["numbers"]["phase"] == "decode"
    assert finding["sql"].startswith("SELECT")
    assert [row[0] for row in document["tables"][0]["rows"]] == ids(ran.out)
    queried = run("query", launch_bound_file, finding["sql"], "--json")
    assert queried.code == 0


def test_findings_can_be_chosen_and_thresholds_changed(run: Run, launch_bound_file: Path) -> None:
    def found(*arguments: str) -> list[str]:
        return ids(run("findings", launch_bound_file, "--json", *arguments).out)

    assert found("--only", "launch-bound") == ["launch-bound"]
    assert "launch-bound" not in found("--threshold", "launch_idle_percent=99")
    assert found("--marker", "prefill") == []


@pytest.mark.parametrize(("severity", "code"), [("problem", 1), ("warning", 1), ("info", 1)])
def test_a_check_fails_on_findings(
    run: Run, launch_bound_file: Path, severity: str, code: int
) -> None:
    assert run("findings", launch_bound_file, "--fail-on", severity).code == code


def test_a_check_passes_without_findings(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "fine.db"
    write_trace([traces.exposed_collective(compute_end_ns=89).builder], path)
    ran = run("findings", path, "--fail-on", "info")

    assert ran.code == 0
    assert "no findings" in ran.err
    assert run("findings", path, "--only", "gpu-idle", "--fail-on", "info").code == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--only", "nonsense"), "there is no finding 'nonsense'"),
        (("--threshold", "idle_percent"), "is not NAME=VALUE"),
        (("--threshold", "idle_percent=much"), "is not NAME=VALUE"),
        (("--threshold", "nothing=1"), "there is no threshold 'nothing'"),
    ],
)
def test_mistakes_are_told(
    run: Run, launch_bound_file: Path, arguments: tuple[str, ...], words: str
) -> None:
    ran = run("findings", launch_bound_file, *arguments)

    assert ran.code == 2
    assert words in ran.err
