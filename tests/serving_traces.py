"""Generated traces of LLM servers with the true phase of every op: several ways of serving.

Kernels run back to back on a queue with small gaps; the host pauses between steps. `Server` says
what the kernels are called and how large they are launched; the functions below say in which order
steps run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from tests.builders import a_trace
from wavescope.model.columns import OPS
from wavescope.model.op_kinds import KERNEL_TYPE
from wavescope.model.trace import Trace

PREFILL, DECODE, SHARED, COMMUNICATION = "prefill", "decode", "shared", "communication"


@dataclass(frozen=True)
class Layer:
    """Kernel names of one layer for a number of tokens; `{tile}` depends on them."""

    norm: str
    gemms: tuple[str, ...]
    attention: Callable[[bool], str]
    activation: str
    collective: str = ""


VLLM_ROCM = Layer(
    norm="void vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(c10::BFloat16*)",
    gemms=(
        "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT{tile}_MI16x16x1_SN_LDSB1_a",
        "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT{tile}_MI16x16x1_SN_LDSB1_b",
    ),
    attention=lambda prefill: (
        "_fwd_kernel_extend_attention"
        if prefill
        else "void paged_attention_ll4mi_QKV_mfma16_kernel<__hip_bfloat16>(int)"
    ),
    activation="void vllm::act_and_mul_kernel<c10::BFloat16>(c10::BFloat16*)",
)
"""Names say much."""
PLAIN_TORCH = Layer(
    norm="void at::native::vectorized_layer_norm_kernel<c10::BFloat16, float>(int)",
    gemms=("sm90_xmma_gemm_bf16_tn_n_tilesize{tile}x64_warp", "gemm_second_{tile}_64x4_tn"),
    attention=lambda prefill: "void pytorch_flash::flash_fwd_kernel<traits>(params)",
    activation="void at::native::vectorized_elementwise_kernel<8, silu>(int)",
)
"""Only tiles differ between the phases."""
HOME_MADE = Layer(
    norm="rows_to_unit_length",
    gemms=("multiply_first", "multiply_second"),
    attention=lambda prefill: "my_attention",
    activation="bend",
)
"""Names say nothing: only launch sizes and repetition do."""


def tensor_parallel(layer: Layer) -> Layer:
    """The same layer on several GPUs."""
    return Layer(
        layer.norm,
        layer.gemms,
        layer.attention,
        layer.activation,
        collective="ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    )


@dataclass
class Server:
    """Lays ops on one GPU's queue and writes down what they are."""

    layer: Layer
    layers: int = 12
    gpu: int = 0
    seed: int = 1
    knows_sizes: bool = True
    ends_by_name: bool = True
    sampling_kernels: int = 0
    """Kernels after each step whose size depends on nothing."""
    now_ns: int = 1_000_000
    rows: list[dict[str, int | str]] = field(default_factory=list)
    truth: list[str] = field(default_factory=list)
    step_starts_ns: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._rng = np.random.default_rng(self.seed)
        self._correlation = 1_000

    def step(
        self, tokens: int, phase: str, *, graph: bool = False, extra: str = "", pause_ns: int = 0
    ) -> None:
        """One forward pass over `tokens` tokens."""
        if phase == SHARED and self.layer.attention(True) == self.layer.attention(False):
            phase = PREFILL
        self.now_ns += 40_000 + pause_ns
        self._correlation += 1
        first = len(self.rows)
        self._op("token_embedding_kernel", tokens, phase, 1.0, graph)
        for _ in range(self.layers):
            self._layer(tokens, phase, graph)
        if extra:
            self._op(extra, 32, phase, 1.0, graph)
        self._op(self._tiled("lm_head_gemm_{tile}_64x4_tn", tokens), tokens, phase, 8.0, graph)
        for number in range(self.sampling_kernels):
            self._op(f"filter_logits_{number}", 32, phase, 0.4, graph)
        last = "argmax_of_logits" if self.ends_by_name else "pick_one"
        self._op(last, 32, phase, 1.0, graph)
        self.step_starts_ns.append(int(self.rows[first]["start_ns"]))

    def _layer(self, tokens: int, phase: str, graph: bool) -> None:
        layer = self.layer
        self._op(layer.norm, tokens, phase, 0.5, graph)
        self._op(self._tiled(layer.gemms[0], tokens), tokens, phase, 6.0, graph)
        if phase == SHARED:
            self._op(layer.attention(True), tokens, PREFILL, 4.0, graph)
            self._op(layer.attention(False), 32, DECODE, 2.0, graph)
        else:
            self._op(layer.attention(phase == PREFILL), tokens, phase, 4.0, graph)
        if layer.collective:
            self._op(layer.collective, 32, COMMUNICATION, 2.0, graph)
        self._op(layer.norm, tokens, phase, 0.5, graph)
        self._op(self._tiled(layer.gemms[1], tokens), tokens, phase, 9.0, graph)
        self._op(layer.activation, tokens, phase, 0.7, graph)

    def _tiled(self, name: str, tokens: int) -> str:
        side = 16 if tokens <= 16 else 32 if tokens <= 64 else 128 if tokens <= 512 else 256
        return name.format(tile=f"256x{side}x64" if "MT" in name else f"256x{side}")

    def _op(self, name: str, tokens: int, phase: str, cost: float, graph: bool) -> None:
        duration_ns = cost * (2_500 + 40 * tokens) * self._rng.normal(1.0, 0.04)
        start_ns = self.now_ns
        self.now_ns += max(500, int(duration_ns))
        if not graph:
            self._correlation += 1
        sizes = {"grid_x": tokens * 256, "workgroup_x": 256} if self.knows_sizes else {}
        self.rows.append(
            {
                "gpu": self.gpu,
                "queue": 1 if phase == COMMUNICATION else 0,
                "name": name,
                "start_ns": start_ns,
                "end_ns": self.now_ns,
                "correlation": self._correlation if self.knows_sizes else -1,
                **sizes,
            }
        )
        self.truth.append(phase)
        self.now_ns += int(self._rng.integers(300, 900))


@dataclass(frozen=True)
class Labelled:
    """A trace and the true phase of each of its ops."""

    trace: Trace
    truth: list[str]
    servers: tuple[Server, ...]


def labelled(*servers: Server) -> Labelled:
    """The ops of all servers in one trace, in order of start."""
    pairs = [pair for server in servers for pair in zip(server.rows, server.truth, strict=True)]
    pairs.sort(key=lambda pair: int(pair[0]["start_ns"]))
    maker = a_trace()
    strings = maker.builder.strings
    names = ("gpu", "queue", "name", "start_ns", "end_ns", "correlation", "grid_x", "workgroup_x")
    columns = {
        name: np.array(
            [
                strings.code(value) if isinstance(value, str) else value
                for value in (row.get(name, -1) for row, _ in pairs)
            ],
            np.int64,
        )
        for name in names
    }
    columns["type"] = np.full(len(pairs), strings.code(KERNEL_TYPE))
    columns["process"] = np.zeros(len(pairs), np.int64)
    maker.builder.add(OPS, columns)
    return Labelled(maker.build(), [truth for _, truth in pairs], servers)


def eager_decode(layer: Layer, **options: int | bool) -> Labelled:
    """Three prompts one after another, every kernel launched by itself."""
    server = Server(layer, **options)  # type: ignore[arg-type]
    for prompt_tokens in (700, 1500, 333):
        server.step(prompt_tokens, PREFILL)
        for _ in range(20):
            server.step(1, DECODE)
    return labelled(server)


def short_prompts(layer: Layer, **options: int | bool) -> Labelled:
    """Prompts of a few dozen tokens, much sampling, three requests at a time."""
    server = Server(layer, sampling_kernels=20, **options)  # type: ignore[arg-type]
    for prompt_tokens in (300, 96, 80, 144):
        server.step(prompt_tokens, PREFILL)
        for _ in range(15):
            server.step(3, DECODE)
    return labelled(server)


def graph_decode(layer: Layer, **options: int | bool) -> Labelled:
    """Decode steps replayed from a graph; the first requests of a batch come one by one."""
    server = Server(layer, **options)  # type: ignore[arg-type]
    for prompt_tokens in (2048, 512, 4096, 1024):
        server.step(prompt_tokens, PREFILL)
        server.step(prompt_tokens // 2, PREFILL)
        for _ in range(30):
            server.step(32, DECODE, graph=True)
    return labelled(server)


def continuous_batching(layer: Layer, **options: int | bool) -> Labelled:
    """Requests join and leave: decode steps of all batch sizes, prompts in between at any time."""
    server = Server(layer, **options)  # type: ignore[arg-type]
    rng = np.random.default_rng(3)
    batch = 1
    for _ in range(40):
        server.step(int(rng.integers(400, 3000)), PREFILL)
        batch = min(64, batch + 1 + int(rng.integers(0, 3)))
        for _ in range(int(rng.integers(2, 12))):
            server.step(batch, DECODE, graph=True)
    return labelled(server)


def jittered_decode(layer: Layer, **options: int | bool) -> Labelled:
    """Every seventh step has a kernel more, as when a cache block is allocated."""
    server = Server(layer, **options)  # type: ignore[arg-type]
    for _ in range(2):
        server.step(1024, PREFILL)
        for number in range(63):
            server.step(8, DECODE, extra="allocate_block" if number % 7 == 3 else "")
    return labelled(server)


def chunked_prefill(layer: Layer, **options: int | bool) -> Labelled:
    """Chunks of prompts share a batch with single tokens, until only those are left.

    Where one attention kernel serves both, such a step is a prefill step: nothing tells them apart.
    """
    server = Server(layer, **options)  # type: ignore[arg-type]
    for _ in range(3):
        server.step(512, PREFILL)
        for _ in range(6):
            server.step(544, SHARED)
        for _ in range(40):
            server.step(32, DECODE)
    return labelled(server)


def tensor_parallel_decode(layer: Layer, **options: int | bool) -> Labelled:
    """Four GPUs share every layer; collectives are on a queue of their own."""
    servers = [
        Server(tensor_parallel(layer), gpu=gpu, seed=gpu + 1, **options)  # type: ignore[arg-type]
        for gpu in range(4)
    ]
    for server in servers:
        for _ in range(3):
            server.step(1500, PREFILL)
            for _ in range(25):
                server.step(16, DECODE, graph=True)
    return labelled(*servers)


def apart(layer: Layer, **options: int | bool) -> Labelled:
    """One GPU does nothing but prefill, the other nothing but decode."""
    prompts = Server(layer, gpu=0, **options)  # type: ignore[arg-type]
    tokens = Server(layer, gpu=1, **options)  # type: ignore[arg-type]
    for number in range(12):
        prompts.step(2048, PREFILL, pause_ns=1000 * number)
    for _ in range(80):
        tokens.step(24, DECODE, graph=True)
    return labelled(prompts, tokens)


WAYS_OF_SERVING = (
    eager_decode,
    short_prompts,
    graph_decode,
    continuous_batching,
    jittered_decode,
    chunked_prefill,
    tensor_parallel_decode,
    apart,
)
LAYERS = {"vllm_rocm": VLLM_ROCM, "plain_torch": PLAIN_TORCH, "home_made": HOME_MADE}
