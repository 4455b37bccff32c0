"""Which version of ROCm the machine itself has."""

from __future__ import annotations

import re

from wavescope.collect.machine import Machine

_PACKAGE = "libhsa-runtime64-1"
_LIBRARIES = ("libhsa-runtime64.so.1", "libhsa-runtime64.so")


def machine_library(machine: Machine) -> str:
    """Path of the HSA runtime of the machine, or nothing."""
    return machine.library(*_LIBRARIES)


def machine_version(machine: Machine) -> str:
    """The version of the machine's own ROCm, or nothing where that cannot be told."""
    library = machine_library(machine)
    if not library:
        return ""
    if installed := machine.text("opt/rocm/.info/version"):
        return installed.partition("-")[0]
    stanza = re.search(
        rf"^Package: {_PACKAGE}\n(?:.+\n)*", machine.text("var/lib/dpkg/status"), re.MULTILINE
    )
    found = stanza and re.search(r"^Version: (?:\d+:)?([\d.]+)", stanza[0], re.MULTILINE)
    return found[1].rstrip(".") if found else ""
