"""Which command a command line means: names, aliases, and what the input holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.cli.conftest import Run
from wavescope.cli.commands import COMMANDS, command_of, entry_for
from wavescope.cli.dispatch import first_positional

OLD_NAMES = {
    "analyze": "counters",
    "profile": "counters collect",
    "analyze-trace": "findings",
    "report-att": "report",
    "diff-att": "compare",
    "capture-att": "capture",
    "start": "resume",
    "stop": "pause",
    "export": "convert",
}


@pytest.fixture
def words(trace_file: Path, capture_folder: Path, counter_folder: Path) -> dict[str, str]:
    return {
        "TRACE": str(trace_file),
        "CAPTURE": str(capture_folder),
        "COUNTERS": str(counter_folder),
    }


@pytest.mark.parametrize(("old", "new"), OLD_NAMES.items())
def test_old_names_stay(run: Run, old: str, new: str) -> None:
    assert entry_for(old).name == new
    ran = run(old, "--help")
    assert (ran.code, ran.out.split("\n")[0].split()[:3]) == (0, ["usage:", "wavescope", old])


def test_no_name_is_used_twice() -> None:
    names = [name for entry in COMMANDS for name in entry.names]
    names += [name for e in COMMANDS for form in e.forms.values() for name in form.aliases]

    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("line", "first"),
    [
        ("TRACE", "Summary"),
        ("CAPTURE", "Hotspots of axpy(float*)"),
        ("COUNTERS", "Counter analysis"),
        ("info TRACE", "Trace"),
        ("info CAPTURE", "Captures"),
        ("info COUNTERS", "Counter workload"),
        ("compare TRACE TRACE", "Comparison"),
        ("compare CAPTURE CAPTURE", "Two captures"),
        ("counters COUNTERS", "Counter analysis"),
        ("analyze -p COUNTERS", "Counter analysis"),
        ("TRACE --per gpu", "Summary"),
    ],
)
def test_what_the_input_is_decides(run: Run, words: dict[str, str], line: str, first: str) -> None:
    ran = run(*(words.get(word, word) for word in line.split()))

    assert ran.code == 0
    assert ran.out.split("\n")[0] == first


@pytest.mark.parametrize(
    ("word", "sign"),
    [("TRACE", "Timeline"), ("CAPTURE", "s_waitcnt"), ("COUNTERS", "Speed-of-Light")],
)
def test_a_report_is_about_what_the_input_is(
    run: Run, words: dict[str, str], tmp_path: Path, word: str, sign: str
) -> None:
    target = tmp_path / "page.html"

    ran = run("report", "-o", target, words[word])

    assert (ran.code, ran.out) == (0, "")
    assert ran.err.startswith(f"wrote {target} (html, ")
    assert sign in target.read_text()


def test_counter_folders_are_compared_with_the_first(
    run: Run, counter_folder: Path, tmp_path: Path
) -> None:
    from tests.counters_builder import a_workload

    a_workload(tmp_path / "after").with_dispatch("gemm", 2_000, SQ_WAVES=8).write()

    ran = run("compare", counter_folder, tmp_path / "after")

    assert (ran.code, ran.out) == (0, run("counters", "-p", counter_folder, tmp_path / "after").out)


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("summary CAPTURE", "it is a capture: use `wavescope hotspots CAPTURE`"),
        ("findings COUNTERS", "it is a counter folder: use `wavescope counters COUNTERS`"),
        ("findings CAPTURE", "it is a capture: use `wavescope plan CAPTURE`"),
        ("analyze-trace CAPTURE", "it is a capture: use `wavescope plan CAPTURE`"),
        ("plan TRACE", "it is a trace: use `wavescope findings TRACE`"),
        ("phases CAPTURE", "it is a capture: use `wavescope hotspots CAPTURE`"),
        ("counters TRACE", "it is a trace: use `wavescope summary TRACE`"),
        ("analyze -p TRACE", "it is a trace: use `wavescope summary TRACE`"),
        ("roofline CAPTURE", "it is a capture: use `wavescope hotspots CAPTURE`"),
        ("hotspots TRACE", "it is a trace: use `wavescope summary TRACE`"),
        ("plan COUNTERS", "it is a counter folder: use `wavescope counters COUNTERS`"),
        ("traffic CAPTURE", "it is a capture: use `wavescope hotspots CAPTURE`"),
        ("compare TRACE CAPTURE", "it is a capture: use `wavescope hotspots CAPTURE`"),
    ],
)
def test_another_input_than_a_command_reads_names_the_right_one(
    run: Run, words: dict[str, str], line: str, hint: str
) -> None:
    ran = run(*(words.get(word, word) for word in line.split()))

    for word, path in words.items():
        hint = hint.replace(f" {word}`", f" {path}`")
    assert ran.code == 3
    assert ran.err.splitlines()[-1] == f"hint: {hint}"


@pytest.mark.parametrize(
    "line",
    [
        "info ABSENT",
        "info CAPTURE ABSENT",
        "info COUNTERS ABSENT",
        "report TRACE ABSENT -o PAGE",
        "report COUNTERS ABSENT -o PAGE",
        "compare TRACE ABSENT",
        "compare CAPTURE ABSENT",
        "compare COUNTERS ABSENT",
    ],
)
def test_an_input_that_is_not_there_is_said_whatever_the_first_is(
    run: Run, words: dict[str, str], tmp_path: Path, line: str
) -> None:
    absent = str(tmp_path / "absent")
    known = {**words, "ABSENT": absent, "PAGE": str(tmp_path / "page.html")}

    ran = run(*(known.get(word, word) for word in line.split()))

    assert (ran.code, ran.out) == (3, "")
    assert ran.err.startswith(f"error: cannot read {absent}: ")


@pytest.mark.parametrize(
    ("line", "option", "kind"),
    [
        ("report CAPTURE --marker x", "--marker", "capture"),
        ("report COUNTERS --label=x", "--label", "counter folder"),
        ("compare CAPTURE CAPTURE --by kernel", "--by", "capture"),
        ("compare TRACE TRACE --fail-above 3", "--fail-above", "trace"),
        ("info CAPTURE --markers", "--markers", "capture"),
    ],
)
def test_options_of_other_kinds_are_refused(
    run: Run, words: dict[str, str], line: str, option: str, kind: str
) -> None:
    ran = run(*(words.get(word, word) for word in line.split()))

    verb, path = line.split(maxsplit=1)[0], words[line.split()[1]]
    assert ran.code == 2
    assert ran.err.splitlines() == [
        f"error: {option} cannot be used here: {path} is a {kind}",
        f"hint: `wavescope {verb} {path} --help` shows its options",
    ]


def test_the_help_of_a_kind_is_shown_for_a_path(run: Run, words: dict[str, str]) -> None:
    general, of_a_capture = run("report", "--help"), run("report", words["CAPTURE"], "--help")

    assert "--label" in general.out and "--counters" not in general.out
    assert "of a capture: plan, code with heat" in general.out
    assert "--counters" in of_a_capture.out and "--label" not in of_a_capture.out
    assert of_a_capture.out.startswith("usage: wavescope report ")


def test_a_path_alone_that_is_nothing_known(run: Run, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing of ours")

    ran = run(tmp_path / "notes.txt")

    assert ran.code == 3
    assert "it is neither a trace nor a capture nor a counter folder" in ran.err


def test_a_path_alone_that_is_not_there(run: Run) -> None:
    ran = run("absent.db")

    assert ran.code == 3
    assert ran.err == (
        "error: cannot read absent.db: there is no such file\n"
        "hint: check the name; relative paths begin at the current folder\n"
    )


def test_a_command_goes_before_a_file_of_its_name(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("metrics").write_text("not a trace")

    assert run("metrics", "l2").code == 0
    assert run("./metrics").code == 3


def test_counters_need_a_folder(run: Run) -> None:
    ran = run("counters")

    assert (ran.code, ran.err) == (
        2,
        "error: no counter folder was given\nhint: wavescope counters workloads/vcopy/MI200\n",
    )


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("a.db b.db", "a.db"),
        ("-o out.html a.db", "a.db"),
        ("--output=out.html a.db", "a.db"),
        ("--force -q a.db", "a.db"),
        ("--label v1 --label v2 a.db b.db", "a.db"),
        ("--unknown a.db", "a.db"),
        ("--help", None),
        ("-o out.html", None),
    ],
)
def test_the_first_input_is_no_value_of_an_option(line: str, expected: str | None) -> None:
    parser = command_of(entry_for("report")).parser()

    assert first_positional(line.split(), [parser]) == expected


def test_values_of_an_option_that_takes_many_are_no_inputs() -> None:
    parser = command_of(entry_for("compare")).parser()

    assert first_positional(["--base", "a.db", "b.db", "--new", "c.db"], [parser]) is None
