"""Work on real Dask clusters of several processes: the same outcomes as in the local pool."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.dask_processes import ROOT, Cluster, scheduler
from tests.processes import wait_for_threads, wait_until_killed
from wavescope.errors import MachineError
from wavescope.workers import EngineOptions, Outcome, Task, run_all
from wavescope.workers.dask_clusters import connected
from wavescope.workers.undisturbed import undisturbed

dask = pytest.importorskip("dask", reason="Dask is not here: wavescope[cluster]")
distributed = pytest.importorskip("distributed", reason="Dask is not here: wavescope[cluster]")

DIGEST = Task("tests.worked_items:digest", b"options")
UNLUCKY = Task("tests.worked_items:unlucky")
POOL = EngineOptions(workers=2)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A scheduler and two workers, as somebody else would have started them."""
    with scheduler(tmp_path_factory.mktemp("cluster")) as started:
        started.add_workers("one", "two")
        yield started


def values(outcomes: list[Outcome]) -> list[bytes | None]:
    return [outcome.value for outcome in outcomes]


def dask_workers(cluster: Cluster) -> set[int]:
    """The processes of both workers, when both are there."""
    with distributed.Client(cluster.address, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=60)
        return set(client.run(os.getpid).values())


def children(process: int) -> set[int]:
    found: set[int] = set()
    with contextlib.suppress(OSError):  # threads and processes come and go
        for thread in Path(f"/proc/{process}/task").iterdir():
            found.update(map(int, (thread / "children").read_text().split()))
    return found


def test_the_same_bytes_as_in_the_pool(cluster: Cluster) -> None:
    items = [f"rank {number}" for number in range(40)] + ["", "caf\u00e9", "\udcff", "x" * 100_000]

    outcomes = run_all(DIGEST, items, EngineOptions(scheduler=cluster.file))

    assert outcomes == run_all(DIGEST, items, POOL)


def test_the_same_problems_as_in_the_pool(cluster: Cluster) -> None:
    items = ["a", "kill", "b", "exit 3", "raise x", "unreadable f", "memory 400000000", "sleep 60"]
    limits = {"memory_limit_bytes": 300 << 20, "item_limit_s": 1.5}
    before = dask_workers(cluster)

    def told(options: EngineOptions) -> list[tuple[bytes | None, str, int]]:
        outcomes = run_all(UNLUCKY, items, options)
        return [(each.value, each.problem, each.attempts) for each in outcomes]

    on_dask = told(EngineOptions(scheduler=cluster.address, **limits))  # type: ignore[arg-type]

    assert on_dask == told(EngineOptions(workers=4, **limits))  # type: ignore[arg-type]
    # A file that kills its reader costs the cluster no worker.
    assert dask_workers(cluster) == before


def test_dasks_profiler_has_no_thread_to_look_into(cluster: Cluster) -> None:
    run = threading.Thread(
        target=run_all, args=(UNLUCKY, ["sleep 1"] * 4, EngineOptions(scheduler=cluster.file))
    )
    seen: set[tuple[int, int]] = set()
    with distributed.Client(cluster.address, set_as_default=False) as client:
        run.start()
        while run.is_alive():
            told = client.run(
                lambda dask_worker: (
                    len(dask_worker.state.executing),
                    len(dask_worker.active_threads),
                )
            )
            seen.update(told.values())
            time.sleep(0.05)
    run.join()

    assert max(executing for executing, _ in seen) >= 1
    assert {watched for _, watched in seen} == {0}


def test_a_worker_that_is_killed_has_its_items_done_again(cluster: Cluster) -> None:
    options = EngineOptions(scheduler=cluster.file)
    victims = dask_workers(cluster)
    told: list[int] = []

    def progress(done: int, total: int, seconds_left: float | None) -> None:
        told.append(done)
        if done == 2:
            os.kill(min(victims), signal.SIGKILL)

    outcomes = run_all(UNLUCKY, ["sleep 0.1"] * 12, options, progress)

    assert values(outcomes) == [b"slept"] * 12
    assert told == list(range(1, 13))


def test_an_item_that_kills_workers_of_dask_costs_one_row(cluster: Cluster) -> None:
    outcomes = run_all(UNLUCKY, ["kill-starter", "a", "b"], EngineOptions(scheduler=cluster.file))

    assert values(outcomes) == [None, b"a", b"b"]
    assert outcomes[0].problem == "2 Dask workers were lost that worked on it"
    assert outcomes[0].attempts == 2


def test_a_file_that_a_worker_does_not_see_names_the_host(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Workers begin in another folder: there, the relative path is no file.
    (tmp_path / "only-here").write_text("here")
    monkeypatch.chdir(tmp_path)
    task = Task("tests.worked_items:content")
    options = EngineOptions(scheduler=cluster.file)
    hidden, shared = run_all(task, ["only-here", str(tmp_path / "only-here")], options)

    assert hidden.problem.startswith(
        "cannot read only-here: No such file or directory; it is on this machine, but not on "
        f"{socket.gethostname()} (tcp://127.0.0.1:"
    )
    assert (shared.value, shared.problem) == (b"here", "")


def test_ctrl_c_leaves_the_cluster_as_it_was(cluster: Cluster) -> None:
    options = EngineOptions(scheduler=cluster.file)
    workers = dask_workers(cluster)
    program = (
        "from wavescope.workers import EngineOptions, Task, run_all\n"
        f"run_all(Task({UNLUCKY.function!r}), ['sleep 120'] * 8, {options!r})"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], cwd=ROOT, stderr=subprocess.PIPE, text=True
    ) as command:
        working: set[int] = set()
        while len(working) < len(workers) and command.poll() is None:
            working = {child for worker in workers for child in children(worker)}
            time.sleep(0.02)
        command.send_signal(signal.SIGINT)
        _, said = command.communicate(timeout=60)

    assert command.returncode == -signal.SIGINT
    assert said.count("Traceback") == 1
    for process in working:
        wait_until_killed(process)
    # Work that was left behind would keep both workers busy for two minutes.
    assert values(run_all(UNLUCKY, ["a"] * 4, options)) == [b"a"] * 4
    with distributed.Client(cluster.address, set_as_default=False) as client:
        assert client.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.tasks)) == []


def test_nobody_at_the_address_is_told_soon() -> None:
    with socket.socket() as bound:  # nobody listens there, and nobody else can
        bound.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{bound.getsockname()[1]}"
        with pytest.raises(MachineError, match=f"no Dask scheduler answers at {address}"):
            run_all(DIGEST, ["a"], EngineOptions(scheduler=address, connect_s=0.5))


def test_something_else_at_the_address_is_told_soon() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(MachineError, match="no Dask scheduler answers") as caught:
            run_all(DIGEST, ["a"], EngineOptions(scheduler=address, connect_s=0.5))
    assert "is it running" in caught.value.hint


def test_a_cluster_without_workers_or_wavescope_is_told(tmp_path: Path) -> None:
    with scheduler(tmp_path) as started:
        options = EngineOptions(scheduler=started.file, workers_come_s=1.0)
        with pytest.raises(MachineError, match=r"had no worker for 1 s") as caught:
            run_all(DIGEST, ["a"], options)
        assert "dask worker" in caught.value.hint

        started.add_workers("bare", options=["--no-nanny"], has_wavescope=False)
        with pytest.raises(MachineError, match="not installed for the worker tcp://127") as caught:
            run_all(DIGEST, ["a"], options)
        assert "install wavescope" in caught.value.hint


def test_a_scheduler_without_wavescope_is_told(tmp_path: Path) -> None:
    with (
        scheduler(tmp_path, has_wavescope=False) as started,
        pytest.raises(MachineError, match="not installed for the scheduler"),
    ):
        run_all(DIGEST, ["a"], EngineOptions(scheduler=started.file))


def test_a_scheduler_that_goes_away_is_told(tmp_path: Path) -> None:
    with scheduler(tmp_path) as started:
        started.add_workers("one", options=["--no-nanny"])

        def progress(done: int, total: int, seconds_left: float | None) -> None:
            started.stack.close()

        with pytest.raises(MachineError, match=r"the connection to Dask at .* was lost"):
            run_all(UNLUCKY, ["a", "sleep 120"], EngineOptions(scheduler=started.file), progress)


def test_a_cluster_of_this_machine_leaves_nothing(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    before, threads = dict(os.environ), threading.active_count()
    options = EngineOptions(scheduler="local", workers=2, memory_limit_bytes=600 << 20)
    items = ["a", "kill", "b", "memory 800000000", "who", "environment PWD"]
    outcomes = run_all(UNLUCKY, items, options)

    assert values(outcomes)[:4] == [b"a", None, b"b", None]
    assert outcomes[1].problem == "the worker was ended by signal 9 (out of memory?)"
    assert outcomes[3].problem == "it needs more memory than a worker may have"
    worker = (outcomes[4].value or b"").split()[1]
    wait_until_killed(int(worker))
    assert dict(os.environ) == before
    assert list(tmp_path.iterdir()) == []
    assert capfd.readouterr() == ("", "")
    assert logging.getLogger("distributed").level <= logging.CRITICAL
    wait_for_threads(threads + 1)  # one that Dask keeps for good


def descendants(process: int) -> set[int]:
    below = children(process)
    return below.union(*(descendants(each) for each in below))


def test_a_cluster_of_this_machine_is_set_as_the_docs_say() -> None:
    lines = (ROOT / "docs" / "cluster.md").read_text().splitlines()
    exports = dict(
        line.removeprefix("export DASK_").split("=")
        for line in lines
        if line.startswith("export DASK_") and "TLS" not in line and "ENCRYPTION" not in line
    )
    settings = {
        name.lower().replace("__", ".").replace("_", "-"): value for name, value in exports.items()
    }

    options = EngineOptions(scheduler="local", workers=1)
    with undisturbed(), connected(options, 1) as client:
        for name, value in settings.items():
            told = client.run(dask.config.get, name)
            assert {str(each) for each in told.values()} == {value}

    assert len(settings) == 4


def test_ctrl_c_of_a_terminal_ends_a_cluster_of_this_machine(tmp_path: Path) -> None:
    # Processes that multiprocessing starts import the program again.
    program = tmp_path / "program.py"
    program.write_text(
        "from wavescope.workers import EngineOptions, Task, run_all\n"
        "if __name__ == '__main__':\n"
        f"    task = Task({UNLUCKY.function!r})\n"
        "    run_all(task, ['sleep 120'] * 4, EngineOptions(scheduler='local', workers=2))\n"
    )
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    with subprocess.Popen(
        [sys.executable, str(program)],
        env={**os.environ, "PYTHONPATH": path, "TMPDIR": str(tmp_path)},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as command:
        started: set[int] = set()
        # A process that looks after shared memory, a worker, and two that do the work.
        while len(started) < 4 and command.poll() is None:
            started = descendants(command.pid)
            time.sleep(0.02)
        os.killpg(command.pid, signal.SIGINT)
        _, said = command.communicate(timeout=60)

    assert command.returncode == -signal.SIGINT
    assert said.count("Traceback") == 1
    for process in started:
        wait_until_killed(process)
    assert [each.name for each in tmp_path.iterdir()] == ["program.py"]
