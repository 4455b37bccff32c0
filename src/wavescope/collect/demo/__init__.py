"""What `wavescope demo` shows: a program recorded on the software GPU, or a generated trace.

Recorded is a real engine where its runtime was fetched, else a program that is compiled here, else
the same program in Python. Where none runs, `demo_trace` computes a trace of the same shape.

More than six names go out: users write the engine's tiny model for programs of their own.
"""

from wavescope.collect.demo.generated_trace import DemoOptions, demo_trace
from wavescope.collect.demo.programs import is_demo, record_demo
from wavescope.collect.demo.tiny_model import TinyModel, WeightType, write_tiny_model

__all__ = [
    "DemoOptions",
    "TinyModel",
    "WeightType",
    "demo_trace",
    "is_demo",
    "record_demo",
    "write_tiny_model",
]
