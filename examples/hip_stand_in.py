"""A model that only launches kernels, through the HIP runtime: what is left of one without PyTorch.

Kernels and their order are those of a 12-layer GPT-2 on an AMD Instinct; they compute nothing. They
are compiled with hipcc when they are first needed, and kept in the user's cache folder.
"""

from __future__ import annotations

import ctypes
import subprocess
from os import environ, getpid
from pathlib import Path
from zlib import crc32

SOURCE = Path(__file__).with_suffix(".hip")
GEMM = "Cijk_Ailk_Bljk_HHS_BH_Bias_HAS_SAV_UserArgs_MT{}_MI16x16x1_SN"
SUM = "Cijk_SB_Bias_AS_ScaleAlphaVec_PostGSU8{}"
NORM = "_ZN2at6native28vectorized_layer_norm_kernelIDF16_fEEvv"
GELU = "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_4geluEEEvv"
LOOKUP = "_ZN2at6native21indexSelectSmallIndexIDF16_lEEvv"
CHOICE = "_ZN2at6native13reduce_kernelILi512ENS0_9ArgMaxOpsEEEvv"

PREFILL_LAYER = (NORM, GEMM.format("64x64x256"), "attn_fwd", GEMM.format("64x128x128"), GELU,
                 GEMM.format("64x16x512"), SUM.format(""))  # fmt: skip
PREFILL_END = (NORM, GEMM.format("64x16x512"))
DECODE_LAYER = (NORM, GEMM.format("256x16x384"), SUM.format("_VW1"), "attn_fwd",
                GEMM.format("256x16x384"), SUM.format("_VW1"), GELU, GEMM.format("64x16x128"),
                SUM.format("_VW4"))  # fmt: skip
DECODE_END = (NORM, GEMM.format("256x16x384"), SUM.format("_VW1"))


def compiled_kernels(chip: str) -> Path:
    """The file with the kernels for `chip`."""
    cache = Path(environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "wavescope-examples"
    code = cache / f"hip_stand_in-{crc32(SOURCE.read_bytes()):08x}-{chip}.hsaco"
    if not code.exists():
        cache.mkdir(parents=True, exist_ok=True)
        unfinished = code.with_suffix(f".{getpid()}")
        command = ["hipcc", "--genco", f"--offload-arch={chip}", "-o", str(unfinished), str(SOURCE)]
        subprocess.run(command, env={**environ, "HIP_PLATFORM": "amd"}, check=True)
        unfinished.rename(code)
    return code


class HipStandIn:
    """Launches what a model would launch."""

    def __init__(self, layers: int, *, extra_copy: bool) -> None:
        self._hip = ctypes.CDLL("libamdhip64.so.5")
        self._layers = layers
        self._decode_layer = (*DECODE_LAYER, *(("needless_copy",) if extra_copy else ()))
        self._module = ctypes.c_void_p()
        self._functions: dict[str, ctypes.c_void_p] = {}
        code = compiled_kernels(environ.get("WAVESCOPE_SOFTGPU_CHIP", "gfx90a"))
        self._check(self._hip.hipModuleLoad(ctypes.byref(self._module), bytes(code)))

    def prefill(self, prompt_tokens: int) -> None:
        self._launch((LOOKUP,), groups=prompt_tokens)
        for _ in range(self._layers):
            self._launch(PREFILL_LAYER, groups=prompt_tokens)
        self._launch(PREFILL_END, groups=prompt_tokens)
        self._launch((CHOICE,), groups=1)

    def decode_step(self) -> None:
        self._launch((LOOKUP,), groups=1)
        for _ in range(self._layers):
            self._launch(self._decode_layer, groups=1)
        self._launch((*DECODE_END, CHOICE), groups=1)

    def synchronize(self) -> None:
        self._check(self._hip.hipDeviceSynchronize())

    def _launch(self, names: tuple[str, ...], groups: int) -> None:
        for name in names:
            function = self._functions.get(name) or self._find(name)
            self._check(
                self._hip.hipModuleLaunchKernel(
                    function, groups, 1, 1, 256, 1, 1, 0, None, None, None
                )
            )

    def _find(self, name: str) -> ctypes.c_void_p:
        function = self._functions[name] = ctypes.c_void_p()
        self._check(
            self._hip.hipModuleGetFunction(ctypes.byref(function), self._module, name.encode())
        )
        return function

    def _check(self, status: int) -> None:
        if status:
            self._hip.hipGetErrorName.restype = ctypes.c_char_p
            raise RuntimeError(f"HIP: {self._hip.hipGetErrorName(status).decode()}")
