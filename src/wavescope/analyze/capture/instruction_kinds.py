"""What instructions do, by mnemonic, and so what their stall means; which registers they touch.

Waits are spelled with counter names, as one number whose bits hold all counters (`s_waitcnt
0x3f70`), as one instruction per counter (gfx10's s_waitcnt_vscnt, gfx12's s_wait_loadcnt) or for a
pair of counters (s_wait_loadcnt_dscnt).
"""

from __future__ import annotations

import enum
import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from wavescope.analyze.capture.traced_chip import IsaFamily
from wavescope.model.capture import Codes, Instructions

_NAMED = re.compile(
    r"(vmcnt|lgkmcnt|vscnt|expcnt|loadcnt|storecnt|samplecnt|dscnt|kmcnt|bvhcnt|asynccnt)"
    r"[\s(]*(?:null\s*,)?\s*(0x[0-9a-f]{1,8}|\d{1,8})",
    re.ASCII,
)
_NUMBER = re.compile(r"s_waitcnt\s+(0x[0-9a-f]{1,8}|\d{1,8})\s*\Z", re.ASCII)
_PAIR = re.compile(r"s_wait_([a-z]+cnt)_([a-z]+cnt)\s+(0x[0-9a-f]{1,8}|\d{1,8})", re.ASCII)
_NOT_MEMORY = ("s_waitcnt_depctr", "s_wait_alu", "s_wait_event")
_TO_LDS = re.compile(r"\blds\b", re.ASCII)
_STACK = re.compile(r"\boff, s\[0:3\], s3[23]\b", re.ASCII)
_KERNEL_STACK = re.compile(r"buffer_(load|store)\w* v\S+, (off, s\[0:3\], 0\b.*)", re.ASCII)
"""Of kernels, which have no stack pointer, where scratch memory is reached by a descriptor."""
_OPERAND = re.compile(r"\b([va])(?:(\d{1,3})\b|\[(\d{1,3}):(\d{1,3})\])", re.ASCII)
_WRITES_NOTHING = re.compile(
    r"(buffer|tbuffer|global|flat|scratch|image)_(store|atomic)|ds_(write|store|add|nop)|v_cmp|s_|exp"
)
_LONGEST = 512


class BitField(NamedTuple):
    """Where a counter's limit lies in the number of an s_waitcnt; some are in two pieces."""

    low: int
    width: int
    high: int = 0
    high_width: int = 0

    def value(self, number: int) -> int:
        """The limit that `number` holds."""
        lower = number >> self.low & (1 << self.width) - 1
        return lower | (number >> self.high & (1 << self.high_width) - 1) << self.width

    @property
    def no_wait(self) -> int:
        """The largest limit, which waits for nothing."""
        return (1 << self.width + self.high_width) - 1


_FIELDS: Mapping[IsaFamily, Mapping[str, BitField]] = {
    IsaFamily.GFX9: {
        "vmcnt": BitField(0, 4, 14, 2),
        "expcnt": BitField(4, 3),
        "lgkmcnt": BitField(8, 4),
    },
    IsaFamily.GFX10: {
        "vmcnt": BitField(0, 4, 14, 2),
        "expcnt": BitField(4, 3),
        "lgkmcnt": BitField(8, 6),
    },
    IsaFamily.GFX11: {
        "vmcnt": BitField(10, 6),
        "expcnt": BitField(0, 3),
        "lgkmcnt": BitField(4, 6),
    },
    IsaFamily.GFX12: {},
}
_PAIR_FIELDS = (BitField(8, 6), BitField(0, 6))


@dataclass(frozen=True)
class Wait:
    """The limits of a wait by counter; `drains_all` where it waits for everything."""

    limits: Mapping[str, int]
    drains_all: bool = False


def parsed_wait(text: str, family: IsaFamily) -> Wait | None:
    """The wait that `text` spells, None where it is none for memory."""
    text = text.lower()
    if not text.startswith("s_wait") or text.startswith(_NOT_MEMORY):
        return None
    if text.startswith("s_wait_idle"):
        return Wait({}, drains_all=True)
    if pair := _PAIR.match(text):
        number = int(pair[3], 0)
        limits = [field.value(number) for field in _PAIR_FIELDS]
        return Wait({pair[1]: limits[0], pair[2]: limits[1]})
    if whole := _NUMBER.match(text):
        number = int(whole[1], 0)
        fields = _FIELDS[family].items()
        return Wait(
            {
                name: field.value(number)
                for name, field in fields
                if field.value(number) != field.no_wait
            }
        )
    return Wait({name: int(limit, 0) for name, limit in _NAMED.findall(text)})


class Kind(str, enum.Enum):
    """A class of instructions, as reports spell it."""

    LABEL = "label"
    VMEM_WAIT = "VMEM-wait"
    STORE_WAIT = "store-wait"
    LDS_WAIT = "LDS-wait"
    SMEM_WAIT = "SMEM-wait"
    LDS_SMEM_WAIT = "LDS/SMEM-wait"
    EXPORT_WAIT = "EXP-wait"
    MIXED_WAIT = "mixed-wait"
    ALU_WAIT = "ALU-wait"
    BARRIER = "barrier"
    VMEM_LOAD = "VMEM-load"
    LOAD_TO_LDS = "load-to-LDS"
    VMEM_STORE = "VMEM-store"
    ATOMIC = "atomic"
    SCRATCH = "scratch"
    LDS = "LDS"
    LDS_ATOMIC = "LDS-atomic"
    LDS_PERMUTE = "LDS-permute"
    SMEM = "SMEM"
    MATRIX = "MFMA/WMMA"
    VALU_TRANSCENDENTAL = "VALU-trans"
    VALU_PERMUTE = "DPP-permute"
    VALU = "VALU"
    SALU = "SALU"
    BRANCH = "branch"
    NOP = "nop"
    SLEEP = "sleep"
    END = "end"
    MESSAGE = "message"
    CACHE = "cache-control"
    EXPORT = "export"
    OTHER = "other"


KINDS = tuple(Kind)
CODE_OF = {kind: code for code, kind in enumerate(KINDS)}
WAIT_KINDS = (
    Kind.VMEM_WAIT,
    Kind.STORE_WAIT,
    Kind.LDS_WAIT,
    Kind.SMEM_WAIT,
    Kind.LDS_SMEM_WAIT,
    Kind.EXPORT_WAIT,
    Kind.MIXED_WAIT,
)
MEMORY_KINDS = (
    Kind.VMEM_LOAD,
    Kind.LOAD_TO_LDS,
    Kind.VMEM_STORE,
    Kind.ATOMIC,
    Kind.SCRATCH,
    Kind.LDS,
    Kind.LDS_ATOMIC,
    Kind.LDS_PERMUTE,
    Kind.SMEM,
)
_BY_MNEMONIC: tuple[tuple[str, Kind], ...] = (
    (r"s_waitcnt_depctr|s_wait_alu|s_wait_event|s_delay_alu", Kind.ALU_WAIT),
    (r"s_wait_idle", Kind.MIXED_WAIT),
    (r"s_barrier|s_get_barrier", Kind.BARRIER),
    (r"(global_load_(async_to_)?lds|global_load_async|\w+_load_\w*_lds\b)", Kind.LOAD_TO_LDS),
    (r"scratch_", Kind.SCRATCH),
    (r"(buffer|global|flat|image)_atomic|(global|flat)_\w*atomic", Kind.ATOMIC),
    (r"buffer_(wb|inv|gl)|global_(wb|inv)|s_(dcache|icache|gl1)|s_\w*_inv\b", Kind.CACHE),
    (
        r"t?buffer_load|global_load|flat_load|image_(load|sample|gather|msaa|get|bvh)",
        Kind.VMEM_LOAD,
    ),
    (r"t?buffer_store|global_store|flat_store|image_store", Kind.VMEM_STORE),
    (r"ds_(b?permute|swizzle)", Kind.LDS_PERMUTE),
    (r"ds_(read|write|load|store|param_load|direct)|lds_", Kind.LDS),
    (r"ds_nop", Kind.NOP),
    (r"ds_(bvh|consume|append|ordered|gws)|ds_", Kind.LDS_ATOMIC),
    (
        r"s_(buffer_|scratch_)?(load|store)|s_(buffer_)?atomic|s_mem(real)?time|s_prefetch|s_atc_probe",
        Kind.SMEM,
    ),
    (r"v_(mfma|smfmac|wmma|swmmac)", Kind.MATRIX),
    (r"v_(exp|log|rcp|rsq|sqrt|sin|cos|tanh|s_)\w*_[bf]?f?(16|32|64)", Kind.VALU_TRANSCENDENTAL),
    (r"v_(permlane|readlane|readfirstlane|writelane)|v_\w+_dpp", Kind.VALU_PERMUTE),
    (r"v_", Kind.VALU),
    (r"s_(cbranch|branch|setpc|swappc|getpc|call|subvector_loop)", Kind.BRANCH),
    (r"s_(nop|clause|set_inst_prefetch|inst_prefetch|ttrace|setprio|code_end)", Kind.NOP),
    (r"s_(sleep|sethalt|trap|wakeup)", Kind.SLEEP),
    (r"s_endpgm", Kind.END),
    (r"s_sendmsg", Kind.MESSAGE),
    (r"exp\b|export", Kind.EXPORT),
    (r"s_", Kind.SALU),
)
"""The first pattern that the mnemonic begins with says its kind."""
_RULES = tuple((re.compile(pattern, re.ASCII), kind) for pattern, kind in _BY_MNEMONIC)
_WAIT_KIND_OF = {
    "vmcnt": Kind.VMEM_WAIT,
    "loadcnt": Kind.VMEM_WAIT,
    "samplecnt": Kind.VMEM_WAIT,
    "bvhcnt": Kind.VMEM_WAIT,
    "asynccnt": Kind.VMEM_WAIT,
    "vscnt": Kind.STORE_WAIT,
    "storecnt": Kind.STORE_WAIT,
    "lgkmcnt": Kind.LDS_SMEM_WAIT,
    "dscnt": Kind.LDS_WAIT,
    "kmcnt": Kind.SMEM_WAIT,
    "expcnt": Kind.EXPORT_WAIT,
}


def kind_of_text(text: str, family: IsaFamily) -> Kind:
    """The kind of one instruction."""
    text = text.strip().lower()
    if not text or text.startswith(";"):
        return Kind.LABEL
    kind = kind_of_mnemonic(text.partition(" ")[0])
    return _refined(kind, text, family)


def kind_of_mnemonic(mnemonic: str) -> Kind:
    """The kind as far as the mnemonic alone tells."""
    for pattern, kind in _RULES:
        if pattern.match(mnemonic):
            return kind
    return Kind.OTHER


def wait_kind(wait: Wait) -> Kind:
    """The kind of a wait for memory by the counters that it names."""
    kinds = {_WAIT_KIND_OF[name] for name in wait.limits if name in _WAIT_KIND_OF}
    if len(kinds) == 1:
        return kinds.pop()
    return Kind.MIXED_WAIT


def instruction_kinds(instructions: Instructions, family: IsaFamily) -> Codes:
    """For each row the index of its kind in `KINDS`."""
    by_mnemonic = [kind_of_mnemonic(mnemonic) for mnemonic in instructions.mnemonics]
    codes = np.array([CODE_OF[kind] for kind in by_mnemonic], np.uint8)
    found = codes[instructions.mnemonic_code] if len(instructions) else np.empty(0, np.uint8)
    found[instructions.is_label] = CODE_OF[Kind.LABEL]
    needs_text = [
        mnemonic.startswith("s_wait") or kind in {Kind.VMEM_LOAD, Kind.VMEM_STORE}
        for mnemonic, kind in zip(instructions.mnemonics, by_mnemonic, strict=True)
    ]
    rows = np.flatnonzero(np.array(needs_text, np.bool_)[instructions.mnemonic_code])
    known: dict[str, int] = {}
    for row in rows.tolist():
        text = instructions.text[row]
        code = known.get(text)
        if code is None:
            code = known[text] = CODE_OF[_refined(KINDS[found[row]], text.lower(), family)]
        found[row] = code
    found[_kernel_stack(instructions, rows.tolist())] = CODE_OF[Kind.SCRATCH]
    return found


def _kernel_stack(instructions: Instructions, rows: Sequence[int]) -> list[int]:
    """Those of `rows` that access the stack of a kernel: places both written and read.

    All lanes give the same address, which is one place for each of them in scratch memory only.
    """
    accesses = [
        (row, access[1], access[2])
        for row in rows
        if (access := _KERNEL_STACK.match(instructions.text[row].strip().lower()))
    ]
    read, written = (
        {place for _, what, place in accesses if what == kind} for kind in ("load", "store")
    )
    return [row for row, _, place in accesses if place in read & written]


def rows_of_kinds(
    codes: Codes, kinds: Sequence[Kind]
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which rows are of one of `kinds`."""
    wanted = np.zeros(len(KINDS), np.bool_)
    wanted[[CODE_OF[kind] for kind in kinds]] = True
    return wanted[codes]


def _refined(kind: Kind, text: str, family: IsaFamily) -> Kind:
    """`kind` where the operands do not say otherwise."""
    if text.startswith("s_wait") and kind is not Kind.ALU_WAIT:
        wait = parsed_wait(text, family)
        return wait_kind(wait) if wait is not None else Kind.ALU_WAIT
    if kind in {Kind.VMEM_LOAD, Kind.VMEM_STORE}:
        operands = text.partition(" ")[2]
        if kind is Kind.VMEM_LOAD and _TO_LDS.search(operands):
            return Kind.LOAD_TO_LDS
        if _STACK.search(operands):
            return Kind.SCRATCH
    return kind


Registers = frozenset[tuple[str, int]]


class Operands(NamedTuple):
    """Registers as ('v', 12); `last_read` are those of the last source, a matrix's accumulator."""

    written: Registers
    read: Registers
    last_read: Registers


@functools.lru_cache(maxsize=65_536)
def operands_of(text: str) -> Operands:
    """Written and read registers of an instruction; most of them write their first operand."""
    mnemonic, _, rest = text[:_LONGEST].strip().partition(" ")
    groups = [_registers(match) for match in _OPERAND.finditer(rest)]
    if not groups:
        return Operands(frozenset(), frozenset(), frozenset())
    if _WRITES_NOTHING.match(mnemonic) or not rest.lstrip().startswith(("v", "a")):
        return Operands(frozenset(), frozenset().union(*groups), groups[-1])
    first, others = groups[0], groups[1:]
    read = frozenset().union(*others)
    if mnemonic.startswith(("v_fmac", "v_mac", "v_dot2c", "v_smfmac")):
        read |= first
    return Operands(first, read, others[-1] if others else frozenset())


def _registers(match: re.Match[str]) -> Registers:
    kind, single, low, high = match.groups()
    first = int(single if single is not None else low)
    last = int(single if single is not None else high)
    return frozenset((kind, number) for number in range(first, min(last, first + 63) + 1))
