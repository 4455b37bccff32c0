"""`wavescope compare`: output, verdicts as exit codes, and wrong command lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.builders import a_trace
from tests.sample_files import write_as
from wavescope.cli.main import main


def write_run(path: Path, seed: int, *, slow_down: float = 0.0, noise: float = 0.002) -> str:
    """A trace of ten steps; the run as a whole is a little faster or slower than others."""
    rng = np.random.default_rng(seed)
    speed = (1 + slow_down) * (1 + noise * rng.standard_normal())
    maker = a_trace()
    for step in range(10):
        at = 1_000_000 * step
        maker.with_marker(f"step {step}", at, at + 900_000)
        for name in ("gemm|x", "rmsnorm", "paged_attention"):
            end = at + round(50_000 * speed * (1 + 0.005 * rng.standard_normal()))
            maker.with_kernel(name, at, end)
            at = end
    return str(write_as(maker, path))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    folder = tmp_path_factory.mktemp("runs")

    def arm(name: str, first: int, **values: float) -> list[str]:
        return [write_run(folder / f"{name}{n}.db", first + n, **values) for n in range(3)]

    return {
        "base": arm("base", 0),
        "same": arm("same", 10),
        "slow": arm("slow", 20, slow_down=0.03),
        "fast": arm("fast", 30, slow_down=-0.03),
        "noisy": arm("noisy", 40, slow_down=0.03, noise=0.1),
    }


def json_of(capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    code = main(["compare", *arguments, "--json"])
    return code, json.loads(capfd.readouterr().out)


@pytest.mark.parametrize(
    ("new", "verdict", "code"),
    [
        ("same", "pass", 0),
        ("slow", "regression", 1),
        ("fast", "improvement", 0),
        ("noisy", "inconclusive", 5),
    ],
)
def test_the_verdict_is_the_exit_code(
    runs: dict[str, list[str]],
    capfd: pytest.CaptureFixture[str],
    new: str,
    verdict: str,
    code: int,
) -> None:
    found, document = json_of(capfd, "--base", *runs["base"], "--new", *runs[new])

    assert (found, document["facts"]["verdict"]) == (code, verdict)
    assert document["facts"]["significance"] == 0.05


def test_the_same_runs_give_the_same_answer(
    runs: dict[str, list[str]], capfd: pytest.CaptureFixture[str]
) -> None:
    arguments = ("--base", *runs["base"], "--new", *runs["slow"], "--statistic", "median")

    assert json_of(capfd, *arguments) == json_of(capfd, *arguments)


def test_markdown_for_a_pull_request(
    runs: dict[str, list[str]], capfd: pytest.CaptureFixture[str]
) -> None:
    code = main(
        ["compare", "--base", *runs["base"], "--new", *runs["slow"], "--format", "markdown"]
    )

    text = capfd.readouterr().out
    assert code == 1
    assert text.startswith("## Performance: regression\n")
    assert "95 % interval +" in text
    assert "gemm\\|x" in text
    assert "| What | Base" in text


def test_two_traces_as_text(runs: dict[str, list[str]], capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", runs["base"][0], runs["slow"][0]]) == 0

    captured = capfd.readouterr()
    assert "From base to new, by category" in captured.out
    assert "attention" in captured.out
    assert "Steps" in captured.out
    assert "more with --table NAME: categories" in captured.err


def test_parts_and_filters(runs: dict[str, list[str]], capfd: pytest.CaptureFixture[str]) -> None:
    code, document = json_of(
        capfd, runs["base"][0], runs["slow"][0], "--by", "kernel", "--kernel", "rmsnorm"
    )

    assert code == 0
    assert [table["name"] for table in document["tables"]] == ["traces", "kernels"]
    assert [row[0] for row in document["tables"][1]["rows"]] == ["rmsnorm"]
    assert document["facts"]["selection"] == "kernel rmsnorm"


def test_categories_of_your_own(
    runs: dict[str, list[str]], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text('[[rule]]\nmatch = "rmsnorm"\nname = "norm"\ncategory = "mine"\n')

    _, document = json_of(
        capfd, runs["base"][0], runs["slow"][0], "--by", "category", "--rules", str(rules)
    )

    table = next(table for table in document["tables"] if table["name"] == "categories")
    assert "mine" in [row[0] for row in table["rows"]]


def test_no_op_left_is_said(runs: dict[str, list[str]], capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", runs["base"][0], runs["slow"][0], "--kernel", "nothing"]) == 0

    assert "no GPU op passes" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "at least two traces"),
        (("BASE",), "at least two traces"),
        (("--base", "BASE"), "both versions"),
        (("BASE", "--base", "BASE", "--new", "NEW"), "no others can be given"),
        (("--base", "BASE", "BASE", "--new", "NEW"), "given twice"),
        (("BASE", "NEW", "--by", "colour"), "'colour' is none of"),
        (("--base", "BASE", "--new", "NEW", "--threshold", "-1"), "not a percentage"),
        (("--base", "BASE", "--new", "NEW", "--significance", "0"), "no test is sure"),
        (("--base", "BASE", "--new", "NEW", "--significance", "nan"), "not a probability"),
        (
            ("--base", "BASE", "--new", "NEW", "--skip-steps", "10"),
            "the first 10 are to be skipped",
        ),
        (("--base", "BASE", "--new", "NEW", "--skip-steps", "x"), "not a number"),
        (("--base", "BASE", "--new", "NEW", "--step", "epoch"), "no marker of"),
    ],
)
def test_wrong_command_lines(
    runs: dict[str, list[str]],
    capfd: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    said: str,
) -> None:
    paths = {"BASE": runs["base"][0], "NEW": runs["slow"][0]}

    assert main(["compare", *(paths.get(word, word) for word in arguments)]) == 2

    assert said in capfd.readouterr().err


def test_an_unreadable_run(
    runs: dict[str, list[str]], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    damaged = tmp_path / "damaged.db"
    damaged.write_bytes(b"not a trace")

    assert main(["compare", runs["base"][0], str(damaged)]) == 3
    assert main(["compare", "--base", runs["base"][0], "--new", str(damaged)]) == 3
    assert str(damaged) in capfd.readouterr().err


def test_rows_are_those_of_parts_and_the_sum_around_them_stays(
    runs: dict[str, list[str]], capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", runs["base"][0], runs["slow"][0], "-n", "2", "-q"]) == 0

    lines = capfd.readouterr().out.split("by category\n")[1].split("\n\n")[0].splitlines()
    names = [line.split("  ")[0] for line in lines if not line.startswith(("-", " ", "Part"))]
    assert names[0] == "(base)"
    assert names[2:] == ["(2 others)", "(ran at once)", "(idle)", "(new)"]


def test_the_order_of_the_runs_is_told_or_assumed(
    runs: dict[str, list[str]], capfd: pytest.CaptureFixture[str]
) -> None:
    arms = ("--base", *runs["base"], "--new", *runs["same"])

    orders = [
        json_of(capfd, *arms, *flags)[1]["facts"]
        for flags in ((), ("--order", "interleaved"), ("--order", "nbnbnb"), ("--drift", "0"))
    ]

    assert [(each["order"], each["order_source"]) for each in orders] == [
        ("base first", "assumed"),
        ("interleaved", "--order"),
        ("interleaved", "--order"),
        ("base first", "assumed"),
    ]
    assert [each["allowance_percent"] > 0.5 for each in orders] == [True, False, False, False]
    assert orders[3]["allowance_percent"] == 0


@pytest.mark.parametrize(
    ("order", "words"), [("sideways", "not an order of runs"), ("bn", "1 base and 1 new")]
)
def test_an_order_that_does_not_fit_is_a_wrong_command_line(
    runs: dict[str, list[str]], capfd: pytest.CaptureFixture[str], order: str, words: str
) -> None:
    arms = ("--base", *runs["base"], "--new", *runs["same"])

    assert main(["compare", *arms, "--order", order]) == 2
    assert words in capfd.readouterr().err


def test_two_runs_of_each_refuse_a_small_change_and_say_why(
    runs: dict[str, list[str]], capfd: pytest.CaptureFixture[str]
) -> None:
    code, found = json_of(capfd, "--base", *runs["base"][:2], "--new", *runs["slow"][:2])

    assert code == 5
    titles = {finding["id"]: finding["title"] for finding in found["findings"]}
    assert titles["few-runs"] == "so few runs can show no change below 11 %"


def test_captures_tell_the_operators_of_replayed_graphs(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    launch = json.dumps({"kernel": "gemm"})
    capture = write_as(
        a_trace()
        .with_call("hipStreamBeginCapture", 0, 1, category="cuda_runtime")
        .with_call("aten::mm", 10, 90, category="cpu_op")
        .with_call("hipLaunchKernel", 20, 30, category="cuda_runtime", args=launch)
        .with_call("hipStreamEndCapture", 100, 101, category="cuda_runtime"),
        tmp_path / "capture.db",
    )
    replay = write_as(
        a_trace()
        .with_call("hipGraphLaunch", 0, 5, category="cuda_runtime")
        .with_kernel("gemm", 100, 160)
        .with_link(1, 1),
        tmp_path / "replay.db",
    )
    eager = write_as(a_trace().with_kernel("gemm", 100, 150), tmp_path / "eager.db")
    asked = ("--by", "operator", "--capture", str(capture))

    assert main(["compare", str(replay), str(replay), *asked, "--json"]) == 0

    captured = capfd.readouterr()
    tables = {table["name"]: table["rows"] for table in json.loads(captured.out)["tables"]}
    assert tables["operators"][0][:3] == ["aten::mm", 60, 60]
    assert captured.err.splitlines() == [
        "note: trace 1: 100.0 % of the ops of graph replays fit a capture",
        "note: trace 2: 100.0 % of the ops of graph replays fit a capture",
    ]
    assert main(["compare", str(replay), str(eager), *asked]) == 0
    assert capfd.readouterr().err.splitlines()[1] == (
        "note: trace 2: no kernel was launched by a graph: captures say nothing of it"
    )
    verdict = ["--base", str(replay), "--new", str(eager), "--capture", str(capture)]
    assert main(["compare", *verdict]) == 2
    assert "a verdict names no operators" in capfd.readouterr().err


def test_gpus_are_named_by_what_tells_them_apart(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    paths = [
        str(
            write_as(
                a_trace().with_kernel("gemm", 0, 9).with_agent(0, model=model), tmp_path / name
            )
        )
        for model, name in (("AMD Instinct MI300X", "a.db"), ("NVIDIA H100 80GB HBM3", "b.db"))
    ]

    assert main(["compare", *paths, "--by", "kernel"]) == 0

    page = capfd.readouterr().out
    assert "  MI300X  " in page
    assert "  H100 80GB HBM3  " in page
    assert main(["compare", *paths, "--by", "kernel", "--json"]) == 0
    traces = json.loads(capfd.readouterr().out)["tables"][0]["rows"]
    assert [row[2] for row in traces] == ["AMD Instinct MI300X", "NVIDIA H100 80GB HBM3"]
