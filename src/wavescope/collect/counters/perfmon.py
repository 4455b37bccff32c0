"""What rocprofv3 knows of counters, and what it is told to count in one pass.

rocprofv3 knows counters summed up over all instances. The channels of the L2 and the accumulators
of level counters are defined on top of them, in a file of extra counters.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from wavescope.model.workload_layout import ACCUMULATOR_SUFFIX, CHANNELS_SUFFIX, collected_name


@dataclass(frozen=True)
class ChannelLayout:
    """The L2 channels of a chip: so many on each of its dies."""

    dies: int
    channels_per_die: int

    @property
    def count(self) -> int:
        return self.dies * self.channels_per_die


def counter_names(counters: Sequence[str], channels: ChannelLayout) -> list[str]:
    """The single counters that are read; `NAME[]` stands for all channels."""
    names = []
    for counter in counters:
        family = counter.removesuffix(CHANNELS_SUFFIX)
        if family == counter:
            names.append(counter)
        else:
            names += [f"{family}[{channel}]" for channel in range(channels.count)]
    return names


def perfmon_text(names: Sequence[str]) -> str:
    """rocprofv3's text form: what to count in one run."""
    return f"pmc: {' '.join(names)}\n\ngpu:\nrange:\nkernel:\n"


def multiplexed_text(groups: Sequence[Sequence[str]]) -> str:
    """rocprofv3's job of a single run that counts another group at every launch."""
    job = {"pmc_groups": [list(group) for group in groups], "pmc_group_interval": 1}
    return json.dumps({"jobs": [job]}, indent=1) + "\n"


def extra_counters(counters: Sequence[str], channels: ChannelLayout, chip: str) -> str:
    """Definitions of what rocprofv3 does not know by itself, as YAML; nothing when it knows all."""
    expressions: dict[str, str] = {}
    for counter in counters:
        if counter.endswith(CHANNELS_SUFFIX):
            family = counter.removesuffix(CHANNELS_SUFFIX)
            for channel in range(channels.count):
                die, instance = divmod(channel, channels.channels_per_die)
                expressions[f"{family}[{channel}]"] = (
                    f"select({family},[DIMENSION_XCC=[{die}],DIMENSION_INSTANCE=[{instance}]])"
                )
        elif counter.endswith(ACCUMULATOR_SUFFIX):
            level = counter.removesuffix(ACCUMULATOR_SUFFIX)
            expressions[counter] = f"accumulate({level}, HIGH_RES)"
    if not expressions:
        return ""
    lines = ["rocprofiler-sdk:", "  counters-schema-version: 1", "  counters:"]
    for name, expression in expressions.items():
        lines += [
            f"    - name: '{name}'",
            "      description: ''",
            "      properties: []",
            "      definitions:",
            f"        - architectures: [{chip}]",
            f"          expression: {expression}",
        ]
    return "\n".join(lines) + "\n"


_WORD = re.compile(r"\b[A-Z][A-Z0-9]*_[A-Za-z0-9_]+\b", re.ASCII)
_CERTAIN = "SQ_WAVES"
"""A counter that every chip has: a list without it is no list."""
_SUM = "_sum"


def known_counters(rocprofv3: Path) -> frozenset[str]:
    """The counters that `rocprofv3 --list-avail` names; none where it names none."""
    try:
        done = subprocess.run(
            [str(rocprofv3), "--list-avail"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=120,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return frozenset()
    return listed_counters(done.stdout)


def listed_counters(text: str) -> frozenset[str]:
    """The counters in a list, whose layout differs between versions; none if it is no list."""
    words = frozenset(_WORD.findall(text))
    return words if _CERTAIN in words else frozenset()


def unknown_counters(counters: Sequence[str], known: Collection[str], chip: str) -> list[str]:
    """Those of `counters` that rocprofv3 does not know; nothing when nothing is known of it."""
    if not known:
        return []
    lists_sums = any(name.endswith(_SUM) for name in known)
    unknown = []
    for counter in counters:
        name = counter.removesuffix(CHANNELS_SUFFIX).removesuffix(ACCUMULATOR_SUFFIX)
        name = name if lists_sums else name.removesuffix(_SUM)
        if collected_name(name, chip) not in known:
            unknown.append(counter)
    return unknown
