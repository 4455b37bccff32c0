"""Which findings are told of programs whose flaw is known (`record_scenarios.py`).

.venv/bin/python benchmarks/findings/score.py OUT/*.json.gz
"""

from __future__ import annotations

import sys
from pathlib import Path

import wavescope
from wavescope.model.result import Finding

EXPECTED: dict[str, set[str]] = {
    "well_fed": set(),
    "waits_for_results": {"gpu-idle/before/drained"},
    "busy_host": {"gpu-idle/before/unrecorded"},
    "many_short_launches": {"gpu-idle/in_launch/launch", "launch-bound", "tiny-kernels"},
    "the_same_as_a_graph": {"gpu-idle/after_launch/graph_step", "tiny-kernels"},
    "copies_from_pageable_memory": {"exposed-copies"},
    "prepares_inputs": {"gpu-idle/before/unrecorded"},
    "copies_beside_the_work": set(),
    "clears_many_buffers": {"copy-storm"},
    "streams_that_take_turns": {"queue-serialization"},
    "streams_side_by_side": set(),
}
CONSEQUENCES: dict[str, set[str]] = {
    "waits_for_results": {"launch-bound"},
    "copies_from_pageable_memory": {"gpu-idle/in_launch/launch", "gpu-idle/before/launching"},
    "clears_many_buffers": {"gpu-idle/before/launching", "launch-bound", "tiny-kernels"},
    "streams_side_by_side": {"gpu-idle/before/launching", "launch-bound"},
}
"""True of the program as well, though not what it was made for."""
IGNORED = {"input-repaired", "unknown-launches", "clock-inversion"}


def spelled(finding: Finding) -> str:
    """The finding's id, of idle GPUs with the largest part of the time and what is behind it."""
    if finding.id != "gpu-idle":
        return finding.id
    return "/".join((finding.id, *(str(finding.numbers[key]) for key in ("main_cause", "reason"))))


def main() -> None:
    right = missed = false = 0
    print(f"{'scenario':30} {'told':60} missed / false")
    for path in map(Path, sys.argv[1:]):
        name = path.name.split(".")[0]
        told = {spelled(each) for each in wavescope.find(path) if each.id not in IGNORED}
        wanted = EXPECTED[name]
        absent = wanted - told
        extra = told - wanted - CONSEQUENCES.get(name, set())
        right += len(wanted & told)
        missed += len(absent)
        false += len(extra)
        print(f"{name:30} {', '.join(sorted(told)):60} {sorted(absent)} / {sorted(extra)}")
    print(f"{right} right, {missed} missed, {false} false")


if __name__ == "__main__":
    main()
