"""Another suite of Debian in a folder, to run programs in: Python, ROCr and HIP, no compiler.

    python -m tools.debian_root trixie                       # fetched where needed; its versions
    python -m tools.debian_root trixie -- python3 --version  # in it, with this folder as /mnt

It is fetched and verified as the runtimes of `wavescope softgpu --fetch` are, from the archive that
the machine's apt uses, and kept beside them. Programs in it cannot change it and have no network.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from wavescope.collect.machine import Machine
from wavescope.collect.runtimes import Runtime
from wavescope.collect.runtimes.archive import archive_of
from wavescope.collect.runtimes.cache import cache_folder, cached_runtime
from wavescope.collect.runtimes.catalogue import WantedRuntime, catalogue
from wavescope.collect.runtimes.fetch import fetch, fetching_alone, writable_cache
from wavescope.collect.runtimes.packages import Package
from wavescope.errors import UsageError, WavescopeError
from wavescope.model.progress import Tell, tell_nobody

WORK = "/mnt"
"""Where programs in a root find the folder that they share with the machine."""
_BASE = ("base-files", "bash", "coreutils", "dash", "libc-bin", "python3", "python3-venv")
PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
_VARIABLES = {"PATH": PATH, "HOME": WORK, "LC_ALL": "C.UTF-8"}
# Mounts are seen by the program alone and end with it. The root itself cannot be written to.
_ENTER = """
set -e
root=$1 work=$2 chroot=$3; shift 3
mount --bind "$root" "$root"
for folder in proc dev sys; do mount --rbind /$folder "$root/$folder"; done
mount -t tmpfs none "$root/tmp"
mount --rbind "$work" "$root/mnt"
mount -o remount,bind,ro "$root"
exec "$chroot" "$root" "$@"
"""


@dataclass(frozen=True)
class DebianRoot:
    """The unpacked root of a suite."""

    suite: str
    packages: Runtime

    @property
    def folder(self) -> Path:
        """What is `/` in it."""
        return self.packages.root

    def version(self, start: str) -> str:
        """The version of the first package whose name begins so, as the suite has it."""
        found = (p for p in self.packages.manifest.packages if p.name.startswith(start))
        return next(package.upstream_version for package in found)

    def command(
        self, work: Path, command: Sequence[str], variables: Mapping[str, str] | None = None
    ) -> list[str]:
        """What to execute so that `command` runs in it, with `work` as its folder `/mnt`."""
        own = {**_VARIABLES, **(variables or {})}
        inside = ["/usr/bin/env", "-i", f"--chdir={WORK}", *(f"{n}={v}" for n, v in own.items())]
        given = [str(self.folder), str(work), _tool("chroot")]
        return [*_apart(), "sh", "-c", _ENTER, "sh", *given, *inside, *command]


def why_not_entered() -> str:
    """Why this machine cannot run programs in another root, or nothing."""
    for tool in ("unshare", "mount"):
        if shutil.which(tool) is None:
            return f"there is no {tool} on this machine (apt-get install util-linux mount)"
    tried = subprocess.run([*_apart(), "true"], capture_output=True, text=True, check=False)
    if tried.returncode:
        return f"namespaces are not permitted here: {tried.stderr.strip()}"
    return ""


def debian_root(suite: str, environment: Mapping[str, str], tell: Tell = tell_nobody) -> DebianRoot:
    """The root of `suite` in the cache; fetched when it is not there, or damaged."""
    wanted = _wanted(suite)
    cache = writable_cache(cache_folder(environment).with_name("roots"))
    with fetching_alone(cache, wanted.name, tell):
        found = cached_runtime(cache, wanted.name).runtime
        if found is None:
            archive = archive_of(Machine(environment=environment), catalogue())
            found = fetch(wanted, archive, cache, tell)
        _finish(found)
    return DebianRoot(suite, found)


def _wanted(suite: str) -> WantedRuntime:
    """The suite's own ROCr and HIP, as its runtime has them, on a base with Python."""
    whole = [runtime for runtime in catalogue().runtimes.values() if runtime.upon is None]
    known = [runtime for runtime in whole if runtime.suite == suite]
    if not known:
        suites = ", ".join(runtime.suite for runtime in whole)
        raise UsageError(f"no runtime is known of the suite {suite!r}", hint=f"suites: {suites}")
    packages = (*_BASE, *known[0].packages)
    return WantedRuntime(replace(known[0], name=suite, packages=packages, parts={}, assumed=()))


def _finish(runtime: Runtime) -> None:
    """Do what installing does besides unpacking, where that was not done before."""
    root = runtime.root
    (root / WORK.lstrip("/")).mkdir(exist_ok=True)
    status = root / "var/lib/dpkg/status"
    if not status.exists():
        subprocess.run([_tool("ldconfig"), "-r", str(root)], check=True, capture_output=True)
        _bundle_certificates(root)
        status.parent.mkdir(parents=True, exist_ok=True)
        status.write_text("\n".join(map(_installed, runtime.manifest.packages)))


def _bundle_certificates(root: Path) -> None:
    """One file of all certificates: Debian's pip does not start without it."""
    bundle = root / "etc/ssl/certs/ca-certificates.crt"
    certificates = sorted((root / "usr/share/ca-certificates").rglob("*.crt"))
    bundle.write_bytes(b"".join(path.read_bytes() for path in certificates))


def _installed(package: Package) -> str:
    return (
        f"Package: {package.name}\nStatus: install ok installed\nVersion: {package.version}\n"
        f"Architecture: {package.architecture}\nDescription: unpacked\n"
    )


def _tool(name: str) -> str:
    """A tool of the administrator's, which is not on everybody's PATH."""
    return shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin") or name


def _apart() -> list[str]:
    """Namespaces of their own for what is mounted, and a network without anything in it."""
    become_root = [] if os.geteuid() == 0 else ["--map-root-user"]
    return ["unshare", *become_root, "--mount", "--net"]


def _main(arguments: Sequence[str]) -> int:
    if not arguments or (len(arguments) > 1 and arguments[1] != "--"):
        print("usage: python -m tools.debian_root SUITE [-- COMMAND...]", file=sys.stderr)
        return 2
    try:
        root = debian_root(arguments[0], os.environ, lambda text: print(text, file=sys.stderr))
    except WavescopeError as error:
        print(f"error: {error}\nhint: {error.hint}", file=sys.stderr)
        return error.exit_code
    if command := arguments[2:]:
        return subprocess.run(root.command(Path.cwd(), command), check=False).returncode
    python, versions = root.version("python3"), root.packages.versions
    print(f"{root.suite}: Python {python}, {versions} in {root.folder}")
    return 0


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
