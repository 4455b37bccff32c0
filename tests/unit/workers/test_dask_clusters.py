"""How a cluster is named: addresses, scheduler files, hosts, options of Slurm."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from wavescope.errors import MachineError, UnreadableInputError, UsageError
from wavescope.version import __version__
from wavescope.workers import EngineOptions, Task, run_all
from wavescope.workers.dask_clusters import scheduler_address, slurm_options, ssh_host
from wavescope.workers.worker_watch import require_this_version

DIGEST = Task("tests.worked_items:digest")


@pytest.mark.parametrize(
    ("scheduler", "address"),
    [
        ("tcp://10.0.0.1:8786", "tcp://10.0.0.1:8786"),
        ("tls://head:8786", "tls://head:8786"),
        ("head:8786", "tcp://head:8786"),
    ],
)
def test_an_address_is_taken_as_it_is(scheduler: str, address: str) -> None:
    assert scheduler_address(scheduler) == address


def test_a_scheduler_file_holds_the_address(tmp_path: Path) -> None:
    path = tmp_path / "scheduler.json"
    path.write_text('{"type": "Scheduler", "address": "tcp://10.0.0.1:40000"}')

    assert scheduler_address(str(path)) == "tcp://10.0.0.1:40000"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "this is not a scheduler file of Dask"),
        ("[]", "this is not a scheduler file of Dask"),
        ("3", "this is not a scheduler file of Dask"),
        ('{"workers": {}}', "this is not a scheduler file of Dask"),
        ('{"address": 5}', "there is no address of a scheduler in it"),
        ('{"address": "nowhere"}', "there is no address of a scheduler in it"),
    ],
)
def test_another_file_is_refused(content: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "scheduler.json"
    path.write_text(content)

    with pytest.raises(UnreadableInputError, match=reason):
        scheduler_address(str(path))


def test_a_scheduler_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "scheduler.json"
    path.write_bytes(b"\xff\xfe\x00")

    with pytest.raises(UnreadableInputError, match="not a scheduler file"):
        scheduler_address(str(path))


def test_a_missing_scheduler_file_says_what_a_scheduler_is() -> None:
    with pytest.raises(UnreadableInputError, match="No such file") as caught:
        scheduler_address("no/scheduler.json")
    assert "tcp://HOST:PORT" in caught.value.hint


@pytest.mark.parametrize(
    ("spelled", "host", "connect"),
    [
        ("node1", "node1", {}),
        ("me@node1", "node1", {"username": "me"}),
        ("me@10.0.0.1:2222", "10.0.0.1", {"username": "me", "port": 2222}),
        ("[fe80::1]:22", "fe80::1", {"port": 22}),
    ],
)
def test_hosts_may_have_a_user_and_a_port(spelled: str, host: str, connect: dict[str, Any]) -> None:
    assert ssh_host(spelled) == (host, connect)


@pytest.mark.parametrize("spelled", ["", "a b", "@", "me@", "a:b"])
def test_what_is_no_host_is_refused(spelled: str) -> None:
    with pytest.raises(UsageError, match="is not a host"):
        ssh_host(spelled)


def test_options_of_slurm_are_passed_on() -> None:
    spelled = (
        "queue=batch, cores=8,memory=32GB,walltime=00:30:00,"
        "job-extra-directives=--gres=gpu:1;--exclusive,interface=ib0"
    )

    assert slurm_options(spelled) == {
        "queue": "batch",
        "cores": 8,
        "memory": "32GB",
        "walltime": "00:30:00",
        "job_extra_directives": ["--gres=gpu:1", "--exclusive"],
        "interface": "ib0",
    }


@pytest.mark.parametrize("spelled", ["batch", "=batch", "a b=c"])
def test_what_is_no_option_of_slurm_is_refused(spelled: str) -> None:
    with pytest.raises(UsageError, match="is not an option of Slurm's"):
        slurm_options(spelled)


def test_all_must_have_this_wavescope() -> None:
    require_this_version({"a": __version__, "b": __version__})
    with pytest.raises(MachineError, match=r"another one has b \(0\.0\.9\)"):
        require_this_version({"a": __version__, "b": "0.0.9"})
    absent = {f"w{number}": ModuleNotFoundError("wavescope") for number in range(5)}
    with pytest.raises(MachineError, match="not installed for w0, w1, w2 and 2 more") as caught:
        require_this_version({"a": __version__, **absent})
    assert f"install wavescope {__version__}" in caught.value.hint


@pytest.mark.parametrize(
    ("module", "options", "extra"),
    [
        ("distributed", EngineOptions(scheduler="tcp://127.0.0.1:1"), "cluster"),
        ("asyncssh", EngineOptions(ssh_hosts=("localhost",)), "cluster-ssh"),
        ("dask_jobqueue", EngineOptions(slurm="cores=1"), "cluster-slurm"),
    ],
)
def test_an_extra_that_is_not_installed_is_named(
    module: str, options: EngineOptions, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)

    with pytest.raises(MachineError, match=f"this needs {module}") as caught:
        run_all(DIGEST, ["a"], options)
    assert caught.value.hint == f"pip install 'wavescope[{extra}]'"
