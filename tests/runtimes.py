"""The ROCm that tests run on: the machine's own, or the one that WAVESCOPE_TEST_RUNTIME names.

`make test-runtimes` runs the tests marked `recording` once for each that can be fetched. What versions
do differently, as far as tests see it, is a row here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

import pytest

from wavescope.collect.machine import Machine
from wavescope.collect.runtimes import MACHINE, Runtime, chosen_runtime
from wavescope.collect.runtimes.cache import cache_folder, cached_runtime
from wavescope.collect.runtimes.chosen import machine_version

TESTED = os.environ.get("WAVESCOPE_TEST_RUNTIME", MACHINE)
_INTERCEPTION = os.environ.get("WAVESCOPE_TEST_INTERCEPTION", "")
INTERCEPTION = {"WAVESCOPE_INTERCEPTION": _INTERCEPTION} if _INTERCEPTION else {}
"""How recorded programs are intercepted, where that is not left to them."""
CACHE = {n: v for n, v in os.environ.items() if n == "WAVESCOPE_RUNTIMES"}
"""Tests see no settings of the machine; where its runtimes are is what these are about."""


@dataclass(frozen=True)
class Behaviour:
    """What a version of ROCm does otherwise than its predecessor."""

    chips: tuple[str, ...]
    """Those of the software GPU's that its ROCr knows."""
    copies_little_by_kernels: bool = False
    """Copies between host and GPU of some KB are kernels, not the work of a copy engine."""
    newer_launches: frozenset[str] = frozenset()
    """Functions that launch kernels or make graphs of them and that HIP 5.2 lacks."""
    passes_batches: bool = False
    """Packets that are announced together come to an interceptor together; lite mode leaves them."""
    warns_at_its_end: bool = False
    """Of signals that it holds itself, whether or not a program is recorded."""
    lacks: Mapping[str, str] = field(default_factory=dict)
    """Why it cannot do what others can."""


_CHIPS_OF_5_2 = ("gfx900", "gfx906", "gfx908", "gfx90a", "gfx1030")
_CHIPS_OF_6_1 = (*_CHIPS_OF_5_2, "gfx942", "gfx1100")
_LAUNCHES_OF_6_4 = frozenset(
    {
        "hipModuleLaunchCooperativeKernel",
        "hipGraphAddNode",
        "hipGraphExecNodeSetParams",
        "hipLaunchKernel",  # by the address that hipGetProcAddress gives
    }
)
_OWN_WARNING = re.compile(
    r"Warning: Resource leak detected by SharedSignalPool, \d+ Signals leaked\.\n"
)
_NO_VMM = "HIP before 6 maps no memory at reserved addresses on Linux"
_BEHAVIOURS = {
    "5.2": Behaviour(
        _CHIPS_OF_5_2,
        lacks={
            "ipc": "ROCr 5.2 shares memory by a call that only AMD's own kernel driver has",
            "vmm": _NO_VMM,
        },
    ),
    "6.1": Behaviour(
        _CHIPS_OF_6_1,
        newer_launches=frozenset({"hipModuleLaunchCooperativeKernel"}),
        lacks={
            "ipc": "ROCr 6.1 gives out handles of shared memory that name no process",
            "vmm": _NO_VMM,
            "restarts": "ROCr 6.1 hangs now and then when it ends for the third time or later: "
            "it destroys queues after a lock that they take",
            "asan": "ROCr 6.1 keeps its list of queues without a lock, for which AddressSanitizer ends "
            "programs that make queues in several threads, recorded or not (2 of 60 that were not)",
        },
    ),
    "6.4": Behaviour(
        (*_CHIPS_OF_6_1, "gfx950"),
        copies_little_by_kernels=True,
        newer_launches=_LAUNCHES_OF_6_4,
    ),
    "7.2": Behaviour(
        (*_CHIPS_OF_6_1, "gfx950"),
        copies_little_by_kernels=True,
        newer_launches=_LAUNCHES_OF_6_4 | {"hipLaunchKernelExC", "hipDrvLaunchKernelEx"},
        passes_batches=True,
        warns_at_its_end=True,
        lacks={
            "queues left": "ROCr 7.2 crashes when it ends with a cooperative queue still there",
            "producers": "ROCr 7.2 crashes under any interception when threads share a queue",
        },
    ),
}


@dataclass(frozen=True)
class NamedRuntime:
    """A fetched runtime that a test needs, whatever others run on; nothing is fetched for it."""

    name: str

    def require(self) -> Runtime:
        """The runtime, or a skip where it is not there."""
        found = cached_runtime(cache_folder(self.environment), self.name)
        if found.runtime is None:
            pytest.skip(
                f"runtime {self.name}: it is not here: wavescope softgpu --fetch {self.name}"
            )
        return found.runtime

    @property
    def environment(self) -> dict[str, str]:
        """For `wavescope trace`: it says where the runtimes are."""
        return {**os.environ, **CACHE}


def times_shared_signals() -> bool:
    """Whether dispatches are timed that count down one signal together."""
    return _INTERCEPTION != "own"


def lite_leaves_batches() -> bool:
    """Whether packets that are announced together come together, so that lite mode skips them."""
    return behaviour().passes_batches and _INTERCEPTION != "own"


def plain_environment() -> dict[str, str]:
    """The environment without settings of wavescope's, but for the interception under test."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("WAVESCOPE_")}
    return kept | INTERCEPTION


@cache
def runtime_under_test() -> Runtime | None:
    """The runtime that programs of tests are built for; None is the machine's own."""
    return chosen_runtime(TESTED, {**os.environ, **CACHE})


def behaviour() -> Behaviour:
    """The row of the tested version, or of the one before it that has a row."""
    version = machine_version(Machine()) if TESTED == MACHINE else TESTED
    rows = [row for name, row in _BEHAVIOURS.items() if _numbers(name) <= _numbers(version)]
    return rows[-1] if rows else _BEHAVIOURS["5.2"]


def without_own_warnings(errors: str) -> str:
    """What a program said, without what the tested version says of itself."""
    return _OWN_WARNING.sub("", errors) if behaviour().warns_at_its_end else errors


def require(subject: str) -> None:
    """Skip, with the reason, what the tested version cannot do."""
    if reason := behaviour().lacks.get(subject):
        pytest.skip(f"runtime {TESTED}: {reason}")


def require_chip(chip: str) -> None:
    """Skip what needs a GPU that the tested version does not know."""
    if chip not in behaviour().chips:
        pytest.skip(f"runtime {TESTED}: its ROCr does not know {chip}")


def _numbers(version: str) -> tuple[int, ...]:
    numbers = version.partition("+")[0].split(".")[:2]
    return tuple(int(number) for number in numbers if number.isdigit())
