"""A decoder language model of real shape, with random weights: prefill and decode with NVTX phases.

    wavescope trace -o decoder.db -- python3 benchmarks/nvidia/decoder.py --labels labels.json

Each request is a prefill of a batch of prompts and some decode steps, run as single launches
(`eager`) or as replays of one CUDA graph (`graph`). The GPU is waited for before and after each
phase, so that `--labels` tells by times of the host (CLOCK_BOOTTIME) which kernel is of which phase.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

os.environ.setdefault("HF_HUB_OFFLINE", "1")


@dataclass(frozen=True)
class Shape:
    """A model's sizes; parameters and memory follow from them."""

    family: str
    hidden: int
    intermediate: int
    layers: int
    heads: int
    key_heads: int
    vocabulary: int


SHAPES = {
    "llama-1b": Shape("llama", 2048, 8192, 16, 32, 8, 128256),
    "llama-3b": Shape("llama", 3072, 8192, 28, 24, 8, 128256),
    "qwen2-1.5b": Shape("qwen2", 1536, 8960, 28, 12, 2, 151936),
    "tiny": Shape("llama", 64, 128, 2, 4, 2, 256),
}


def now_ns() -> int:
    """The time that recordings use for the host."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def random_model(shape: Shape, device: str, positions: int) -> Any:
    """A causal language model of transformers with random weights in bfloat16."""
    from transformers import AutoConfig, AutoModelForCausalLM

    config = AutoConfig.for_model(
        shape.family,
        hidden_size=shape.hidden,
        intermediate_size=shape.intermediate,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.key_heads,
        vocab_size=shape.vocabulary,
        max_position_embeddings=max(positions, 2048),
        tie_word_embeddings=True,
    )
    with torch.device(device):
        model = AutoModelForCausalLM.from_config(
            config, dtype=torch.bfloat16, attn_implementation="sdpa"
        )
    return model.to(device).eval()


class Decoder:
    """A model with a static KV cache for `batch` sequences of `prompt` + `room` tokens."""

    def __init__(self, shape: Shape, batch: int, prompt: int, room: int, device: str) -> None:
        from transformers import StaticCache

        torch.manual_seed(0)
        length = prompt + room
        self.device, self.prompt, self.room = device, prompt, room
        self.model = random_model(shape, device, length)
        self.cache = StaticCache(config=self.model.config, max_cache_len=length)
        self.prompts = torch.randint(0, shape.vocabulary, (batch, prompt), device=device)
        self.tokens = torch.zeros((batch, 1), dtype=torch.long, device=device)
        self.position = torch.full((1, 1), prompt, dtype=torch.long, device=device)
        self.slots = torch.arange(length, device=device)
        self.graph: Any = None

    def synchronize(self) -> None:
        if self.device == "cuda":
            torch.cuda.synchronize()

    def rewind(self) -> None:
        """The next decode step is the first after the prompt."""
        self.position.fill_(self.prompt)
        for layer in self.cache.layers:
            layer.cumulative_length.fill_(self.prompt)

    def prefill(self) -> None:
        """Fill the cache with the prompts, and take the first token."""
        for layer in self.cache.layers:
            layer.cumulative_length.fill_(0)
        positions = self.slots[: self.prompt].unsqueeze(0)
        mask = self.slots[None, :] <= self.slots[: self.prompt, None]
        self._take(self.prompts, positions, mask[None, None])
        self.rewind()

    def step(self) -> None:
        """One token for each sequence, by launches."""
        mask = self.slots[None, :] <= self.position
        self._take(self.tokens, self.position, mask[None, None])
        self.position.add_(1)

    def replay(self) -> None:
        """One token for each sequence, by the graph."""
        self.graph.replay()

    def _take(self, tokens: Any, positions: Any, mask: Any) -> None:
        output = self.model(
            input_ids=tokens,
            position_ids=positions.expand(tokens.shape[0], -1),
            attention_mask=mask.expand(tokens.shape[0], -1, -1, -1),
            past_key_values=self.cache,
            use_cache=True,
            logits_to_keep=1,
        )
        self.tokens.copy_(output.logits[:, -1].argmax(dim=-1, keepdim=True))

    def capture(self) -> None:
        """Make the graph of a decode step."""
        self.rewind()
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(2):
                self.step()
        torch.cuda.current_stream().wait_stream(stream)
        self.rewind()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.step()
        self.rewind()

    def nvtx(self, name: str) -> Any:
        return torch.cuda.nvtx.range(name) if self.device == "cuda" else nullcontext()


class Labels:
    """Which phase ran when, by the host's clock."""

    def __init__(self, decoder: Decoder) -> None:
        self.decoder = decoder
        self.rows: list[dict[str, Any]] = []

    @contextmanager
    def phase(self, name: str, **facts: Any) -> Iterator[None]:
        self.decoder.synchronize()
        start_ns = now_ns()
        with self.decoder.nvtx(name):
            yield
            self.decoder.synchronize()
        self.rows.append({"phase": name, "start_ns": start_ns, "end_ns": now_ns(), **facts})


def serve(decoder: Decoder, labels: Labels, how: str, steps: int) -> None:
    """One request: prefill, then decode steps."""
    advance = decoder.replay if how == "graph" else decoder.step
    with labels.phase("prefill", how="eager", steps=1):
        decoder.prefill()
    with labels.phase("decode", how=how, steps=steps):
        for number in range(steps):
            with decoder.nvtx(f"step {number}"):
                advance()


@contextmanager
def profiled(path: Path | None) -> Iterator[None]:
    """Under torch.profiler, whose trace is written to `path`; or not at all."""
    if path is None:
        yield
        return
    from torch.profiler import ProfilerActivity, profile

    activity = ProfilerActivity.CUDA if torch.cuda.is_available() else ProfilerActivity.CPU
    with profile(activities=[activity]) as profiler:
        yield
    profiler.export_chrome_trace(str(path))


def add_model_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", choices=SHAPES, default="llama-1b")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--prompt", type=int, default=512, help="tokens of each prompt")
    parser.add_argument("--steps", type=int, default=64, help="decode steps of a request")
    parser.add_argument("--device", default="cuda")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_model_options(parser)
    parser.add_argument("--how", choices=("eager", "graph", "both"), default="both")
    parser.add_argument("--requests", type=int, default=4, help="of each kind")
    parser.add_argument("--labels", type=Path, help="JSON to write: which phase ran when")
    parser.add_argument("--torch-profiler", type=Path, metavar="FILE")
    options = parser.parse_args()
    began_s = time.monotonic()
    with torch.no_grad():
        decoder = Decoder(
            SHAPES[options.model], options.batch, options.prompt, options.steps, options.device
        )
        kinds = ("eager", "graph") if options.how == "both" else (options.how,)
        with decoder.nvtx("warm-up"):
            decoder.prefill()
            for _ in range(min(3, options.steps)):
                decoder.step()
            if "graph" in kinds:
                decoder.capture()
                decoder.replay()
            decoder.synchronize()
        labels = Labels(decoder)
        ready_s = time.monotonic()
        # Pauses keep the first and last kernel away from the range's ends, however clocks differ.
        with profiled(options.torch_profiler):
            decoder.synchronize()
            with decoder.nvtx("measured"):
                time.sleep(0.005)
                measured_ns = now_ns()
                for how in kinds:
                    for _ in range(options.requests):
                        serve(decoder, labels, how, options.steps)
                decoder.synchronize()
                measured_end_ns = now_ns()
                time.sleep(0.005)
    facts = {
        "model": options.model,
        "parameters": sum(p.numel() for p in decoder.model.parameters()),
        "measured_ns": [measured_ns, measured_end_ns],
        "setup_s": round(ready_s - began_s, 2),
        "labels": labels.rows,
    }
    if options.labels:
        options.labels.write_text(json.dumps(facts))
    wall_s = (measured_end_ns - measured_ns) / 1e9
    print(
        f"{options.model}: {facts['parameters'] / 1e9:.2f} B parameters, {len(labels.rows)} phases "
        f"in {wall_s:.3f} s, set up in {facts['setup_s']} s"
    )


if __name__ == "__main__":
    main()
