"""A signed archive of Debian packages in a folder, small enough to be made by a test.

Its packages make a runtime that really runs: the dynamic linker and C library of this machine, an
empty HSA runtime, and `echo` under the name rocminfo.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from wavescope.collect.machine import Machine

LIBRARIES = "usr/lib/x86_64-linux-gnu"
TOOLS = ("apt-get", "dpkg-deb", "gpg", "gpgconf", "gpgv")


@dataclass(frozen=True)
class Repository:
    """An archive, the keys it is signed by, and a machine whose apt uses it."""

    folder: Path
    keyring: Path

    @property
    def address(self) -> str:
        return f"file:{self.folder}"

    def machine(self, root: Path, keyring: Path | None = None) -> Machine:
        """A machine that trusts `keyring` and whose apt names this archive."""
        keys = root / "usr/share/keyrings/debian-archive-keyring.gpg"
        keys.parent.mkdir(parents=True)
        shutil.copy(keyring or self.keyring, keys)
        sources = root / "etc/apt/sources.list"
        sources.parent.mkdir(parents=True)
        sources.write_text(f"deb {self.address} bookworm main\n")
        return Machine(root, {}, lambda _: None, lambda: "", root)


def require_tools() -> None:
    """Skip with the reason where an archive cannot be made or read."""
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"a signed archive needs {', '.join(missing)}")


def make_repository(folder: Path, suite: str = "forky") -> Repository:
    """An archive with one suite that holds a runtime."""
    require_tools()
    pool = folder / "pool"
    pool.mkdir(parents=True)
    linker = Path("/lib64/ld-linux-x86-64.so.2").resolve()
    library = Path("/lib/x86_64-linux-gnu/libc.so.6").resolve()
    echo = Path(shutil.which("echo") or "/bin/echo").resolve()
    _package(
        pool,
        "libc6",
        "2.43-7",
        "",
        {f"{LIBRARIES}/{linker.name}": linker, f"{LIBRARIES}/libc.so.6": library},
    )
    _package(
        pool,
        "libhsa-runtime64-1",
        "6.4.3+dfsg-5",
        "libc6, python3",
        {f"{LIBRARIES}/libhsa-runtime64.so.1": b"hsa"},
    )
    _package(
        pool,
        "libamdhip64-6",
        "6.4.3-5",
        "libhsa-runtime64-1 (>= 6.4)",
        {f"{LIBRARIES}/libamdhip64.so.6": b"hip"},
    )
    _package(pool, "rocminfo", "1:7.2.4-1", "libc6, kmod, pciutils", {"usr/bin/rocminfo": echo})
    _package(pool, "unrelated", "1", "", {"usr/bin/unrelated": b"nothing"})
    keyring = folder / "keyring.gpg"
    _sign(_indexed(folder, suite, pool), keyring)
    return Repository(folder, keyring)


def add_unfinished_suite(repository: Repository, *, is_whole: bool) -> Repository:
    """The archive with ROCm 7 in `experimental`, which lacks a package unless it is whole."""
    folder = repository.folder
    pool = folder / "pool-of-experimental"
    pool.mkdir()
    _package(pool, "libc6", "2.44-3", "", {f"{LIBRARIES}/newer": b"of another system"})
    hsa = {f"{LIBRARIES}/libhsa-runtime64.so.1": b"newer hsa"}
    _package(pool, "libhsa-runtime64-1", "7.2.4+dfsg-1~exp1", "libc6", hsa)
    hip = {f"{LIBRARIES}/libamdhip64.so.7": b"newer hip"}
    needs = "libhsa-runtime64-1 (>= 7.2.0~), libamd-comgr3 (>= 7.2.0~)"
    _package(pool, "libamdhip64-7", "7.2.4-1~exp2", needs, hip)
    version = "7.2.4+dfsg-1~exp1" if is_whole else "7.1.0"
    _package(pool, "libamd-comgr3", version, "libc6", {f"{LIBRARIES}/libamd_comgr.so.3": b"comgr"})
    release = _indexed(folder, "experimental", pool)
    release.write_text(f"NotAutomatic: yes\n{release.read_text()}")
    _sign(release, folder / "experimental.gpg")
    both = folder / "both.gpg"
    both.write_bytes(repository.keyring.read_bytes() + (folder / "experimental.gpg").read_bytes())
    return Repository(folder, both)


def another_keyring(folder: Path) -> Path:
    """Keys that have signed nothing."""
    folder.mkdir(parents=True)
    (folder / "Release").write_text("Suite: nothing\n")
    _sign(folder / "Release", folder / "keyring.gpg")
    return folder / "keyring.gpg"


def _package(pool: Path, name: str, version: str, depends: str, files: Mapping[str, Path | bytes]) -> None:  # fmt: skip
    with tempfile.TemporaryDirectory() as made:
        for place, content in files.items():
            path = Path(made, place)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.read_bytes() if isinstance(content, Path) else content)
            path.chmod(0o755)
        control = Path(made, "DEBIAN/control")
        control.parent.mkdir()
        needs = f"Depends: {depends}\n" if depends else ""
        control.write_text(
            f"Package: {name}\nVersion: {version}\nArchitecture: amd64\n{needs}"
            "Maintainer: Nobody <nobody@example.org>\nDescription: for a test\n"
        )
        _run("dpkg-deb", "--root-owner-group", "-Znone", "--build", made, str(pool / f"{name}.deb"))


def _indexed(folder: Path, suite: str, pool: Path) -> Path:
    """The list of all packages of a suite, and the file that is to be signed."""
    index = folder / f"dists/{suite}/main/binary-amd64/Packages"
    index.parent.mkdir(parents=True)
    stanzas = []
    for package in sorted(pool.glob("*.deb")):
        fields = _run("dpkg-deb", "-f", str(package)).strip()
        content = package.read_bytes()
        stanzas.append(
            f"{fields}\nFilename: {pool.name}/{package.name}\nSize: {len(content)}\n"
            f"SHA256: {hashlib.sha256(content).hexdigest()}\n"
        )
    index.write_text("\n".join(stanzas))
    release = index.parents[2] / "Release"
    digest = hashlib.sha256(index.read_bytes()).hexdigest()
    release.write_text(
        f"Suite: {suite}\nCodename: {suite}\nArchitectures: amd64\nComponents: main\n"
        "Date: Thu, 01 Jan 2026 00:00:00 UTC\n"
        f"SHA256:\n {digest} {index.stat().st_size} main/binary-amd64/Packages\n"
    )
    return release


def _sign(release: Path, keyring: Path) -> None:
    """Write InRelease beside `release`, and the keys to check it by; the secret ones are gone."""
    with tempfile.TemporaryDirectory(
        prefix="gpg-", dir="/tmp"
    ) as home:  # its socket wants a short name
        environment = {**os.environ, "GNUPGHOME": home}
        gpg = ["gpg", "--batch", "--quiet", "--pinentry-mode", "loopback", "--passphrase", ""]
        try:
            _run(*gpg, "--quick-gen-key", "test@example.org", "ed25519", "sign", env=environment)
            _run(*gpg, "--output", str(keyring), "--export", env=environment)
            signed = release.with_name("InRelease")
            _run(*gpg, "--output", str(signed), "--clearsign", str(release), env=environment)
        finally:
            _run("gpgconf", "--kill", "all", env=environment)


def _run(*command: str, env: Mapping[str, str] | None = None) -> str:
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
