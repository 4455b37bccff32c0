"""How instructions move the counters of outstanding memory operations, family by family.

Two sets of rules: `HARDWARE` says what the chip counts, `DECODER` what the trace decoder counts
when it writes the dependency lists of wave files. The decoder passes over s_buffer_load, images,
waits spelled as one number and the second half of paired waits; docs/captures.md lists it.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from wavescope.analyze.capture.instruction_kinds import parsed_wait
from wavescope.analyze.capture.traced_chip import IsaFamily

MOST_COUNTERS = 8
LOADS, STORES = 0, 1


class CounterRules(enum.Enum):
    """Whose counting is followed."""

    HARDWARE = "hardware"
    DECODER = "decoder"


@dataclass(frozen=True)
class CounterSet:
    """The counters of a family in the order in which one wait takes them."""

    names: tuple[str, ...]
    load: str
    store: str
    lds: str
    scalar: str
    export: str

    def index(self, name: str) -> int:
        """The counter's number."""
        return self.names.index(name)


_OLD = CounterSet(("lgkmcnt", "vmcnt", "expcnt"), "vmcnt", "vmcnt", "lgkmcnt", "lgkmcnt", "expcnt")
_MIDDLE = CounterSet(
    ("vscnt", "vmcnt", "lgkmcnt", "expcnt"), "vmcnt", "vscnt", "lgkmcnt", "lgkmcnt", "expcnt"
)
_NEW = CounterSet(
    ("bvhcnt", "expcnt", "samplecnt", "kmcnt", "storecnt", "loadcnt", "dscnt", "asynccnt"),
    "loadcnt",
    "storecnt",
    "dscnt",
    "kmcnt",
    "expcnt",
)
COUNTERS: Mapping[IsaFamily, CounterSet] = {
    IsaFamily.GFX9: _OLD,
    IsaFamily.GFX10: _MIDDLE,
    IsaFamily.GFX11: _MIDDLE,
    IsaFamily.GFX12: _NEW,
}


@dataclass(frozen=True)
class CounterAction:
    """What one instruction does: a wait with limits, or an operation that counts."""

    is_wait: bool = False
    drains_all: bool = False
    limits: tuple[tuple[str, int], ...] = ()
    counts: tuple[tuple[str, int], ...] = ()
    unorders: tuple[str, ...] = ()
    """Counters whose operations may from now on finish in any order, until one waits for 0."""
    shared_group: int = -1
    """DECODER only: an operation that the first counter to be waited for takes."""


_SCALAR_MEMORY = re.compile(
    r"s_(buffer_|scratch_)?(load|store)|s_(buffer_)?atomic|s_mem(real)?time|s_dcache|s_atc_probe"
)
_VECTOR_MEMORY = re.compile(r"t?buffer_|global_|scratch_|image_")
_STORE = re.compile(r"\w*_store|global_wb|buffer_wb")
_ATOMIC = re.compile(r"\w+_atomic")
_RETURNS = re.compile(r"\b(glc|sc0|th:th_atomic_return)\b")
_NOT_COUNTED = re.compile(r"buffer_gl[01]_inv|global_prefetch|s_prefetch|ds_nop")


def counter_action(
    text: str, family: IsaFamily, rules: CounterRules = CounterRules.HARDWARE
) -> CounterAction | None:
    """What an instruction does to the counters, None where it does nothing."""
    text = text.lower()
    if text.startswith("s_wait"):
        return _wait_action(text, family, rules)
    if rules is CounterRules.DECODER:
        return _decoder_action(text, family)
    return _hardware_action(text, family)


def _wait_action(text: str, family: IsaFamily, rules: CounterRules) -> CounterAction | None:
    wait = parsed_wait(text, family)
    if wait is None:
        return None
    names = COUNTERS[family].names
    limits = tuple((name, limit) for name, limit in wait.limits.items() if name in names)
    if rules is CounterRules.DECODER:
        limits = _decoder_limits(text, family, limits)
    if not limits and not wait.drains_all:
        return None
    return CounterAction(is_wait=True, drains_all=wait.drains_all, limits=limits)


def _decoder_limits(
    text: str, family: IsaFamily, limits: tuple[tuple[str, int], ...]
) -> tuple[tuple[str, int], ...]:
    """The limits as the decoder reads them: by the counter's name in the text only."""
    if family is IsaFamily.GFX9:
        limits = tuple(pair for pair in limits if pair[0] != "expcnt")
    kept = tuple((name, limit) for name, limit in limits if name in text)
    if re.match(r"s_wait_[a-z]+cnt_[a-z]+cnt", text):
        number = re.search(r"(0x[0-9a-f]+|\d+)\s*\Z", text)
        return ((kept[0][0], 0), (kept[1][0], int(number[1], 0) if number else 0))
    if "null" in text:
        return tuple((name, 0) for name, _ in kept)
    return kept


def _hardware_action(text: str, family: IsaFamily) -> CounterAction | None:
    counters = COUNTERS[family]
    if _NOT_COUNTED.match(text):
        return None
    if _SCALAR_MEMORY.match(text):
        return CounterAction(counts=((counters.scalar, 1),), unorders=(counters.scalar,))
    if text.startswith("s_sendmsg"):
        return _message(text, family)
    if text.startswith(("ds_param_load", "ds_direct", "lds_param_load", "lds_direct", "exp ")):
        return CounterAction(counts=((counters.export, 1),))
    if text.startswith("ds_"):
        return CounterAction(counts=((counters.lds, 1),))
    if text.startswith("flat_"):
        memory = counters.store if _is_store(text) else counters.load
        return CounterAction(
            counts=((memory, 1), (counters.lds, 1)), unorders=(memory, counters.lds)
        )
    if _VECTOR_MEMORY.match(text):
        return CounterAction(counts=((_vector_counter(text, family), 1),))
    return None


def _vector_counter(text: str, family: IsaFamily) -> str:
    counters = COUNTERS[family]
    if family is IsaFamily.GFX12:
        if "_bvh" in text.partition(" ")[0]:
            return "bvhcnt"
        if text.startswith(("image_sample", "image_gather")):
            return "samplecnt"
        if re.match(r"\w*_async_", text):
            return "asynccnt"
    return counters.store if _is_store(text) else counters.load


def _is_store(text: str) -> bool:
    """Whether nothing comes back: stores, and atomics that do not return the old value."""
    if _ATOMIC.match(text):
        return _RETURNS.search(text) is None
    return _STORE.match(text) is not None


def _message(text: str, family: IsaFamily) -> CounterAction:
    counters = COUNTERS[family]
    twice = family is not IsaFamily.GFX9 and text.startswith("s_sendmsg_rtn")
    return CounterAction(counts=((counters.scalar, 2 if twice else 1),))


def _decoder_action(text: str, family: IsaFamily) -> CounterAction | None:
    counters = COUNTERS[family]
    is_new = family is IsaFamily.GFX12
    if text.startswith("v_"):
        return None
    if text.startswith(("s_load", "s_store")):
        return CounterAction(counts=((counters.scalar, 1),), unorders=(counters.scalar,))
    if text.startswith("s_"):
        return _message(text, family) if text.startswith("s_sendmsg") else None
    if is_new and "_bvh" in text:
        return CounterAction(counts=(("bvhcnt", 1),))
    if is_new and "ds_" in text[:5] and ("param_load" in text or "ds_direct" in text):
        return CounterAction(counts=(("expcnt", 1),))
    if text.startswith("ds_") or (is_new and text[1:].startswith("ds_")):
        return CounterAction(counts=((counters.lds, 1),))
    is_store = family is not IsaFamily.GFX9 and (
        "store" in text or (is_new and text.startswith("global_wb"))
    )
    memory = counters.store if is_store else counters.load
    if text.startswith(("global_", "scratch_")) or "buffer_" in text[:8]:
        return CounterAction(counts=((memory, 1),))
    if text.startswith("flat_"):
        return CounterAction(
            unorders=(memory, counters.lds), shared_group=STORES if is_store else LOADS
        )
    return None


def shared_groups(family: IsaFamily) -> Mapping[str, Sequence[int]]:
    """DECODER only: which groups of shared operations a wait for a counter takes with it."""
    counters = COUNTERS[family]
    if family is IsaFamily.GFX9:
        return {counters.lds: (LOADS,), counters.load: (LOADS,)}
    return {
        counters.store: (STORES,),
        counters.load: (LOADS,),
        counters.lds: (LOADS, STORES),
    }
