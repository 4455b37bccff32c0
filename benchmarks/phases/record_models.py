"""Records real models with ranges around prefill and decode, for `score.py`: needs PyTorch and a GPU.

    python3 benchmarks/phases/record_models.py OUT
    .venv/bin/python benchmarks/phases/score.py OUT/*.json.gz

Weights are random, shapes small; what counts are the kernels that the libraries choose.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
import transformers
from torch.nn import functional
from torch.profiler import ProfilerActivity, profile, record_function

VOCABULARY = 29_000
HF = {"vocab_size": 30_000, "num_attention_heads": 16}


def main() -> None:
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    jobs: dict[str, Callable[[], Callable[[], None]]] = {
        "llama_gqa_batch8_short": lambda: served(llama(4), 8, (96, 96), 20),
        "llama_gqa_batch64": lambda: served(llama(4), 64, (256, 256), 16),
        "llama_fp16_manual_attention": lambda: served(manual_llama(), 4, (700, 700), 24),
        "gpt2_batch1": lambda: served(gpt2(), 1, (512, 512), 40),
        "mixtral_batch4": lambda: served(mixtral(), 4, (384, 384), 12),
        "opt_batch2_fp16": lambda: served(opt(), 2, (300, 64), 25, sampled=True),
        "qwen2_fp32_batch1": lambda: served(qwen2(), 1, (1500, 200, 800), 15, sampled=True),
        "qwen2_moe_batch8": lambda: served(qwen2_moe(), 8, (256,), 10, sampled=True),
        "compiled_default": lambda: compiled("default"),
        "compiled_reduce_overhead": lambda: compiled("reduce-overhead"),
        "graphs_continuous_batching": continuous_batching,
    }
    for name, make in jobs.items():
        record(out / f"{name}.json.gz", make())
        torch.cuda.empty_cache()


def record(path: Path, run: Callable[[], None]) -> None:
    for _ in range(2):
        run()
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        run()
        torch.cuda.synchronize()
    profiler.export_chrome_trace(str(path))
    print(f"{path}: {path.stat().st_size:,} bytes", flush=True)


def served(
    model: torch.nn.Module,
    batch: int,
    prompts: Sequence[int],
    tokens: int,
    *,
    sampled: bool = False,
) -> Callable[[], None]:
    """Prompts answered one after another, each launch by itself."""

    def choose(logits: torch.Tensor) -> torch.Tensor:
        last = logits[:, -1]
        if sampled:
            return torch.multinomial(last.float().softmax(-1), 1)
        return last.argmax(-1, keepdim=True)

    @torch.inference_mode()
    def run() -> None:
        for prompt in prompts:
            ids = torch.randint(VOCABULARY, (batch, prompt), device="cuda")
            with record_function("prefill"):
                output = model(input_ids=ids, use_cache=True)
                token = choose(output.logits)
                torch.cuda.synchronize()
            for number in range(tokens):
                with record_function("decode_step"):
                    output = model(
                        input_ids=token, past_key_values=output.past_key_values, use_cache=True
                    )
                    token = choose(output.logits)
                    if sampled or number % 4 == 0:
                        torch.cuda.synchronize()
            torch.cuda.synchronize()

    return run


def on_gpu(model: torch.nn.Module, kind: torch.dtype = torch.bfloat16) -> torch.nn.Module:
    return model.to("cuda", kind).eval()


def llama(key_heads: int) -> torch.nn.Module:
    config = transformers.LlamaConfig(
        hidden_size=2048,
        intermediate_size=5632,
        num_hidden_layers=10,
        num_key_value_heads=key_heads,
        **HF,
    )
    return on_gpu(transformers.LlamaForCausalLM(config))


def manual_llama() -> torch.nn.Module:
    config = transformers.LlamaConfig(
        hidden_size=1024,
        intermediate_size=2816,
        num_hidden_layers=8,
        attn_implementation="eager",
        **HF,
    )
    return on_gpu(transformers.LlamaForCausalLM(config), torch.float16)


def gpt2() -> torch.nn.Module:
    config = transformers.GPT2Config(n_layer=12, n_embd=768, n_head=12)
    return on_gpu(transformers.GPT2LMHeadModel(config), torch.float16)


def mixtral() -> torch.nn.Module:
    config = transformers.MixtralConfig(
        hidden_size=1024,
        intermediate_size=2048,
        num_hidden_layers=6,
        num_key_value_heads=4,
        num_local_experts=8,
        **HF,
    )
    return on_gpu(transformers.MixtralForCausalLM(config))


def opt() -> torch.nn.Module:
    config = transformers.OPTConfig(
        hidden_size=1024, ffn_dim=4096, num_hidden_layers=12, word_embed_proj_dim=1024, **HF
    )
    return on_gpu(transformers.OPTForCausalLM(config), torch.float16)


def qwen2() -> torch.nn.Module:
    config = transformers.Qwen2Config(
        hidden_size=1024, intermediate_size=2816, num_hidden_layers=8, num_key_value_heads=2, **HF
    )
    return on_gpu(transformers.Qwen2ForCausalLM(config), torch.float32)


def qwen2_moe() -> torch.nn.Module:
    config = transformers.Qwen2MoeConfig(
        hidden_size=1024,
        intermediate_size=2816,
        moe_intermediate_size=704,
        shared_expert_intermediate_size=1408,
        num_hidden_layers=5,
        num_key_value_heads=4,
        num_experts=16,
        num_experts_per_tok=4,
        **HF,
    )
    return on_gpu(transformers.Qwen2MoeForCausalLM(config))


class Layer(torch.nn.Module):
    """Attention over given keys and values, or over its own; then a gated block."""

    def __init__(self, width: int = 1024, heads: int = 16) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = torch.nn.Linear(width, 3 * width, bias=False)
        self.out = torch.nn.Linear(width, width, bias=False)
        self.up = torch.nn.Linear(width, 8 * width, bias=False)
        self.down = torch.nn.Linear(4 * width, width, bias=False)
        self.norms = torch.nn.ModuleList(torch.nn.RMSNorm(width) for _ in range(2))

    def forward(self, x: torch.Tensor, cache: torch.Tensor | None) -> torch.Tensor:
        batch, tokens, width = x.shape
        parts = self.qkv(self.norms[0](x)).view(batch, tokens, 3, self.heads, -1)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        seen = functional.scaled_dot_product_attention(
            query,
            key if cache is None else cache,
            value if cache is None else cache,
            is_causal=cache is None,
        )
        x = x + self.out(seen.transpose(1, 2).reshape(batch, tokens, width))
        gate, up = self.up(self.norms[1](x)).chunk(2, -1)
        return x + self.down(functional.silu(gate) * up)


class Model(torch.nn.Module):
    def __init__(self, layers: int) -> None:
        super().__init__()
        self.embedding = torch.nn.Embedding(30_000, 1024)
        self.layers = torch.nn.ModuleList(Layer() for _ in range(layers))
        self.head = torch.nn.Linear(1024, 30_000, bias=False)

    def forward(self, ids: torch.Tensor, cache: torch.Tensor | None = None) -> torch.Tensor:
        x = self.embedding(ids)
        for layer in self.layers:
            x = layer(x, cache)
        return self.head(x[:, -1]).argmax(-1)


def compiled(mode: str) -> Callable[[], None]:
    """Kernels that Triton generates; reduce-overhead replays decode as graphs."""
    model = on_gpu(Model(6))
    prefill = torch.compile(model, dynamic=False)
    decode = torch.compile(model, mode=mode, dynamic=False)
    cache = torch.randn(16, 16, 600, 64, device="cuda", dtype=torch.bfloat16)
    token = torch.zeros(16, 1, dtype=torch.long, device="cuda")

    @torch.inference_mode()
    def run() -> None:
        for _ in range(3):
            with record_function("prefill"):
                prefill(torch.randint(VOCABULARY, (1, 768), device="cuda"))
                torch.cuda.synchronize()
            with record_function("decode"):
                for _ in range(25):
                    decode(token, cache)
                torch.cuda.synchronize()

    return run


def continuous_batching() -> Callable[[], None]:
    """Decode graphs of several batch sizes; prompts of any length come in between."""
    model = on_gpu(Model(8))
    graphs, kept = {}, []
    with torch.inference_mode():
        for batch in (1, 2, 4, 8, 16, 32):
            ids = torch.zeros(batch, 1, dtype=torch.long, device="cuda")
            cache = torch.randn(batch, 16, 1024, 64, device="cuda", dtype=torch.bfloat16)
            kept.append((ids, cache))
            stream = torch.cuda.Stream()
            with torch.cuda.stream(stream):
                for _ in range(2):
                    model(ids, cache)
            torch.cuda.synchronize()
            graphs[batch] = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graphs[batch]):
                model(ids, cache)

    @torch.inference_mode()
    def run() -> None:
        draw, waiting = random.Random(5), 0
        for _ in range(14):
            with record_function("prefill"):
                tokens = draw.choice((120, 400, 900, 2000))
                model(torch.randint(VOCABULARY, (1, tokens), device="cuda"))
                torch.cuda.synchronize()
            waiting = min(32, waiting + draw.randint(1, 4))
            graph = graphs[min(size for size in graphs if size >= waiting)]
            with record_function("decode"):
                for _ in range(draw.randint(2, 9)):
                    graph.replay()
                torch.cuda.synchronize()

    run.kept = kept  # the graphs refer to their inputs by address
    return run


if __name__ == "__main__":
    main()
