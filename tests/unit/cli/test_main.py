"""The front door: help, versions, exit codes, and errors that speak."""

from __future__ import annotations

import argparse
import errno
import io
import json
import os
import shlex
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.sample_files import SAMPLES
from tests.unit.cli.conftest import Run
from wavescope.cli import dispatch
from wavescope.cli.command import Command
from wavescope.cli.commands import COMMANDS, GROUPS, CommandEntry, command_of, split_name
from wavescope.cli.inputs import add_trace_argument
from wavescope.cli.main import main
from wavescope.errors import MachineError, UnreadableInputError, UsageError
from wavescope.version import __version__

NO_SPACE = """\
error: {}No space left on device
hint: free some space, or choose another place with -o (TMPDIR for temporary files)
"""
NO_PERMISSION = """\
error: /out: Permission denied
hint: choose another place with -o, or change the permissions
"""
NO_MEMORY = """\
error: there is not enough memory
hint: choose a part with --start and --end, or write a smaller trace with `wavescope trim`
"""
NO_THREADS = """\
error: the machine lets this program start no more threads
hint: `ulimit -a` shows the limits on processes (-u) and on memory (-v)
"""
A_BUG = """\
error: sorry, this is a bug in wavescope: ZeroDivisionError: 1/0
hint: WAVESCOPE_DEBUG=1 in the environment shows the traceback to report
"""
HEAVY = ("numpy", "rich", "orjson", "sqlite3", "isal")


def python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )


def test_no_command_shows_the_help_on_stderr(run: Run) -> None:
    ran = run()

    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("usage: wavescope COMMAND ...")


def test_help_lists_every_command(run: Run) -> None:
    ran = run("--help")

    assert (ran.code, ran.err) == (0, "")
    for entry in COMMANDS:
        assert f"  {entry.name}" in ran.out and entry.summary in ran.out


def test_help_is_six_groups_on_one_screen(run: Run) -> None:
    lines = run("--help").out.splitlines()

    groups = [line.split()[0] for line in lines if line[:1].isupper()]
    assert groups == ["Record", "Look", "Kernel", "Counters", "Files", "Machine"] == list(GROUPS)
    assert len(lines) < 45
    assert max(map(len, lines)) <= 100


def test_version(run: Run) -> None:
    assert run("--version").out == f"wavescope {__version__}\n"


@pytest.mark.parametrize("entry", COMMANDS, ids=lambda entry: entry.name)
def test_every_command_explains_itself_with_examples_and_takes_json(
    run: Run, entry: CommandEntry
) -> None:
    ran = run(*entry.name.split(), "--help")

    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(f"usage: wavescope {entry.name} ")
    assert "examples:" in ran.out
    assert "--json" in ran.out
    assert run("help", *entry.name.split()).out == ran.out


@pytest.mark.parametrize("entry", COMMANDS, ids=lambda entry: entry.name)
def test_examples_are_command_lines_that_parse(entry: CommandEntry) -> None:
    import shlex

    command = command_of(entry)
    for example in command.examples:
        words = shlex.split(example.line)  # a launcher such as mpirun may come first
        name, arguments = split_name(words[words.index("wavescope") + 1 :])
        assert name in entry.names
        command.parser().parse_args(
            arguments[: arguments.index(">")] if ">" in words else arguments
        )


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("No module named 'numpy'", "No module named 'numpy'"),
        (
            "IMPORTANT: READ THIS\n\nMany words.\nOriginal error was: libm.so: not found\n",
            "Original error was: libm.so: not found",
        ),
    ],
)
def test_a_library_that_cannot_be_loaded_is_the_machines_matter(said: str, told: str) -> None:
    code = (
        "import sys\n"
        "class Missing:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == 'numpy': raise ImportError({said!r}, name='numpy')\n"
        "sys.meta_path.insert(0, Missing())\n"
        "from wavescope.cli.main import main\n"
        "print(main(['summary', '.']))"
    )

    ended = python(code)

    assert ended.stdout == "4\n"
    assert ended.stderr == (
        f"error: a library that this needs cannot be loaded: {told}\n"
        "hint: `wavescope doctor` says what is missing, and how to get it\n"
    )


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from wavescope.cli.main import main; main(['--help']); "
        f"print([name for name in {HEAVY} if name in sys.modules], file=sys.stderr)"
    )

    assert python(code).stderr == "[]\n"


def test_the_help_of_no_command_imports_anything_heavy() -> None:
    code = (
        "import sys; from wavescope.cli.commands import COMMANDS\n"
        "from wavescope.cli.main import main\n"
        "for entry in COMMANDS: assert main([*entry.name.split(), '--help']) == 0\n"
        f"print([name for name in {HEAVY} if name in sys.modules], file=sys.stderr)"
    )

    assert python(code).stderr == "[]\n"


def test_a_commands_help_imports_only_that_command() -> None:
    code = (
        "import sys; from wavescope.cli.main import main; main(['query', '--help']); "
        "print(sorted(n for n in sys.modules if n in "
        "('numpy', 'wavescope.cli.info', 'wavescope.cli.query')), file=sys.stderr)"
    )

    assert python(code).stderr == "['wavescope.cli.query']\n"


@pytest.mark.parametrize("command", ["info", "summary", "phases", "findings"])
def test_no_masked_arrays_are_imported(tmp_path: Path, command: str) -> None:
    """NumPy imports them, which takes as long as the rest of NumPy, when `np.unique` is called."""
    events = [
        {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 10, "dur": 2}
        | {"args": {"device": 0, "stream": 7, "correlation": 3}},
        {"ph": "X", "cat": "cuda_runtime", "name": "hipLaunchKernel", "pid": 9, "tid": 9}
        | {"ts": 5, "dur": 1, "args": {"correlation": 3}},
        {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 9, "tid": 9, "ts": 4, "dur": 3},
        {"ph": "X", "cat": "user_annotation", "name": "decode", "pid": 9, "tid": 9}
        | {"ts": 1, "dur": 30},
    ]
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    code = (
        f"import sys; from wavescope.cli.main import main; main({[command, '-q', str(path)]}); "
        "print('numpy.ma' in sys.modules, file=sys.stderr)"
    )

    assert python(code).stderr == "False\n"


def test_module_runs_like_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "wavescope", "--version"],
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout == f"wavescope {__version__}\n"


def test_another_tools_word_before_a_command_changes_nothing(run: Run) -> None:
    line = ("metrics", "--arch", "gfx942", "--json")

    assert run(*line).code == 0
    assert run("--experimental", *line) == run(*line)
    assert run("--experimental") == run()


def test_an_unknown_command_offers_the_nearest(run: Run) -> None:
    ran = run("sumary", "x.db")

    assert ran.code == 2
    assert ran.err == (
        "error: there is no command 'sumary'\nhint: did you mean `wavescope summary`?\n"
    )


def test_an_old_name_is_offered_where_no_command_is_near(run: Run) -> None:
    assert "did you mean `wavescope analyze`?" in run("analyse", "x").err
    assert "did you mean `wavescope compare`?" in run("compar", "x", "y").err


def test_wrong_arguments_are_usage_errors(run: Run) -> None:
    ran = run("summary", "x.db", "--nonsense")

    assert ran.code == 2
    assert ran.err == (
        "error: unrecognized arguments: --nonsense\n"
        "hint: `wavescope summary --help` shows the arguments and examples\n"
    )


@pytest.mark.parametrize("entry", COMMANDS, ids=lambda entry: entry.name)
def test_no_option_takes_two_dashes_for_a_value(entry: CommandEntry) -> None:
    parser = command_of(entry).parser()
    options = [action.option_strings[-1] for action in parser._actions if action.option_strings]

    for option in options:
        with pytest.raises(UsageError, match=option):
            parser.parse_args([f"{option}=--"])


def test_hostile_text_in_errors_is_made_visible(run: Run, tmp_path: Path) -> None:
    ran = run("info", tmp_path / "a\x1b[31m\nb.db")

    assert ran.code == 3
    assert "\x1b" not in ran.err
    assert "a\\x1b[31m\\nb.db" in ran.err


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Callable[[BaseException], None]:
    """Makes `wavescope info` raise."""

    def install(error: BaseException) -> None:
        def run(_: argparse.Namespace) -> int:
            raise error

        command = Command("info", "", (), add_trace_argument, run)
        monkeypatch.setattr(dispatch, "command_of", lambda _: command)

    return install


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (UsageError("no", hint="do"), 2, "error: no\nhint: do\n"),
        (UnreadableInputError("x.db", "it is empty"), 3, "error: cannot read x.db: it is empty\n"),
        (MachineError("no tool"), 4, "error: no tool\n"),
        (KeyboardInterrupt(), 130, "interrupted\n"),
        (
            OSError(errno.ENOSPC, "No space left on device", "/out"),
            4,
            NO_SPACE.format("/out: "),
        ),
        (
            sqlite3.OperationalError("database or disk is full"),
            4,
            NO_SPACE.format("").replace("No space left on device", "no space left on the disk"),
        ),
        (
            PermissionError(errno.EACCES, "Permission denied", "in.db"),
            3,
            "error: cannot read in.db: Permission denied\n",
        ),
        (
            PermissionError(errno.EACCES, "Permission denied", "/out"),
            4,
            NO_PERMISSION,
        ),
        (
            PermissionError(errno.EPERM, "Operation not permitted", "/sys/out"),
            4,
            "error: /sys/out: Operation not permitted\nhint: choose another place with -o\n",
        ),
        (
            MemoryError(),
            4,
            NO_MEMORY,
        ),
        (
            RuntimeError("can't start new thread"),
            4,
            NO_THREADS,
        ),
        (
            ZeroDivisionError("1/0"),
            70,
            A_BUG,
        ),
    ],
)
def test_errors_become_words_and_exit_codes(
    run: Run,
    failing: Callable[[BaseException], None],
    error: BaseException,
    code: int,
    message: str,
) -> None:
    failing(error)

    ran = run("info", "in.db")

    assert (ran.code, ran.out, ran.err) == (code, "", message)


def test_tracebacks_are_shown_on_request(
    run: Run, failing: Callable[[BaseException], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WAVESCOPE_DEBUG", "1")
    failing(ZeroDivisionError("1/0"))

    ran = run("info", "in.db")

    assert ran.code == 70
    assert "Traceback (most recent call last)" in ran.err


def test_a_closed_pipe_is_no_error_worth_words(trace_file: Path) -> None:
    done = subprocess.run(
        f"{sys.executable} -m wavescope query --quiet {shlex.quote(str(trace_file))} "
        "'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT i FROM n' "
        "--format csv | head -n 2",
        shell=True,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.stdout, done.stderr) == ("i\n1\n", "")


def test_a_full_disk_below_stdout_is_reported_once() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this machine has no /dev/full")
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "wavescope", "--help"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )

    assert done.returncode == 4
    assert done.stderr == NO_SPACE.format("")


def test_an_ascii_terminal_gets_escapes_instead_of_a_failure(
    monkeypatch: pytest.MonkeyPatch, trace_file: Path
) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))

    assert main(["query", str(trace_file), "SELECT '内' AS x", "--format", "csv"]) == 0
    assert raw.getvalue() == b"x\n\\u5185\n"


def test_sigterm_removes_what_was_half_written(trace_file: Path) -> None:
    code = (
        "import signal, sys; from wavescope.cli import main\n"
        "from wavescope.formats.wavescope.writing import writer\n"
        "def write(*_): signal.raise_signal(signal.SIGTERM)\n"
        "writer.write_trace = write\n"
        "sys.exit(main.main(['convert', sys.argv[1], '-o', sys.argv[2]]))"
    )
    target = trace_file.parent / "out.db"

    done = subprocess.run([sys.executable, "-c", code, trace_file, target], check=False)

    assert done.returncode == 143
    assert [path.name for path in trace_file.parent.iterdir()] == ["trace.db"]


def test_numpys_thread_setting_does_not_leak(run: Run, trace_file: Path) -> None:
    run("info", trace_file)

    assert "OPENBLAS_NUM_THREADS" not in os.environ


def test_a_program_on_the_software_gpu_starts_without_numpy() -> None:
    code = (
        "import sys; from wavescope.cli.main import main\n"
        "main(['softgpu', '--chip', 'gfx90a']); sys.exit('numpy' in sys.modules)"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)

    assert done.returncode == 0


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_streams_that_are_closed_are_no_error(closed: str) -> None:
    command = f"{sys.executable} -m wavescope info --formats {closed}"

    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")


def test_long_text_of_a_file_is_cut_in_messages(run: Run, tmp_path: Path) -> None:
    """A key of a rule file, say, may be of any length."""
    trace = SAMPLES["chrome"](tmp_path)
    (tmp_path / "rules.toml").write_text(f"[[rule]]\n{'x' * 9_000} = 1\n")

    ran = run("summary", str(trace), "--rules", str(tmp_path / "rules.toml"))

    error, hint = ran.err.splitlines()
    assert (ran.code, hint) == (2, "hint: a rule has match and some of name, category and note")
    assert error.startswith(f"error: {tmp_path}/rules.toml, rule 1: unknown key 'xxx")
    assert error.endswith("xxx'")
    assert "characters) ..." in error
    assert len(error) < 2_100


def test_python_says_nothing_of_its_own_about_patterns(tmp_path: Path) -> None:
    """`[[` may mean a nested set in a later version, which is no concern of who wrote the rule."""
    trace = SAMPLES["chrome"](tmp_path)
    (tmp_path / "rules.toml").write_text("[[rule]]\nmatch = '[[:x:]]'\nname = 'y'\n")
    arguments = ["summary", str(trace), "--rules", str(tmp_path / "rules.toml"), "-q"]

    ran = python(f"from wavescope.cli.main import main; raise SystemExit(main({arguments!r}))")

    assert (ran.returncode, ran.stderr) == (0, "")
