"""`wavescope overhead` with real runs: on the software GPU, and of programs without any."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.executed import built
from tests.recorded import collector
from tests.softgpu_programs import require_softgpu
from wavescope.cli.main import main

PRINTING = (sys.executable, "-c", "print('Throughput: 1,234.5 tok/s')")
METRIC = ("--metric", r"Throughput: ([\d.,]+) tok/s", "--unit", "tok/s")


@pytest.fixture(autouse=True)
def _own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    collector()
    runtime = tmp_path / "runtime"
    runtime.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    monkeypatch.chdir(tmp_path)


def overhead(*arguments: str) -> int:
    return main(["overhead", *arguments])


def document(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text)
    return found


def table(found: dict[str, Any], name: str) -> list[dict[str, Any]]:
    (chosen,) = [table for table in found["tables"] if table["name"] == name]
    names = [column["name"] for column in chosen["columns"]]
    return [dict(zip(names, row, strict=True)) for row in chosen["rows"]]


def test_real_runs_on_the_software_gpu(
    tmp_path_factory: pytest.TempPathFactory, capfd: pytest.CaptureFixture[str]
) -> None:
    require_softgpu()
    program = built("hsa_load.c", tmp_path_factory.getbasetemp())

    code = overhead(
        "--softgpu=gfx90a,kernel_ns=1000",
        *("--modes", "lite,full", "--rounds", "2", "--warm-up", "0"),
        *("--save", "results.json", "--html", "page.html", "--json"),
        *("--", str(program), "1", "1", "200", "none", "shutdown"),
    )

    captured = capfd.readouterr()
    assert code == 0, captured.err
    found = document(captured.out)
    assert [row["mode"] for row in table(found, "overhead")] == ["lite", "full"]
    assert all(row["rounds"] == 2 for row in table(found, "overhead"))
    lite, full = table(found, "modes")
    assert (lite["seen"], full["seen"], full["timed"]) == (200, 200, 200)
    assert lite["timed"] == 199, "the last dispatch has a signal of the program"
    assert (lite["coverage_percent"], full["coverage_percent"]) == (99.5, 100.0)
    arms = [(row["round"], row["arm"]) for row in table(found, "runs")]
    assert sorted(arms) == [(n, arm) for n in (1, 2) for arm in ("baseline", "full", "lite")]
    assert document(Path("results.json").read_text())["softgpu"] == "gfx90a,kernel_ns=1000"
    page = Path("page.html").read_text()
    assert "Content-Security-Policy" in page
    assert "mode lite" in page
    assert sorted(path.name for path in Path().iterdir()) == [
        "page.html",
        "results.json",
        "runtime",
    ]


def test_the_programs_own_metric_and_older_versions(capfd: pytest.CaptureFixture[str]) -> None:
    flags = ("--modes", "lite", "--rounds", "2", "--warm-up", "0", *METRIC)
    assert overhead(*flags, "--label", "v1", "--save", "v1.json", "-q", "--", *PRINTING) == 0
    capfd.readouterr()

    code = overhead(*flags, "--against", "v1.json", "--format", "markdown", "--", *PRINTING)

    captured = capfd.readouterr()
    assert code == 0
    assert "| lite | 1,234.5 | 1,234.5 | 0.0 |" in captured.out
    assert "### Versions and modes" in captured.out
    assert "| v1 | lite |" in captured.out
    assert "4/4: round 2" in captured.err
    assert "recorded no op" in captured.out


def test_a_kept_measurement_is_shown_without_running(capfd: pytest.CaptureFixture[str]) -> None:
    flags = ("--modes", "lite", "--rounds", "1", "--warm-up", "0", *METRIC)
    assert overhead(*flags, "--save", "kept.json", "-q", "--", *PRINTING) == 0
    capfd.readouterr()

    assert overhead("--load", "kept.json", "--json") == 0

    found = document(capfd.readouterr().out)
    assert found["facts"]["command"].startswith(sys.executable)
    assert table(found, "overhead")[0]["verdict"] == "nothing recorded"


def kept(path: str, lite: list[float]) -> None:
    """A measurement of three rounds, made up."""
    rows = [("baseline", [100.0, 100.1, 99.9]), ("lite", lite)]
    facts = {"op_count": 1, "kernel_count": 1, "seen": 1, "timed": 1, "size_bytes": 1}
    runs = [
        {
            "arm": arm,
            "round": n,
            "value": value,
            "wall_ns": 1,
            "cpu_ns": 1,
            "trace": None if arm == "baseline" else facts,
        }
        for arm, values in rows
        for n, value in enumerate(values, 1)
    ]
    metric = {"name": "(x)", "unit": "<b>tok/s</b>", "higher_is_better": True}
    found = {
        "schema": "wavescope.overhead/1",
        "label": "<script>alert(1)</script>",
        "command": "./bench",
        "metric": metric,
        "runs": runs,
        "wavescope_version": "0.1.0",
        "recorded_at": "",
        "softgpu": None,
    }
    Path(path).write_text(json.dumps(found))


def test_a_mode_that_costs_fails_the_check_when_asked(capfd: pytest.CaptureFixture[str]) -> None:
    kept("slow.json", [95.0, 95.1, 94.9])
    kept("free.json", [100.0, 100.1, 99.9])

    assert overhead("--load", "slow.json") == 0
    assert overhead("--load", "slow.json", "--fail") == 1
    assert overhead("--load", "slow.json", "--fail", "--threshold", "10") == 0
    assert overhead("--load", "free.json", "--fail") == 0
    assert "costs" in capfd.readouterr().out


def test_a_check_that_is_inconclusive_has_an_exit_code_of_its_own() -> None:
    kept("noisy.json", [90.0, 110.0, 95.0])

    assert overhead("--load", "noisy.json") == 0
    assert overhead("--load", "noisy.json", "--fail") == 5


def test_names_from_files_are_escaped_in_the_page() -> None:
    kept("hostile.json", [100.0, 100.1, 99.9])

    assert overhead("--load", "hostile.json", "--html", "page.html", "-q") == 0

    page = Path("page.html").read_text()
    assert "<script>alert(1)" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "<b>tok/s" not in page


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ((), 2, "no program to run was given"),
        (("--modes", "fast", "--", "true"), 2, "'fast' is none of"),
        (("--rounds", "0", "--", "true"), 2, "not a number of rounds"),
        (("--rounds", "x", "--", "true"), 2, "not a number"),
        (("--threshold", "-3", "--", "true"), 2, "not a percentage"),
        (("--metric", "tokens", "--", "true"), 2, "which part is the number"),
        (("--load", "missing.json"), 3, "missing.json"),
        (("--load", "here.json", "--", "true"), 2, "takes no program"),
        (("--save", "here.json", "--", "true"), 2, "already exists"),
        (("--against", "here.json", "--", "true"), 3, "not an overhead measurement"),
        (("--rounds", "1", "--warm-up", "0", "--", "false"), 1, "exit code 1"),
        (("--rounds", "1", "--", "no-such-program"), 2, "no program 'no-such-program'"),
    ],
)
def test_what_goes_wrong_is_said(
    capfd: pytest.CaptureFixture[str], arguments: tuple[str, ...], code: int, said: str
) -> None:
    Path("here.json").write_text("{}")

    assert overhead(*arguments) == code

    assert said in capfd.readouterr().err


def test_a_rate_that_rises_is_called_faster_on_the_page() -> None:
    kept("faster.json", [136.0, 136.2, 135.8])

    assert overhead("--load", "faster.json", "--html", "page.html", "-q") == 0

    page = Path("page.html").read_text()
    assert "26.5 % faster" in page
    assert "+36" not in page


def test_cases_are_rows_beside_one_another(capfd: pytest.CaptureFixture[str]) -> None:
    flags = ("--modes", "lite", "--rounds", "1", "--warm-up", "0", *METRIC, "-q")
    for concurrency in ("1", "64"):
        case = f"model=R1,tp=8,conc={concurrency}"
        save = f"conc{concurrency}.json"
        assert overhead(*flags, "--case", case, "--save", save, "--", *PRINTING) == 0
    capfd.readouterr()

    assert overhead("--load", "conc1.json", "--load", "conc64.json", "--json") == 0

    rows = table(document(capfd.readouterr().out), "overhead")
    shown = [[row[f"case_{key}"] for key in ("model", "tp", "conc")] for row in rows]
    assert shown == [["R1", "8", "1"], ["R1", "8", "64"]]
    assert overhead("--load", "conc1.json", "--case", "tp=8") == 2
    assert overhead("--case", "tp", "--", *PRINTING) == 2
    assert overhead("--case", "tp=8,tp=9", "--", *PRINTING) == 2
