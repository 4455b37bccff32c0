"""Phases that wavescope tells, against the labels that the program wrote.

    wavescope trace -o decoder.db -- python3 benchmarks/nvidia/decoder.py --labels labels.json
    python3 benchmarks/nvidia/phase_labels.py decoder.db labels.json

Kernels that began while a labelled phase ran are of that phase. Precision and recall are shares of GPU
time, of phases told by NVTX ranges and of phases found by structure alone.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from arms import keep, table

from wavescope.analyze.phases import phases_of
from wavescope.formats import open_trace

PHASES = ("prefill", "decode")


def labelled(start_ns: Any, labels: list[dict[str, Any]]) -> Any:
    """By kernel the number of its phase in PHASES; -1 outside of all."""
    truth = np.full(len(start_ns), -1, np.int64)
    for label in labels:
        inside = (start_ns >= label["start_ns"]) & (start_ns < label["end_ns"])
        truth[inside] = PHASES.index(label["phase"])
    return truth


def claimed(trace: Any, *, use_markers: bool) -> Any:
    """By op the number of the phase that wavescope tells; -1 for others."""
    assignment = phases_of(trace, use_markers=use_markers)
    paths = [assignment.tree.names(number) for number in range(len(assignment.tree.paths))]
    return np.array([*map(phase_in, paths), -1])[assignment.path_of_op]


def phase_in(path: Sequence[str]) -> int:
    """The number of the phase that the innermost range of that name in a path tells; -1: none."""
    for name in reversed(path):
        for number, phase in enumerate(PHASES):
            if phase in name.lower():
                return number
    return -1


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("trace", type=Path)
    parser.add_argument("labels", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=Path("phase_labels.json"))
    options = parser.parse_args()
    labels = json.loads(options.labels.read_text())["labels"]
    rows = []
    with open_trace(options.trace) as trace:
        truth = labelled(trace.ops["start_ns"], labels)
        spent_ns = trace.ops.duration_ns
        for source, use_markers in (("NVTX ranges", True), ("structure", False)):
            claim = claimed(trace, use_markers=use_markers)
            for at, phase in enumerate(PHASES):
                right = spent_ns[(truth == at) & (claim == at)].sum()
                # What ran outside of labels (loading, warm-up) has no truth.
                said = spent_ns[(truth >= 0) & (claim == at)].sum()
                true = spent_ns[truth == at].sum()
                rows.append(
                    [source, phase, int((truth == at).sum()), f"{true / 1e6:.2f}",
                     f"{100 * right / said if said else 0:.2f} %", f"{100 * right / true if true else 0:.2f} %"]
                )  # fmt: skip
    print(table(("told by", "phase", "ops", "GPU ms", "precision", "recall"), rows))
    keep(options.output, {"rows": rows})


if __name__ == "__main__":
    main()
