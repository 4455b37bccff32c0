"""Runs ROCm programs on the software GPU: a library that answers for the kernel driver.

The program's own HSA and HIP runtimes stay as they are; only its environment differs.
"""

from wavescope.collect.softgpu.environment import (
    softgpu_environment,
    softgpu_library,
    softgpu_trouble,
)
from wavescope.collect.softgpu.options import CHIPS, PARTITIONS, SoftGpuOptions

__all__ = [
    "CHIPS",
    "PARTITIONS",
    "SoftGpuOptions",
    "softgpu_environment",
    "softgpu_library",
    "softgpu_trouble",
]
