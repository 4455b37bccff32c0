"""Definitions of counters that rocprofv3 does not know by itself, and how many of them it can take.

rocprofv3 hands the file of definitions to the program as one environment variable, and the system
starts no program with a variable of more than 128 KiB.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from wavescope.model.workload_layout import ACCUMULATOR_SUFFIX, CHANNELS_SUFFIX

LONGEST_DEFINITIONS_BYTES = (128 << 10) - len("ROCPROF_EXTRA_COUNTERS_CONTENTS=") - 1


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
    # Every space counts: some passes define 600 counters.
    lines = ["rocprofiler-sdk:", " counters-schema-version: 1", " counters:"]
    for name, expression in expressions.items():
        lines += [
            f" - name: '{name}'",
            "   description: ''",
            "   properties: []",
            "   definitions:",
            f"   - architectures: [{chip}]",
            f"     expression: {expression}",
        ]
    return "\n".join(lines) + "\n"


Group = Sequence[str]


def groups_that_fit(
    groups: Sequence[Group], definitions: Callable[[Sequence[str]], str]
) -> list[list[Group]]:
    """`groups` in order, as few runs as can be whose definitions rocprofv3 can take."""
    runs: list[list[Group]] = []
    for group in groups:
        together = [*(name for each in runs[-1] for name in each), *group] if runs else []
        if runs and len(definitions(together).encode()) <= LONGEST_DEFINITIONS_BYTES:
            runs[-1].append(group)
        else:
            runs.append([group])
    return runs
