"""How rocprofiler-sdk names copies, APIs and kernels, in rocprofv3 output and rocpd files alike."""

from __future__ import annotations

MARKER_CATEGORY = "roctx"

_COPY_PREFIX = "MEMORY_COPY_"
_API_OF_KIND = (
    ("HIP", "HIP"),
    ("HSA", "HSA"),
    ("RCCL", "RCCL"),
    ("MARKER", "ROCTX"),
    ("MEMORY_ALLOCATION", "MEMORY"),
    ("SCRATCH_MEMORY", "MEMORY"),
    ("ROCDECODE", "ROCDECODE"),
    ("ROCJPEG", "ROCJPEG"),
    ("OMPT", "OMPT"),
)


def copy_type(direction: str) -> str:
    """The op type of a copy: MEMORY_COPY_HOST_TO_DEVICE or HOST_TO_DEVICE is CopyHostToDevice.

    Any other name is a type already.
    """
    words = direction.strip().removeprefix(_COPY_PREFIX)
    if not words.isupper():
        return words or "Copy"
    return "Copy" + "".join(word.capitalize() for word in words.split("_"))


def api_of_kind(kind: str) -> str:
    """The API that a rocprofv3 kind such as HIP_RUNTIME_API_EXT belongs to."""
    for prefix, api in _API_OF_KIND:
        if kind.startswith(prefix):
            return api
    return kind


def plain_kernel_name(name: str) -> str:
    """A kernel's name without what marks its descriptor: `.kd` or `[clone .kd]`."""
    return name.removesuffix(".kd").removesuffix(" [clone .kd]").rstrip()
