"""Fetches a runtime into the cache: all of it or nothing, by one process at a time."""

from __future__ import annotations

import fcntl
import os
import platform
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path

from wavescope.collect.runtimes.archive import Archive
from wavescope.collect.runtimes.catalogue import WantedRuntime
from wavescope.collect.runtimes.packages import link_plugins, link_programs, package_of, unpack
from wavescope.collect.runtimes.private_apt import PrivateApt
from wavescope.collect.runtimes.runtime import (
    ROOT,
    Manifest,
    Runtime,
    library_folders,
    loader_in,
    opened_runtime,
    require_searchable,
    require_whole,
    sizes_of,
    write_manifest,
)
from wavescope.errors import MachineError
from wavescope.model.progress import Tell
from wavescope.units import bytes_text

_LOCK_LIMIT_S = 3600
_LOOK_AGAIN_S = 0.2
_TEMPORARY = ".new-"


def fetch(wanted: WantedRuntime, archive: Archive, cache: Path, tell: Tell) -> Runtime:
    """Fetch, verify and unpack a runtime below `cache`, in the place of what is there."""
    _require_machine()
    require_searchable(cache)
    prefix = f"{_TEMPORARY}{wanted.name}-"
    for leftover in cache.glob(f"{prefix}*"):
        shutil.rmtree(leftover, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=prefix, dir=cache, ignore_cleanup_errors=True) as name:
        made = Path(name) / wanted.name
        made.mkdir()
        write_manifest(made, _filled(wanted, archive, Path(name), made / ROOT, tell))
        place = cache / wanted.name
        if place.exists():
            place.rename(Path(name) / "before")
        made.rename(place)
    return opened_runtime(place)


def _filled(
    wanted: WantedRuntime, archive: Archive, work: Path, root: Path, tell: Tell
) -> Manifest:
    """Fill `root` with the packages of a runtime; what they are."""
    suites = " and ".join(wanted.known.suites)
    apt = PrivateApt(work / "apt", archive, wanted)
    tell(f"runtime {wanted.name}: reading the package lists of {suites} from {archive.address}")
    apt.update()
    sizes = apt.sizes()
    tell(f"runtime {wanted.name}: fetching {len(sizes)} packages, {bytes_text(sum(sizes))}")
    files = apt.download(lambda n: tell(f"runtime {wanted.name}: {bytes_text(n)} fetched"))
    packages = tuple(map(package_of, files))
    tell(f"runtime {wanted.name}: unpacking")
    unpack(files, root)
    try:
        require_whole(root)
    except ValueError as error:
        raise MachineError(
            f"the packages of {suites} are not a complete runtime: {error}"
        ) from error
    for part in wanted.known_parts:
        link_plugins(root, part.plugin_folders, loader_in(root))
        link_programs(root, part.program_folders)
    return Manifest(
        wanted.name,
        wanted.known.suite,
        archive.address,
        datetime.now(timezone.utc).isoformat(timespec="seconds"),
        packages,
        sizes_of(root, library_folders(root)),
    )


@contextmanager
def fetching_alone(cache: Path, name: str, tell: Tell) -> Iterator[None]:
    """Keep other processes from fetching the same runtime; waits while another one does."""
    # No link leads to a file elsewhere, and no pipe is waited on.
    flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    lock = os.open(cache / f".{name}.lock", flags, 0o600)
    try:
        if not _is_locked(lock):
            tell(f"runtime {name}: waiting for another process that fetches it")
            _wait_for(lock, name)
        yield
    finally:
        os.close(lock)


def _wait_for(descriptor: int, name: str) -> None:
    began = time.monotonic()
    while not _is_locked(descriptor):
        if time.monotonic() - began > _LOCK_LIMIT_S:
            raise MachineError(
                f"another process has been fetching the runtime {name} for an hour",
                hint="end it, then try again",
            )
        time.sleep(_LOOK_AGAIN_S)


def _is_locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _require_machine() -> None:
    if platform.machine() != "x86_64":
        raise MachineError(
            f"runtimes are fetched for x86-64; this machine is {platform.machine()}",
        )
    missing = [tool for tool in ("apt-get", "dpkg-deb") if shutil.which(tool) is None]
    if missing:
        raise MachineError(
            f"fetching a runtime needs {' and '.join(missing)}, which this machine does not have",
            hint="fetch it on Debian or Ubuntu, and copy the folder "
            "that `wavescope softgpu --list-runtimes` names there",
        )


def writable_cache(cache: Path) -> Path:
    """`cache`, made when needed."""
    try:
        cache.mkdir(mode=0o755, parents=True, exist_ok=True)
    except OSError as error:
        raise MachineError(
            f"cannot make {cache}: {error.strerror}",
            hint="set WAVESCOPE_RUNTIMES to a folder you own",
        ) from error
    if not os.access(cache, os.W_OK):
        raise MachineError(
            f"{cache} cannot be written", hint="set WAVESCOPE_RUNTIMES to a folder you own"
        )
    return cache
