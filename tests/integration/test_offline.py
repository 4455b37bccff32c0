"""Nothing needs a network: commands run where there is none, and none tries to reach one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.builders import a_trace
from tests.recorded import PATIENCE_S, PROGRAMS
from tests.sample_files import write_as
from tests.softgpu_programs import require_hip

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
WAVESCOPE = (sys.executable, "-m", "wavescope")
NOTHING = {"unroutable": 0, "datagrams": 0, "connections": 0}
VIEW_ASKED = """
import http.client, json, signal, subprocess, sys
from urllib.parse import urlsplit
view = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, text=True)
address = urlsplit(view.stdout.readline().strip())
connection = http.client.HTTPConnection(address.hostname, address.port, timeout=120)
connection.request("GET", address.path)
page = connection.getresponse()
print(json.dumps([address.hostname, page.status, b"<title>" in page.read()]))
connection.close()
view.send_signal(signal.SIGINT)
sys.exit(view.wait(120))
"""


@dataclass(frozen=True)
class Offline:
    """Runs commands without a network, all in one folder."""

    folder: Path

    def run(self, *command: str) -> tuple[str, dict[str, int]]:
        """What a command prints, which has to succeed, and what it tried to send."""
        counts = self.folder / "counts.json"
        inside = [sys.executable, str(PROGRAMS / "without_network.py"), str(counts)]
        done = subprocess.run(
            [*_apart(), *inside, *command],
            cwd=self.folder,
            env=os.environ | {"XDG_CACHE_HOME": str(self.folder / "cache")},
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout, json.loads(counts.read_text())


@pytest.fixture
def offline(tmp_path: Path) -> Offline:
    """A folder to run commands in; a skip where there are no namespaces."""
    if shutil.which("unshare") is None:
        pytest.skip("there is no unshare on this machine: apt-get install util-linux")
    tried = subprocess.run([*_apart(), "true"], capture_output=True, text=True, check=False)
    if tried.returncode:
        pytest.skip(f"network namespaces are not permitted here: {tried.stderr.strip()}")
    return Offline(tmp_path)


def _apart() -> list[str]:
    become_root = [] if os.geteuid() == 0 else ["--map-root-user"]
    return ["unshare", *become_root, "--net"]


def test_attempts_are_counted(offline: Offline) -> None:
    """Else the others would show nothing."""
    reach = """
import socket
for family, address in ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1")):
    try:
        socket.socket(family, socket.SOCK_STREAM).connect((address, 443))
    except OSError:
        pass
heard = socket.create_server(("127.0.0.1", 0))
socket.create_connection(heard.getsockname()).close()
socket.socket(type=socket.SOCK_DGRAM).sendto(b"?", ("127.0.0.53", 53))
"""

    _, counts = offline.run(sys.executable, "-c", reach)

    assert counts == {
        "unroutable": 2 if Path("/proc/self/net/snmp6").exists() else 1,
        "datagrams": 1,
        "connections": 1,
    }


def test_recording_and_analysing_reach_for_no_network(offline: Offline) -> None:
    require_hip()
    program = (sys.executable, str(EXAMPLES / "llm_inference.py"), "1", "1", "1")
    recording = ("trace", "--softgpu=gfx90a", "-m", "hip", "-o", "trace.db", *program)

    for command, expected in (
        (recording, "1 GPUs served 1 requests of 1 tokens"),
        (("summary", "trace.db"), "Kernels\n"),
        (("findings", "trace.db"), "Findings\n"),
        (("report", "trace.db", "-o", "report.html"), ""),
        (("convert", "trace.db", "-o", "trace.json.gz"), ""),
        (("doctor",), "analysis            ready"),
    ):
        out, counts = offline.run(*WAVESCOPE, *command)
        assert expected in out
        assert counts == NOTHING, command
    assert {"report.html", "trace.json.gz"} <= {path.name for path in offline.folder.iterdir()}


def test_the_demo_reaches_for_no_network(offline: Offline) -> None:
    require_hip()

    out, counts = offline.run(*WAVESCOPE, "demo", "--program", "python")

    assert out.startswith("Summary\n")
    assert counts == NOTHING


def test_the_viewer_is_asked_over_loopback_and_asks_nobody(offline: Offline) -> None:
    write_as(a_trace().with_kernel("gemm", 0, 10), offline.folder / "trace.db")
    view = (*WAVESCOPE, "view", "trace.db", "--no-browser")

    out, counts = offline.run(sys.executable, "-c", VIEW_ASKED, *view)

    assert json.loads(out) == ["127.0.0.1", 200, True]
    assert counts == {**NOTHING, "connections": 1}  # the test's own
