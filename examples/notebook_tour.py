"""A tour of the Python interface: open any trace, look at it, take a part of it, export it.

    python examples/notebook_tour.py trace.db

Each cell (`# %%`) also runs as it is in a notebook, where results show themselves as tables.
"""

# %% Open a trace, whatever its format.
from __future__ import annotations

import sys
from pathlib import Path

import wavescope

path = sys.argv[1] if len(sys.argv) > 1 else "demo-output/trace.db"
trace = wavescope.open(path)
print(trace)

# %% Columns are NumPy arrays; durations are integer nanoseconds.
durations_ns = trace.ops.duration_ns
print("longest op:", trace.ops.strings("name")[int(durations_ns.argmax())])

# %% A summary has tables and findings.
result = wavescope.summary(trace)
for row in result.table("kernels").records()[:5]:
    print(f"{row['name']}: {row['calls']} calls, {row['total_ns']} ns")
for finding in result.findings:
    print(f"{finding.severity.value}: {finding.title}")

# %% A part of a trace is a trace.
second_half = wavescope.select(trace, start="50%")
print("ops in the second half:", len(second_half.ops))

# %% Export for ui.perfetto.dev, replacing an earlier export.
target = Path(path).with_suffix(".pftrace")
print("written:", wavescope.convert(path, target, force=True))
