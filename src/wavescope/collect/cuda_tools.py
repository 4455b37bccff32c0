"""Other tools that are set up for CUDA programs: one alone gets the GPU's records."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

CUDA_INJECTION = "CUDA_INJECTION64_PATH"
"""The driver loads this library into a program at its first use of CUDA."""
NVTX_INJECTION = "NVTX_INJECTION64_PATH"
"""NVTX hands its markers to this one."""

_PRELOADED = {
    "libToolsInjection": "Nsight Systems",
    "libTreeLauncherTargetInjection": "Nsight Compute",
    "libInterceptorInjectionTarget": "Nsight Compute",
    "libsanitizer-collection": "Compute Sanitizer",
    "libTreeLauncherPlaceholder": "Nsight Compute",
}
"""How the libraries begin that NVIDIA's tools preload into programs, and whose they are."""
_OWN_LIBRARY = "libwavescope_collector"


def is_own(library: str) -> bool:
    """Whether a library is a collector of wavescope's."""
    return Path(library).name.startswith(_OWN_LIBRARY)


def foreign(environment: Mapping[str, str], name: str) -> str:
    """Another tool's library that a variable names, or nothing."""
    library = environment.get(name, "")
    return "" if is_own(library) else library


def cuda_tools(environment: Mapping[str, str]) -> list[str]:
    """What will take the GPU's records of a CUDA program, as the user would spell it."""
    injected = foreign(environment, CUDA_INJECTION)
    found = [f"{CUDA_INJECTION}={injected}"] if injected else []
    for library in environment.get("LD_PRELOAD", "").replace(":", " ").split():
        owner = next((_PRELOADED[head] for head in _PRELOADED
                      if Path(library).name.startswith(head)), "")  # fmt: skip
        if owner:
            found.append(f"{owner} by LD_PRELOAD={library}")
    return found


def without_cuda_tools(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment in which no other tool is loaded into CUDA programs."""
    dropped = [name for name in (CUDA_INJECTION, NVTX_INJECTION) if foreign(environment, name)]
    return {name: value for name, value in environment.items() if name not in dropped}
