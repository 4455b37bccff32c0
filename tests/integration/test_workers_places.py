"""Dask clusters behind other networks, TLS, SSH and Slurm's commands."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.dask_processes import ROOT, scheduler
from wavescope.errors import MachineError
from wavescope.workers import EngineOptions, Task, run_all

pytest.importorskip("distributed", reason="Dask is not here: wavescope[cluster]")

DIGEST = Task("tests.worked_items:digest", b"options")
ITEMS = [f"rank {number}" for number in range(8)]
_PROGRAM = """
import sys
from wavescope.workers import EngineOptions, Task, run_all
items = [f"rank {number}" for number in range(8)]
options = EngineOptions(scheduler=sys.argv[1])
outcomes = run_all(Task("tests.worked_items:digest", b"options"), items, options)
sys.stdout.buffer.write(b"".join(outcome.value for outcome in outcomes))
"""


def expected() -> bytes:
    return b"".join(each.value or b"" for each in run_all(DIGEST, ITEMS, EngineOptions(workers=1)))


@pytest.fixture
def two_networks() -> Iterator[tuple[str, list[str]]]:
    """An address of this machine, and two namespaces from which it is seen over a bridge."""
    name = f"wsc{os.getpid() % 100_000}"
    prefix = f"10.203.{os.getpid() % 250}"
    namespaces = [f"{name}a", f"{name}b"]
    if shutil.which("ip") is None or os.geteuid() != 0:
        pytest.skip("network namespaces need root and the command ip")
    with ExitStack() as stack:
        try:
            _ip("link", "add", name, "type", "bridge")
            stack.callback(_ip, "link", "del", name)
            _ip("addr", "add", f"{prefix}.1/24", "dev", name)
            _ip("link", "set", name, "up")
            for number, namespace in enumerate(namespaces, start=2):
                _ip("netns", "add", namespace)
                stack.callback(_ip, "netns", "del", namespace)
                link = f"{namespace}v"
                _ip(
                    "link", "add", link, "type", "veth", "peer", "name", "veth0", "netns", namespace
                )
                _ip("link", "set", link, "master", name, "up")
                _ip("-n", namespace, "addr", "add", f"{prefix}.{number}/24", "dev", "veth0")
                _ip("-n", namespace, "link", "set", "veth0", "up")
                _ip("-n", namespace, "link", "set", "lo", "up")
        except subprocess.CalledProcessError as error:
            pytest.skip(
                f"this machine makes no network namespaces: {error.stderr.decode().strip()}"
            )
        yield f"{prefix}.1", namespaces


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True, timeout=30)


def test_workers_in_other_networks(two_networks: tuple[str, list[str]], tmp_path: Path) -> None:
    address, namespaces = two_networks
    inside = {name: ["ip", "netns", "exec", name] for name in namespaces}
    with scheduler(tmp_path, "--host", address) as started:
        started.add_workers(*namespaces, inside=inside, options=["--no-nanny"])
        options = EngineOptions(scheduler=started.address)
        outcomes = run_all(DIGEST, ITEMS, options)
        lost = run_all(Task("tests.worked_items:content"), ["ROOT-ONLY"], options)

    assert started.address.startswith(f"tcp://{address}:")
    assert b"".join(outcome.value or b"" for outcome in outcomes) == expected()
    assert lost[0].problem == "cannot read ROOT-ONLY: No such file or directory"


def test_a_scheduler_with_tls(tmp_path: Path) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("a certificate needs the command openssl")
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    making = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2"
    files = ["-subj", "/CN=127.0.0.1", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*making.split(), *files], check=True, capture_output=True)
    tls = "DASK_DISTRIBUTED__COMM__TLS__"
    environment = {"DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION": "true"}
    environment[f"{tls}CA_FILE"] = str(certificate)
    for role in ("CLIENT", "SCHEDULER", "WORKER"):
        environment[f"{tls}{role}__CERT"] = str(certificate)
        environment[f"{tls}{role}__KEY"] = str(key)
    place = ("--host", "127.0.0.1", "--protocol", "tls")
    with scheduler(tmp_path, *place, environment=environment) as started:
        started.add_workers("one", options=["--no-nanny", "--protocol", "tls"])
        said = subprocess.run(
            [sys.executable, "-c", _PROGRAM, started.address],
            check=True,
            capture_output=True,
            cwd=ROOT,
            env={**os.environ, **environment},
            timeout=120,
        )

    assert started.address.startswith("tls://127.0.0.1:")
    assert said.stdout == expected()
    assert said.stderr == b""


_SBATCH = """#!/bin/sh
# Stands for Slurm's: runs the job right here, in a session of its own.
for script; do :; done
cp "$script" "$JOBS/script.sh" # the other one is removed soon
setsid sh "$JOBS/script.sh" >"$JOBS/job.log" 2>&1 &
echo $! >"$JOBS/pid"
echo "Submitted batch job 1"
"""
_SCANCEL = """#!/bin/sh
kill -TERM -- -$(cat "$JOBS/pid")
echo "$@" >"$JOBS/cancelled"
"""


def test_jobs_of_slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip(
        "dask_jobqueue", reason="dask-jobqueue is not here: wavescope[cluster-slurm]"
    )
    for name, text in (("sbatch", _SBATCH), ("scancel", _SCANCEL)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("JOBS", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    spelled = "queue=short,cores=1,memory=1GB,walltime=00:05:00,interface=lo"
    options = EngineOptions(slurm=f"{spelled},local_directory={tmp_path}", workers_come_s=60)
    outcomes = run_all(DIGEST, ITEMS, options)

    assert b"".join(outcome.value or b"" for outcome in outcomes) == expected()
    script = (tmp_path / "script.sh").read_text().splitlines()
    assert {"#SBATCH -p short", "#SBATCH --cpus-per-task=1", "#SBATCH -t 00:05:00"} <= set(script)
    assert (tmp_path / "cancelled").read_text() == "1\n"


def test_jobs_that_slurm_refuses_are_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(
        "dask_jobqueue", reason="dask-jobqueue is not here: wavescope[cluster-slurm]"
    )
    options = EngineOptions(
        slurm=f"cores=1,memory=1GB,interface=lo,local_directory={tmp_path}", workers_come_s=0.5
    )
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MachineError, match="there is no sbatch here"):
        run_all(DIGEST, ITEMS, options)

    (tmp_path / "sbatch").write_text("#!/bin/sh\necho invalid partition >&2\nexit 1\n")
    (tmp_path / "sbatch").chmod(0o755)
    with pytest.raises(MachineError, match=r"had no worker for 0\.5 s"):
        run_all(DIGEST, ITEMS, options)
