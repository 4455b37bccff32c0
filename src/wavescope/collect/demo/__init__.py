"""What `wavescope demo` shows: programs to record on the software GPU, and a generated trace.

`DEMO_PROGRAMS` are tried in order: a real engine where its runtime was fetched, else a program that
is compiled here. Where neither runs, `demo_trace` computes a trace of the same shape.
"""

from wavescope.collect.demo.generated_trace import GENERATED_BY, DemoOptions, demo_trace
from wavescope.collect.demo.programs import DEMO_PROGRAMS, DemoProgram
from wavescope.collect.demo.tiny_model import TinyModel, WeightType, write_tiny_model

__all__ = [
    "DEMO_PROGRAMS",
    "GENERATED_BY",
    "DemoOptions",
    "DemoProgram",
    "TinyModel",
    "WeightType",
    "demo_trace",
    "write_tiny_model",
]
