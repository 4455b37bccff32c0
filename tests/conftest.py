"""Fixtures for all tests."""

from __future__ import annotations

import fcntl
import gc
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.runtimes import INTERCEPTION
from wavescope.cli import progress

# What these modules assert is told in full, as what tests assert is.
pytest.register_assert_rewrite(
    "tests.executed", "tests.played_runs", "tests.program_builds", "tests.recorded", "tests.traced"
)

# What a shell or nohup runs in the background ignores these; programs that tests start would inherit
# that, but they inherit no handler. One that does nothing lets the tests themselves go on.
signal.signal(signal.SIGINT, signal.default_int_handler)
for _number in (signal.SIGHUP, signal.SIGQUIT):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, lambda *_: None)

# Version managers put a script in the place of `python3` that looks for the interpreter at each start, ten times as
# long as that takes to start: programs and tools that tests run find this one at once.
_python3 = shutil.which("python3")
if _python3 and Path(_python3).read_bytes().startswith(b"#!"):
    os.environ["PATH"] = os.pathsep.join((f"{sys.base_prefix}/bin", os.environ["PATH"]))

# How long an example takes says nothing on a busy machine; timings belong to the benchmarks. Tests
# name no checks of their own to suppress: theirs would replace these.
settings.register_profile(
    "untimed",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
# The same examples each time, so that a landing fails for what it changes; `make explore` seeks others.
settings.register_profile("same", settings.get_profile("untimed"), derandomize=True, database=None)
settings.load_profile(os.environ.get("WAVESCOPE_TEST_EXAMPLES", "same"))

_USUAL_THRESHOLDS = gc.get_threshold()

SHARED_DATA = Path(__file__).resolve().parent.parent.parent / "shared" / "data"


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    """In a new clone one worker compiles all tests, and the others take what it wrote.

    Compiling them takes longer than the rest of collecting them.
    """
    cache = getattr(session.config, "cache", None)  # its plugin may be left out
    with _nothing_is_garbage():
        if "PYTEST_XDIST_WORKER" not in os.environ or sys.dont_write_bytecode or cache is None:
            return (yield)
        with (cache.mkdir("compiled") / "by_a_worker").open("a") as compiled:
            fcntl.flock(compiled, fcntl.LOCK_EX)
            if os.fstat(compiled.fileno()).st_size == 0:
                result = yield
                compiled.write("yes")
                return result
        return (yield)


@contextmanager
def _nothing_is_garbage() -> Iterator[None]:
    """What is made meanwhile stays: looking through it again and again takes time, later as well."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests see no settings of the machine they run on."""
    own = [name for name in os.environ if name.startswith("WAVESCOPE_")]
    for name in (*own, "NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in INTERCEPTION.items():
        monkeypatch.setenv(name, value)


def pytest_runtest_teardown() -> None:
    """Undo what commands, which run in a process of their own, do to Python's memory management.

    Otherwise traces that a thousand tests opened stay open until the process runs out of files.
    """
    gc.set_threshold(*_USUAL_THRESHOLDS)


@pytest.fixture(autouse=True)
def _nobody_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands tell no progress, however long a busy machine lets them take."""
    monkeypatch.setattr(progress, "SILENT_SECONDS", 1e6)


@pytest.fixture
def shared_data() -> Path:
    """The folder of real traces, or a skip that says where it was looked for."""
    if not SHARED_DATA.is_dir():
        pytest.skip("real traces are not here: expected in ../shared/data beside the repository")
    return SHARED_DATA
