"""Runtimes are fetched from a signed archive whole, verified, and once."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.apt_repository import (
    LIBRARIES,
    Repository,
    add_unfinished_suite,
    another_keyring,
    make_repository,
)
from tests.unit.collect.test_preflight import a_machine
from wavescope.collect.runtimes import (
    Runtime,
    chosen_runtime,
    fetched_runtime,
    listed_runtimes,
    remove_runtime,
)
from wavescope.collect.runtimes.cache import cache_folder
from wavescope.collect.runtimes.chosen import RuntimeState
from wavescope.collect.runtimes.fetch import fetching_alone
from wavescope.errors import MachineError, UsageError


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    return make_repository(tmp_path_factory.mktemp("archive"))


@pytest.fixture(scope="module")
def fetched(repository: Repository, tmp_path_factory: pytest.TempPathFactory) -> Runtime:
    """A runtime that tests look at and copy."""
    folder = tmp_path_factory.mktemp("fetched")
    return fetched_runtime("6.4", cache_in(folder), machine=repository.machine(folder / "machine"))


@pytest.fixture
def cached(fetched: Runtime, tmp_path: Path) -> Path:
    """The folder of a runtime that a test may damage."""
    shutil.copytree(fetched.folder, tmp_path / "cache/6.4", symlinks=True)
    return tmp_path / "cache/6.4"


def cache_in(folder: Path) -> dict[str, str]:
    return {"WAVESCOPE_RUNTIMES": str(folder / "cache"), "PATH": os.environ["PATH"]}


def left_in(folder: Path) -> list[str]:
    """What is in the cache, but for locks."""
    return sorted(p.name for p in (folder / "cache").iterdir() if not p.name.endswith(".lock"))


def test_what_was_asked_for_and_what_it_needs_is_unpacked(
    fetched: Runtime, repository: Repository
) -> None:
    assert fetched.versions == "ROCr 6.4.3, HIP 6.4.3"
    assert {package.name: package.version for package in fetched.manifest.packages} == {
        "libc6": "2.43-7",
        "libhsa-runtime64-1": "6.4.3+dfsg-5",
        "libamdhip64-6": "6.4.3-5",
        "rocminfo": "1:7.2.4-1",
    }
    for package in fetched.manifest.packages:
        content = (repository.folder / f"pool/{package.name}.deb").read_bytes()
        assert (package.bytes, package.sha256) == (
            len(content),
            hashlib.sha256(content).hexdigest(),
        )
    assert fetched.manifest.suite == "forky"
    assert fetched.manifest.archive == repository.address
    assert (fetched.root / f"{LIBRARIES}/libamdhip64.so.6").read_bytes() == b"hip"
    assert left_in(fetched.folder.parent.parent) == ["6.4"]


def test_a_suite_that_is_no_whole_system_gives_only_what_is_named(tmp_path: Path) -> None:
    archive = add_unfinished_suite(make_repository(tmp_path / "archive"), is_whole=True)

    runtime = fetched_runtime(
        "7.2", cache_in(tmp_path), machine=archive.machine(tmp_path / "machine")
    )

    assert runtime.versions == "ROCr 7.2.4, HIP 7.2.4"
    assert {package.name: package.version for package in runtime.manifest.packages} == {
        "libc6": "2.43-7",
        "libhsa-runtime64-1": "7.2.4+dfsg-1~exp1",
        "libamdhip64-7": "7.2.4-1~exp2",
        "libamd-comgr3": "7.2.4+dfsg-1~exp1",
        "rocminfo": "1:7.2.4-1",
    }
    assert runtime.manifest.suite == "experimental"
    assert (runtime.root / f"{LIBRARIES}/libhsa-runtime64.so.1").read_bytes() == b"newer hsa"


def test_packages_that_do_not_fit_together_are_told_of(tmp_path: Path) -> None:
    archive = add_unfinished_suite(make_repository(tmp_path / "archive"), is_whole=False)
    machine = archive.machine(tmp_path / "machine")

    with pytest.raises(MachineError, match=r"experimental and forky of .* do not fit") as raised:
        fetched_runtime("7.2", cache_in(tmp_path), machine=machine)

    assert "days" in raised.value.hint
    assert left_in(tmp_path) == []


def test_a_program_runs_on_it(fetched: Runtime) -> None:
    command = fetched.command(["rocminfo", "one", "two words"], os.environ)

    assert command[0] == str(fetched.root / f"{LIBRARIES}/ld-linux-x86-64.so.2")
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "one two words\n"


def test_once_there_it_is_used_without_an_archive(cached: Path, tmp_path: Path) -> None:
    environment = {**cache_in(tmp_path), "PATH": "/nowhere"}

    for use in (chosen_runtime, fetched_runtime):
        runtime = use("6.4", environment, tell=pytest.fail)
        assert runtime is not None
        assert runtime.folder == cached


def test_it_can_be_fetched_again(repository: Repository, cached: Path, tmp_path: Path) -> None:
    (cached / "stale").touch()
    machine = repository.machine(tmp_path / "machine")

    runtime = fetched_runtime("6.4", cache_in(tmp_path), again=True, machine=machine)

    assert runtime.folder == cached
    assert not (cached / "stale").exists()
    assert left_in(tmp_path) == ["6.4"]


def test_a_mirror_is_used_instead_of_the_machines_archive(
    repository: Repository, tmp_path: Path
) -> None:
    machine = repository.machine(tmp_path / "machine")
    (tmp_path / "machine/etc/apt/sources.list").write_text("deb file:/nowhere bookworm main\n")

    runtime = fetched_runtime("6.4", cache_in(tmp_path), mirror=repository.address, machine=machine)

    assert runtime.manifest.archive == repository.address


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda f: (f / f"root/{LIBRARIES}/libamdhip64.so.6").unlink(), "libamdhip64.so.6 is missing"),
        (lambda f: (f / f"root/{LIBRARIES}/libc.so.6").write_bytes(b""), "does not have the size it had"),
        (lambda f: (f / f"root/{LIBRARIES}/ld-linux-x86-64.so.2").unlink(), "ld-linux-x86-64.so.2 is missing"),
        (lambda f: (f / "manifest.json").unlink(), "cannot be read: No such file"),
        (lambda f: (f / "manifest.json").write_text("{"), "is not JSON"),
        (lambda f: (f / "manifest.json").write_text("[]"), "lacks something"),
        (lambda f: (f / "manifest.json").write_text('{"format": 1}'), "lacks something"),
        (lambda f: (f / "manifest.json").write_text('{"format": 2}'), "another version of wavescope"),
        (lambda f: shutil.rmtree(f / "root"), "is missing"),
        (lambda f: with_manifest(f, name="6.1"), "is that of '6.1'"),
        (lambda f: with_manifest(f, file_bytes={}, packages=[{"name": 1}]), "lacks something"),
        (lambda f: with_manifest(f, file_bytes=[]), "lacks something"),
        (lambda f: with_manifest(f, file_bytes={"a": "1"}), "lacks something"),
        (lambda f: with_manifest(f, suite=3), "lacks something"),
        (lambda f: (f / "manifest.json").write_bytes(b"\xff{}"), "is not JSON"),
    ],
)  # fmt: skip
def test_a_damaged_runtime_is_named_and_fetched_again(
    damage: object, words: str, repository: Repository, cached: Path, tmp_path: Path
) -> None:
    damage(cached)  # type: ignore[operator]
    environment, machine = cache_in(tmp_path), repository.machine(tmp_path / "machine")
    (shown,) = [r for r in listed_runtimes(environment, machine) if r.name == "6.4"]
    assert shown.state is RuntimeState.DAMAGED
    assert words in shown.versions
    told: list[str] = []

    runtime = chosen_runtime("6.4", environment, tell=told.append, machine=machine)

    assert words in told[0]
    assert told[0].endswith("it is fetched again")
    assert runtime is not None
    assert runtime.versions == "ROCr 6.4.3, HIP 6.4.3"
    assert left_in(tmp_path) == ["6.4"]


def with_manifest(folder: Path, **values: object) -> None:
    path = folder / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def test_an_archive_signed_by_somebody_else_is_refused(
    repository: Repository, tmp_path: Path
) -> None:
    machine = repository.machine(tmp_path / "machine", another_keyring(tmp_path / "keys"))

    with pytest.raises(MachineError, match=r"signature of the suite forky .* cannot be") as raised:
        fetched_runtime("6.4", cache_in(tmp_path), machine=machine)
    assert "debian-archive-keyring" in raised.value.hint
    assert left_in(tmp_path) == []


def test_an_unsigned_archive_is_refused(repository: Repository, tmp_path: Path) -> None:
    unsigned = Repository(tmp_path / "unsigned", repository.keyring)
    shutil.copytree(repository.folder, unsigned.folder)
    (unsigned.folder / "dists/forky/InRelease").unlink()

    with pytest.raises(MachineError, match="cannot be verified"):
        fetched_runtime("6.4", cache_in(tmp_path), machine=unsigned.machine(tmp_path / "machine"))
    assert left_in(tmp_path) == []


def test_a_package_that_was_changed_is_refused(repository: Repository, tmp_path: Path) -> None:
    changed = Repository(tmp_path / "changed", repository.keyring)
    shutil.copytree(repository.folder, changed.folder)
    package = changed.folder / "pool/libamdhip64-6.deb"
    package.write_bytes(package.read_bytes().replace(b"hip", b"HIP"))

    with pytest.raises(MachineError, match="cannot be fetched"):
        fetched_runtime("6.4", cache_in(tmp_path), machine=changed.machine(tmp_path / "machine"))
    assert left_in(tmp_path) == []


def test_a_suite_or_package_that_is_not_there_is_named(
    repository: Repository, tmp_path: Path
) -> None:
    machine = repository.machine(tmp_path / "machine")

    with pytest.raises(MachineError, match=r"the suite trixie of file:.* is not there"):
        fetched_runtime("6.1", cache_in(tmp_path), machine=machine)
    with pytest.raises(
        MachineError, match=r"has no package (llama\.cpp-tools|libggml0-backend-hip)"
    ):
        fetched_runtime("6.4+llama", cache_in(tmp_path), machine=machine)
    assert left_in(tmp_path) == []


@pytest.mark.parametrize("answer", ["400 Bad Request", "404 Not Found", "503 Too Much"])
def test_what_a_server_refuses_is_not_taken_for_unsigned(
    answer: str, repository: Repository, tmp_path: Path
) -> None:
    class Refusing(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            code, reason = answer.split(" ", 1)
            self.send_response(int(code), reason)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            return

    with ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        mirror = f"http://127.0.0.1:{server.server_port}/debian"
        with pytest.raises(MachineError, match=r"is not there|cannot be fetched: .*InRelease"):
            fetched_runtime(
                "6.4",
                cache_in(tmp_path),
                mirror=mirror,
                machine=repository.machine(tmp_path / "machine"),
            )
        server.shutdown()
    assert left_in(tmp_path) == []


@pytest.mark.parametrize("step", ["reading", "fetching", "unpacking"])
def test_an_interruption_leaves_nothing_and_what_was_there(
    step: str, repository: Repository, cached: Path, tmp_path: Path
) -> None:
    def interrupt(sentence: str) -> None:
        if step in sentence:
            raise KeyboardInterrupt

    machine = repository.machine(tmp_path / "machine")
    with pytest.raises(KeyboardInterrupt):
        fetched_runtime("6.4", cache_in(tmp_path), again=True, tell=interrupt, machine=machine)

    assert left_in(tmp_path) == ["6.4"]
    assert chosen_runtime("6.4", cache_in(tmp_path), machine=machine) is not None


def test_what_a_killed_fetch_left_is_removed(repository: Repository, tmp_path: Path) -> None:
    left = tmp_path / "cache/.new-6.4-abc/root"
    left.mkdir(parents=True)

    fetched_runtime("6.4", cache_in(tmp_path), machine=repository.machine(tmp_path / "machine"))

    assert left_in(tmp_path) == ["6.4"]


def test_two_processes_fetch_once(repository: Repository, tmp_path: Path) -> None:
    machine = repository.machine(tmp_path / "machine")
    (tmp_path / "cache").mkdir()
    waits = threading.Event()
    told: list[str] = []
    got: list[Runtime] = []

    def tell(sentence: str) -> None:
        told.append(sentence)
        waits.set()

    other = threading.Thread(
        target=lambda: got.append(
            fetched_runtime("6.4", cache_in(tmp_path), tell=tell, machine=machine)
        )
    )
    with fetching_alone(tmp_path / "cache", "6.4", pytest.fail):
        other.start()
        assert waits.wait(300)
        here = tmp_path / "elsewhere"
        made = fetched_runtime("6.4", cache_in(here), machine=machine)
        made.folder.rename(tmp_path / "cache/6.4")
    other.join()

    assert told == ["runtime 6.4: waiting for another process that fetches it"]
    assert got[0].folder == tmp_path / "cache/6.4"


@pytest.mark.parametrize(
    "name", ["", "7.9", "../6.4", "6.4/../6.4", "6.4+nothing", "6.4+", ".", "/etc", "6.4\n"]
)
def test_names_of_no_runtime_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"there is no runtime|has no part"):
        fetched_runtime(name, cache_in(tmp_path))
    assert not (tmp_path / "cache").exists()


def test_a_runtime_is_removed(cached: Path, tmp_path: Path) -> None:
    assert remove_runtime("6.4", cache_in(tmp_path)) == cached
    assert left_in(tmp_path) == []


@pytest.mark.parametrize("name", ["6.1", "..", "../cache", ".6.4.lock", "", "/", "notes"])
def test_what_is_no_runtime_is_not_removed(name: str, cached: Path, tmp_path: Path) -> None:
    (tmp_path / "cache/notes").mkdir()
    (tmp_path / "cache/notes/kept").touch()

    with pytest.raises(UsageError):
        remove_runtime(name, cache_in(tmp_path))
    assert left_in(tmp_path) == ["6.4", "notes"]
    assert (tmp_path / "cache/notes/kept").exists()


def test_programs_are_not_run_from_a_folder_that_everybody_may_write(
    cached: Path, tmp_path: Path
) -> None:
    cached.parent.chmod(0o1777)
    assert chosen_runtime("6.4", cache_in(tmp_path)) is not None
    cached.parent.chmod(0o777)
    with pytest.raises(MachineError, match="cache can be written by everybody"):
        chosen_runtime("6.4", cache_in(tmp_path))
    cached.parent.chmod(0o755)
    cached.chmod(0o777)

    with pytest.raises(MachineError, match="can be written by everybody"):
        chosen_runtime("6.4", cache_in(tmp_path))
    shown = listed_runtimes(cache_in(tmp_path), a_machine(tmp_path))
    assert [r.versions for r in shown if r.state is RuntimeState.DAMAGED] == [
        f"{cached} can be written by everybody: programs are not run from it"
    ]


def test_without_apt_the_way_is_told(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(MachineError, match="needs apt-get and dpkg-deb") as raised:
        fetched_runtime("6.4", cache_in(tmp_path), machine=repository.machine(tmp_path / "machine"))
    assert "copy the folder" in raised.value.hint


def test_a_folder_that_the_linker_cannot_search_is_refused(
    repository: Repository, tmp_path: Path
) -> None:
    environment = {"WAVESCOPE_RUNTIMES": str(tmp_path / "a:b")}

    with pytest.raises(MachineError, match="the dynamic linker cannot search"):
        fetched_runtime("6.4", environment, machine=repository.machine(tmp_path / "machine"))


def test_the_machines_own_runtime_is_used_where_it_is_that_version(tmp_path: Path) -> None:
    environment = cache_in(tmp_path)
    assert chosen_runtime(None, environment) is None
    assert chosen_runtime("machine", environment) is None

    status = tmp_path / "var/lib/dpkg/status"
    status.parent.mkdir(parents=True)
    status.write_text(
        "Package: zlib1g\nVersion: 6.4.1\n\n"
        "Package: libhsa-runtime64-1\nStatus: install ok installed\nVersion: 5.2.3-1\n\n"
        "Package: zsh\nVersion: 6.1\n"
    )
    (tmp_path / "usr/lib").mkdir(parents=True)
    (tmp_path / "usr/lib/libhsa-runtime64.so.1").touch()
    machine = a_machine(tmp_path)
    assert chosen_runtime("5.2", environment, machine=machine) is None
    assert [(r.name, r.state, r.versions) for r in listed_runtimes(environment, machine)][:2] == [
        ("machine", RuntimeState.READY, "ROCr 5.2.3"),
        ("5.2", RuntimeState.CAN_BE_FETCHED, "ROCr and HIP 5.2 of Debian 12"),
    ]


def test_the_cache_is_where_the_environment_says(tmp_path: Path) -> None:
    assert cache_folder({"HOME": "/h"}) == Path("/h/.cache/wavescope/runtimes")
    assert cache_folder({"HOME": "/h", "XDG_CACHE_HOME": "/c"}) == Path("/c/wavescope/runtimes")
    assert cache_folder({"HOME": "/h", "XDG_CACHE_HOME": "c"}) == Path(
        "/h/.cache/wavescope/runtimes"
    )
    assert cache_folder({"HOME": "/h", "WAVESCOPE_RUNTIMES": "/r"}) == Path("/r")


def test_hip_is_also_found_by_the_name_that_it_opens_itself_by(
    cached: Path, tmp_path: Path
) -> None:
    link = cached / "root" / LIBRARIES / "libamdhip64.so"
    assert link.readlink() == Path("libamdhip64.so.6")
    link.unlink()  # as in what an older version fetched

    fetched_runtime("6.4", cache_in(tmp_path))

    assert link.readlink() == Path("libamdhip64.so.6")
