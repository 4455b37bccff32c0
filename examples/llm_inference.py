"""What llm_inference.hip does, without a compiler: Python launches the same kernels through HIP.

    wavescope trace --softgpu=gfx90a,gpus=2,durations=examples/llm_inference.durations \\
        python3 examples/llm_inference.py [LAYERS] [TOKENS] [REQUESTS]

A prefill of few large kernels, then decode steps of many small ones that are replayed from a graph,
copies of tokens in and out, and roctx ranges around the phases. The kernels are empty, for gfx90a;
on the software GPU they take the times of llm_inference.durations.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from empty_kernels import bundle

BATCH = 32
ACTIVATION_BYTES = 4 << 20
TO_DEVICE, TO_HOST = 1, 2
CAPTURE_OF_THREAD = 1
LIBRARIES = ("libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so")
NORM = "_ZN4vllm25fused_add_rms_norm_kernelI12hip_bfloat16Li8EEEvPT_S3_PKS2_fii"
ROTARY = "_ZN4vllm23rotary_embedding_kernelI12hip_bfloat16Lb1EEEvPKlPT_S5_PKS4_iii"
CACHE = "_ZN4vllm30reshape_and_cache_flash_kernelI12hip_bfloat16S1_EEvPKT_S4_PT0_S6_i"
SILU = "_ZN4vllm18act_and_mul_kernelI12hip_bfloat16Lb1EEEvPT_PKS2_i"
ATTENTION = "_ZN5aiter37fmha_fwd_hd128_bf16_causal_rtne_groupEPK12hip_bfloat16PS0_i"
ALL_REDUCE = "_Z23ncclDevKernel_Generic_1P12hip_bfloat16i"
PAGED = "_Z39paged_attention_ll4mi_QKV_mfma16_kernelI12hip_bfloat16Li16ELi128EEvPKT_S3_PS1_i"
PAGED_REDUCE = "_Z35paged_attention_ll4mi_reduce_kernelI12hip_bfloat16Li128EEvPT_PKfi"
SMALL_REDUCE = "_ZN4vllm26cross_device_reduce_1stageI12hip_bfloat16Li2EEEvPT_ii"
SAMPLE = "_Z20sample_tokens_kernelI12hip_bfloat16EvPiPKT_i"


def gemm(tile: str) -> str:
    """A kernel of hipBLASLt."""
    return (
        f"Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT{tile}_MI16x16x1_SN_LDSB1_AFC1_"
        "GRVWA8_GRVWB8_PGR2_PLR1_TLDS1_WG64_4_1"
    )


@dataclass(frozen=True)
class Launch:
    """A kernel with its workgroups and their size."""

    name: str
    workgroups: int
    threads: int


PREFILL_LAYER = (
    Launch(NORM, 2048, 1024),
    Launch(gemm("256x256x64"), 608, 256),
    Launch(ROTARY, 2048, 512),
    Launch(CACHE, 2048, 512),
    Launch(ATTENTION, 1024, 512),
    Launch(gemm("256x224x64"), 512, 256),
    Launch(ALL_REDUCE, 32, 256),
    Launch(NORM, 2048, 1024),
    Launch(gemm("256x256x128"), 1216, 256),
    Launch(SILU, 2048, 1024),
    Launch(gemm("256x240x64"), 608, 256),
    Launch(ALL_REDUCE, 32, 256),
)
DECODE_LAYER = (
    Launch(NORM, BATCH, 1024),
    Launch(gemm("32x16x512"), 304, 256),
    Launch(ROTARY, BATCH, 512),
    Launch(CACHE, BATCH, 512),
    Launch(PAGED, 256, 256),
    Launch(PAGED_REDUCE, BATCH, 128),
    Launch(gemm("16x16x512"), 304, 256),
    Launch(SMALL_REDUCE, 36, 512),
    Launch(NORM, BATCH, 1024),
    Launch(gemm("64x16x512"), 304, 256),
    Launch(SILU, BATCH, 1024),
    Launch(gemm("16x16x512"), 304, 256),
    Launch(SMALL_REDUCE, 36, 512),
)
SAMPLING = Launch(SAMPLE, 1, 1024)
KERNELS = sorted({launch.name for launch in (*PREFILL_LAYER, *DECODE_LAYER, SAMPLING)})


class FatBinary(ctypes.Structure):
    """What a compiled program hands to HIP when it starts: where its kernels are."""

    _fields_ = (
        ("magic", ctypes.c_uint32),
        ("version", ctypes.c_uint32),
        ("bundle", ctypes.c_char_p),
        ("unused", ctypes.c_void_p),
    )


class Size(ctypes.Structure):
    """Three dimensions, of which the kernels here use one."""

    _fields_ = (("x", ctypes.c_uint32), ("y", ctypes.c_uint32), ("z", ctypes.c_uint32))


class Hip:
    """The HIP runtime; what it refuses ends the program."""

    def __init__(self) -> None:
        self._library = self._loaded()
        self._library.hipGetErrorString.restype = ctypes.c_char_p
        self._handles = {name: ctypes.create_string_buffer(1) for name in KERNELS}
        self._binary = FatBinary(0x48495046, 1, ctypes.c_char_p(bundle(KERNELS)), None)
        self._no_arguments = (ctypes.c_void_p * 1)()
        self._register()

    def launch(self, launch: Launch, stream: ctypes.c_void_p) -> None:
        """Launch a kernel as `<<<workgroups, threads, 0, stream>>>()` does."""
        handle = self._handles[launch.name]
        sizes = (Size(launch.workgroups, 1, 1), Size(launch.threads, 1, 1))
        self("hipLaunchKernel", handle, *sizes, self._no_arguments, ctypes.c_size_t(0), stream)

    def _register(self) -> None:
        """Name the kernels by addresses, as a compiled program does: graphs take only such."""
        register = self._library.__getattr__("__hipRegisterFatBinary")
        register.restype = ctypes.c_void_p
        module = ctypes.c_void_p(register(ctypes.byref(self._binary)))
        register = self._library.__getattr__("__hipRegisterFunction")
        for name, handle in self._handles.items():
            symbol = name.encode()
            register(module, handle, symbol, symbol, ctypes.c_uint(-1), *(None,) * 5)

    def __call__(self, function: str, *arguments: object) -> None:
        """Call a function that returns a status."""
        if status := getattr(self._library, function)(*arguments):
            reason = self._library.hipGetErrorString(status).decode()
            raise RuntimeError(f"{function}: {reason}")

    def made(self, function: str, *arguments: object) -> ctypes.c_void_p:
        """What a function gives by its first argument."""
        value = ctypes.c_void_p()
        self(function, ctypes.byref(value), *arguments)
        return value

    @staticmethod
    def _loaded() -> ctypes.CDLL:
        for name in LIBRARIES:
            with suppress(OSError):
                return ctypes.CDLL(name)
        raise RuntimeError("there is no HIP runtime: libamdhip64.so")


ROCTX = ctypes.CDLL(None)
HAS_ROCTX = hasattr(ROCTX, "roctxRangePushA")


@contextmanager
def marked(name: str) -> Iterator[None]:
    """A range of whichever roctx is loaded; without one it is nothing."""
    if HAS_ROCTX:
        ROCTX.roctxRangePushA(name.encode())
    yield
    if HAS_ROCTX:
        ROCTX.roctxRangePop()


class Worker:
    """One GPU of the tensor parallel pair."""

    _capturing = threading.Lock()  # HIP 5.2 keeps what is captured without a lock

    def __init__(self, hip: Hip, device: int, layers: int) -> None:
        self._hip, self._layers = hip, layers
        hip("hipSetDevice", device)
        self._stream = hip.made("hipStreamCreate")
        self._activations = hip.made("hipMalloc", ctypes.c_size_t(ACTIVATION_BYTES))
        self._tokens = hip.made("hipMalloc", ctypes.c_size_t(4 * BATCH))
        self._prompt = ctypes.create_string_buffer(ACTIVATION_BYTES // 4)
        self._host_tokens = ctypes.create_string_buffer(4 * BATCH)
        self._decode_graph = self._captured_decode()

    def serve(self, request: int, tokens: int) -> None:
        """Answer one request."""
        with marked(f"request {request}"):
            self._prefill()
            for step in range(tokens):
                self._decode(step)

    def _prefill(self) -> None:
        with marked("prefill"):
            self._copy(self._activations, self._prompt, len(self._prompt), TO_DEVICE)
            for layer in range(self._layers):
                with marked(f"layer {layer}"):
                    self._launch(*PREFILL_LAYER)
            self._sample()

    def _decode(self, step: int) -> None:
        with marked(f"decode {step}"):
            self._copy(self._tokens, self._host_tokens, 4 * BATCH, TO_DEVICE)
            self._hip("hipGraphLaunch", self._decode_graph, self._stream)
            self._sample()

    def _sample(self) -> None:
        with marked("sample"):
            self._launch(SAMPLING)
            self._copy(self._host_tokens, self._tokens, 4 * BATCH, TO_HOST)
            self._hip("hipStreamSynchronize", self._stream)

    def _captured_decode(self) -> ctypes.c_void_p:
        with Worker._capturing:
            self._hip("hipStreamBeginCapture", self._stream, CAPTURE_OF_THREAD)
            self._launch(*DECODE_LAYER * self._layers)
            graph = ctypes.c_void_p()
            self._hip("hipStreamEndCapture", self._stream, ctypes.byref(graph))
            return self._hip.made("hipGraphInstantiate", graph, None, None, ctypes.c_size_t(0))

    def _launch(self, *launches: Launch) -> None:
        for launch in launches:
            self._hip.launch(launch, self._stream)

    def _copy(self, to: object, source: object, size_bytes: int, direction: int) -> None:
        size = ctypes.c_size_t(size_bytes)
        self._hip("hipMemcpyAsync", to, source, size, direction, self._stream)


def main(layers: int = 8, tokens: int = 24, requests: int = 2) -> None:
    """Serve the requests on the first two GPUs, each with a thread of its own."""
    hip = Hip()
    devices = ctypes.c_int()
    hip("hipGetDeviceCount", ctypes.byref(devices))

    count = min(devices.value, 2)

    def work(device: int) -> None:
        worker = Worker(hip, device, layers)
        for request in range(requests):
            worker.serve(request, tokens)

    with ThreadPoolExecutor(count) as threads:
        list(threads.map(work, range(count)))
    print(f"{count} GPUs served {requests} requests of {tokens} tokens")


if __name__ == "__main__":
    try:
        main(*map(int, sys.argv[1:]))
    except RuntimeError as error:
        sys.exit(str(error))
