"""Which runtime a name means on this machine: its own, one of the cache, or one to be fetched."""

from __future__ import annotations

import re
from collections.abc import Mapping

from wavescope.collect.machine import Machine
from wavescope.collect.runtimes.archive import archive_of
from wavescope.collect.runtimes.cache import cache_folder, cached_runtime
from wavescope.collect.runtimes.catalogue import WantedRuntime, catalogue
from wavescope.collect.runtimes.fetch import Told, fetch, fetching_alone, writable_cache
from wavescope.collect.runtimes.runtime import Runtime

MACHINE = "machine"
_PACKAGE = "libhsa-runtime64-1"


def no_words(_: str) -> None:
    """Tells nobody."""


def chosen_runtime(
    name: str | None,
    environment: Mapping[str, str],
    *,
    told: Told = no_words,
    machine: Machine | None = None,
) -> Runtime | None:
    """The runtime of that name, fetched when it is not there; None is the machine's own."""
    if name is None or name == MACHINE:
        return None
    wanted = catalogue().wanted(name)
    here = machine or Machine(environment=environment)
    if not wanted.parts and f"{machine_version(here)}.".startswith(f"{wanted.known.name}."):
        return None
    found = cached_runtime(cache_folder(environment), wanted.name)
    if found.runtime is not None:
        return found.runtime
    return fetched_runtime(name, environment, told=told, machine=here)


def fetched_runtime(
    name: str,
    environment: Mapping[str, str],
    *,
    mirror: str | None = None,
    again: bool = False,
    told: Told = no_words,
    machine: Machine | None = None,
) -> Runtime:
    """The runtime of that name in the cache; fetched when it is not there, damaged or `again`."""
    wanted = catalogue().wanted(name)
    cache = writable_cache(cache_folder(environment))
    with fetching_alone(cache, wanted.name, told):
        found = cached_runtime(cache, wanted.name)
        if found.runtime is not None and not again:
            return found.runtime
        if found.runtime is None and found.folder.exists():
            told(f"runtime {wanted.name}: {found.trouble}; it is fetched again")
        return _fetched(wanted, environment, mirror, told, machine)


def _fetched(
    wanted: WantedRuntime,
    environment: Mapping[str, str],
    mirror: str | None,
    told: Told,
    machine: Machine | None,
) -> Runtime:
    archive = archive_of(machine or Machine(environment=environment), catalogue(), mirror)
    return fetch(wanted, archive, cache_folder(environment), told)


def machine_version(machine: Machine) -> str:
    """The version of the machine's own ROCm, or nothing where that cannot be told."""
    installed = machine.text("opt/rocm/.info/version")
    if installed:
        return installed.partition("-")[0]
    stanza = re.search(
        rf"^Package: {_PACKAGE}\n(?:.+\n)*", machine.text("var/lib/dpkg/status"), re.MULTILINE
    )
    found = stanza and re.search(r"^Version: (?:\d+:)?([\d.]+)", stanza[0], re.MULTILINE)
    return found[1].rstrip(".") if found else ""
