"""What rocprofv3 is told to count in one pass: a list of counters, and definitions it lacks.

rocprofv3 knows counters summed up over all instances. The channels of the L2 and the accumulators
of level counters are defined on top of them, in a file of extra counters.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from wavescope.model.workload_layout import ACCUMULATOR_SUFFIX, CHANNELS_SUFFIX


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
