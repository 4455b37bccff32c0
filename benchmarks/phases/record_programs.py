"""Records programs that are hard to tell from language models, and language models in odd orders.

    python3 benchmarks/phases/record_programs.py OUT            # needs PyTorch, transformers and a GPU
    python3 benchmarks/phases/record_programs.py OUT none_vit   # only some of the programs

Files that begin with `none_` are of programs that serve no language model: a claim of prefill or
decode is wrong there. The others have ranges `prefill`, `decode` and `mixed` around each pass, which
`score.py` takes for the truth and drops before it looks. `OUT/labels.json` has the number of steps.
"""

from __future__ import annotations

import gzip
import json
import shutil
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

import torch
import transformers
from torch import nn
from torch.nn import functional
from torch.profiler import ProfilerActivity, profile, record_function

Program = Callable[[], int]
"""Runs once and gives the number of its steps: passes of the model, or iterations."""

HF = {"vocab_size": 30_000, "num_attention_heads": 16}


def main() -> None:
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(1)
    labels: dict[str, int] = {}
    wanted = sys.argv[2:]
    for make in PROGRAMS:
        if wanted and make.__name__ not in wanted:
            continue
        try:
            with torch.device("cuda"):
                run = make()
            labels[make.__name__] = record(out / f"{make.__name__}.json.gz", run)
        except Exception:  # noqa: BLE001  one program less is no reason to lose the others
            print(f"{make.__name__} failed\n{traceback.format_exc(limit=3)}", flush=True)
        torch.cuda.empty_cache()
    (out / "labels.json").write_text(json.dumps(labels, indent=1))


def record(path: Path, run: Program) -> int:
    for _ in range(2):
        run()
    torch.cuda.synchronize()
    stacks = "stack" in path.name
    with profile(
        activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA],
        record_shapes=True,
        with_stack=stacks,
    ) as profiler:
        steps = run()
        torch.cuda.synchronize()
    plain = path.with_suffix("")
    profiler.export_chrome_trace(str(plain))
    with plain.open("rb") as source, gzip.open(path, "wb", compresslevel=6) as target:
        shutil.copyfileobj(source, target)
    plain.unlink()
    print(f"{path.name}: {path.stat().st_size:,} bytes, {steps} steps", flush=True)
    return steps


def on_gpu(model: nn.Module, kind: torch.dtype = torch.bfloat16) -> nn.Module:
    return model.to("cuda", kind).eval()


# Language models.


def llama(layers: int = 8, **more: object) -> nn.Module:
    config = transformers.LlamaConfig(
        hidden_size=1024,
        intermediate_size=2816,
        num_hidden_layers=layers,
        num_key_value_heads=4,
        **HF,
        **more,
    )
    return on_gpu(transformers.LlamaForCausalLM(config))


class Server:
    """A model with the state of one request."""

    def __init__(self, model: nn.Module, batch: int = 4) -> None:
        self.model, self.batch = model, batch
        self.passes = 0

    @torch.inference_mode()
    def prefill(self, tokens: int, past: object = None) -> None:
        ids = torch.randint(29_000, (self.batch, tokens), device="cuda")
        with record_function("prefill"):
            self._forward(ids, past)

    @torch.inference_mode()
    def decode(self, count: int = 1) -> None:
        for _ in range(count):
            with record_function("decode"):
                self._forward(self.token, self.past)

    def _forward(self, ids: torch.Tensor, past: object) -> None:
        output = self.model(input_ids=ids, past_key_values=past, use_cache=True)
        self.past = output.past_key_values
        self.token = output.logits[:, -1].argmax(-1, keepdim=True)
        torch.cuda.synchronize()
        self.passes += 1


def llama_alternating() -> Program:
    model = llama()

    def run() -> int:
        server = Server(model)
        for _ in range(8):
            server.prefill(600)
            server.decode()
        return server.passes

    return run


def llama_one_prefill() -> Program:
    model = llama(attn_implementation="eager")

    def run() -> int:
        server = Server(model)
        server.prefill(800)
        return server.passes

    return run


def llama_two_prefills() -> Program:
    model = llama()

    def run() -> int:
        server = Server(model, 1)
        server.prefill(1500)
        server.prefill(700)
        return server.passes

    return run


def llama_only_decode() -> Program:
    model = llama()
    server = Server(model, 8)
    server.prefill(300)

    def run() -> int:
        before = server.passes
        server.decode(20)
        return server.passes - before

    return run


def llama_one_decode() -> Program:
    model = llama()
    server = Server(model, 8)
    server.prefill(300)

    def run() -> int:
        before = server.passes
        server.decode(1)
        return server.passes - before

    return run


def llama_long_chunks() -> Program:
    """A long prompt in pieces of 512, decode steps of another request in between."""
    model = llama()

    def run() -> int:
        long, other = Server(model, 1), Server(model, 8)
        other.prefill(200)
        long.prefill(512)
        for _ in range(6):
            other.decode(2)
            long.prefill(512, long.past)
        return long.passes + other.passes

    return run


def qwen_requests_sampled() -> Program:
    config = transformers.Qwen2Config(
        hidden_size=1024, intermediate_size=2816, num_hidden_layers=8, num_key_value_heads=2, **HF
    )
    model = on_gpu(transformers.Qwen2ForCausalLM(config))

    @torch.inference_mode()
    def run() -> int:
        passes = 0
        for prompt in (900, 90, 400):
            ids, past = torch.randint(29_000, (2, prompt), device="cuda"), None
            for number in range(16):
                with record_function("decode" if number else "prefill"):
                    output = model(input_ids=ids, past_key_values=past, use_cache=True)
                    past = output.past_key_values
                    scores = output.logits[:, -1].float() / 0.8
                    kept = torch.topk(scores, 50).values[:, -1:]
                    scores = scores.masked_fill(scores < kept, float("-inf"))
                    ids = torch.multinomial(scores.softmax(-1), 1)
                passes += 1
        torch.cuda.synchronize()
        return passes

    return run


def gpt2_stack_generate() -> Program:
    config = transformers.GPT2Config(n_layer=8, n_embd=768, n_head=12)
    model = on_gpu(transformers.GPT2LMHeadModel(config), torch.float16)
    counted = _labelled(model)

    @torch.inference_mode()
    def run() -> int:
        before = counted["passes"]
        ids = torch.randint(29_000, (1, 300), device="cuda")
        model.generate(ids, max_new_tokens=12, min_new_tokens=12, do_sample=False, pad_token_id=0)
        return counted["passes"] - before

    return run


def _labelled(model: nn.Module) -> dict[str, int]:
    """Puts a range around each pass of the model: prefill where it is given several tokens."""
    forward, counted = model.forward, {"passes": 0}

    def labelled(*positional: object, **named: object) -> object:
        ids = named.get("input_ids", positional[0] if positional else None)
        counted["passes"] += 1
        with record_function("decode" if ids is not None and ids.shape[-1] == 1 else "prefill"):
            return forward(*positional, **named)

    model.forward = labelled
    return counted


def gpt_neox_rotary() -> Program:
    config = transformers.GPTNeoXConfig(
        hidden_size=1024, intermediate_size=4096, num_hidden_layers=6, **HF
    )
    model = on_gpu(transformers.GPTNeoXForCausalLM(config))

    def run() -> int:
        server = Server(model, 2)
        server.prefill(1000)
        server.decode(14)
        return server.passes

    return run


# Programs that serve no language model.


def none_bert_encoder() -> Program:
    config = transformers.BertConfig(hidden_size=1024, num_hidden_layers=10, **HF)
    return _encoder(on_gpu(transformers.BertModel(config)), 16, 256, 8)


def none_modern_bert_rotary() -> Program:
    config = transformers.ModernBertConfig(
        hidden_size=768, num_hidden_layers=8, intermediate_size=1152
    )
    return _encoder(on_gpu(transformers.ModernBertModel(config)), 8, 512, 6)


def _encoder(model: nn.Module, batch: int, tokens: int, steps: int) -> Program:
    @torch.inference_mode()
    def run() -> int:
        for _ in range(steps):
            ids = torch.randint(29_000, (batch, tokens), device="cuda")
            model(input_ids=ids).last_hidden_state.mean(1).cpu()
        return steps

    return run


def none_vit() -> Program:
    config = transformers.ViTConfig(hidden_size=1024, num_hidden_layers=12, num_attention_heads=16)
    model = on_gpu(transformers.ViTForImageClassification(config))
    return _images(lambda images: model(pixel_values=images).logits.argmax(-1).cpu(), 16, 6)


def none_clip() -> Program:
    model = on_gpu(transformers.CLIPModel(transformers.CLIPConfig()), torch.float16)

    def look(images: torch.Tensor) -> None:
        ids = torch.randint(49_000, (16, 77), device="cuda")
        model(pixel_values=images.half(), input_ids=ids).logits_per_image.softmax(-1).cpu()

    return _images(look, 16, 5)


def none_swin() -> Program:
    model = on_gpu(transformers.SwinModel(transformers.SwinConfig()))
    return _images(lambda images: model(pixel_values=images).pooler_output.cpu(), 16, 5)


def _images(look: Callable[[torch.Tensor], object], batch: int, steps: int) -> Program:
    @torch.inference_mode()
    def run() -> int:
        for _ in range(steps):
            images = torch.rand(batch, 3, 224, 224, device="cuda", dtype=torch.bfloat16)
            look(images)
            torch.cuda.synchronize()
        return steps

    return run


class DenoisingBlock(nn.Module):
    """Self-attention, cross-attention to a text and a gated block, shifted by the time step."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList(nn.RMSNorm(width) for _ in range(3))
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.query, self.context = nn.Linear(width, width), nn.Linear(width, 2 * width)
        self.up, self.down = nn.Linear(width, 8 * width), nn.Linear(4 * width, width)
        self.shift = nn.Linear(width, 2 * width)

    def forward(self, x: torch.Tensor, text: torch.Tensor, time: torch.Tensor) -> torch.Tensor:
        shift, scale = self.shift(functional.silu(time)).unsqueeze(1).chunk(2, -1)
        x = x + self.out(
            self._attended(*self.qkv(self.norms[0](x) * (1 + scale) + shift).chunk(3, -1))
        )
        x = x + self._attended(self.query(self.norms[1](x)), *self.context(text).chunk(2, -1))
        gate, up = self.up(self.norms[2](x)).chunk(2, -1)
        return x + self.down(functional.silu(gate) * up)

    def _attended(self, *parts: torch.Tensor) -> torch.Tensor:
        split = [part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in parts]
        return functional.scaled_dot_product_attention(*split).transpose(1, 2).flatten(2)


class Denoiser(nn.Module):
    """Patches are projected by a matrix, positions are rotary: no convolution anywhere."""

    def __init__(self, width: int = 1024, layers: int = 8) -> None:
        super().__init__()
        self.patches = nn.Linear(64, width)
        self.words = nn.Embedding(30_000, width)
        self.time = nn.Linear(256, width)
        self.blocks = nn.ModuleList(DenoisingBlock(width, 16) for _ in range(layers))
        self.last = nn.Linear(width, 64)

    def forward(self, noise: torch.Tensor, text: torch.Tensor, step: torch.Tensor) -> torch.Tensor:
        angles = step[:, None] * torch.exp(torch.arange(128, device="cuda") * -0.07)
        time = self.time(torch.cat([angles.cos(), angles.sin()], -1).to(noise.dtype))
        x = self.patches(noise)
        for block in self.blocks:
            x = block(x, text, time)
        return self.last(x)


def none_diffusion_transformer() -> Program:
    model = on_gpu(Denoiser())

    @torch.inference_mode()
    def run() -> int:
        ids = torch.randint(29_000, (2, 77), device="cuda")
        text = model.words(ids)
        noise = torch.randn(2, 1024, 64, device="cuda", dtype=torch.bfloat16)
        for step in range(12, 0, -1):
            noise = noise - 0.1 * model(noise, text, torch.full((2,), float(step), device="cuda"))
        noise.cpu()
        return 12

    return run


def none_diffusion_graph() -> Program:
    """The same, each step the replay of a graph."""
    model = on_gpu(Denoiser(layers=6))
    noise = torch.randn(1, 1024, 64, device="cuda", dtype=torch.bfloat16)
    step = torch.ones(1, device="cuda")
    with torch.inference_mode():
        text = model.words(torch.randint(29_000, (1, 77), device="cuda"))
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            for _ in range(2):
                model(noise, text, step)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            noise.sub_(0.1 * model(noise, text, step))

    def run() -> int:
        for number in range(20):
            step.fill_(20.0 - number)
            graph.replay()
        torch.cuda.synchronize()
        return 20

    return run


class Residual(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.block = nn.Sequential(
            nn.GroupNorm(8, width), nn.SiLU(), nn.Conv2d(width, width, 3, padding=1)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.block(x)


def none_unet_diffusion() -> Program:
    net = on_gpu(
        nn.Sequential(
            nn.Conv2d(4, 256, 3, padding=1),
            *(Residual(256) for _ in range(6)),
            nn.Conv2d(256, 512, 3, 2, 1),
            *(Residual(512) for _ in range(6)),
            nn.Upsample(scale_factor=2),
            nn.Conv2d(512, 4, 3, padding=1),
        ),
        torch.float16,
    )

    @torch.inference_mode()
    def run() -> int:
        noise = torch.randn(4, 4, 64, 64, device="cuda", dtype=torch.float16)
        for _ in range(15):
            noise = noise - 0.1 * net(noise)
        noise.cpu()
        return 15

    return run


def none_llama_training() -> Program:
    config = transformers.LlamaConfig(
        hidden_size=768, intermediate_size=2048, num_hidden_layers=6, num_key_value_heads=4, **HF
    )
    model = transformers.LlamaForCausalLM(config).to("cuda", torch.bfloat16).train()
    return _training(model, lambda: torch.randint(29_000, (4, 512), device="cuda"), 4)


def none_bert_training() -> Program:
    config = transformers.BertConfig(hidden_size=768, num_hidden_layers=6, num_attention_heads=12)
    model = transformers.BertForMaskedLM(config).to("cuda", torch.bfloat16).train()
    return _training(model, lambda: torch.randint(29_000, (8, 256), device="cuda"), 4)


def _training(model: nn.Module, batch: Callable[[], torch.Tensor], steps: int) -> Program:
    optimizer = torch.optim.AdamW(model.parameters(), 1e-5)

    def run() -> int:
        for _ in range(steps):
            ids = batch()
            loss = model(input_ids=ids, labels=ids).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
        torch.cuda.synchronize()
        return steps

    return run


def none_resnet_training() -> Program:
    import torchvision

    model = torchvision.models.resnet50().cuda()
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)

    def run() -> int:
        for _ in range(4):
            images = torch.rand(32, 3, 224, 224, device="cuda")
            with torch.autocast("cuda", torch.bfloat16):
                loss = functional.cross_entropy(
                    model(images), torch.randint(1000, (32,), device="cuda")
                )
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        torch.cuda.synchronize()
        return 4

    return run


def none_recommender() -> Program:
    tables = nn.ModuleList(nn.EmbeddingBag(100_000, 128, mode="sum") for _ in range(12)).cuda()
    dense = nn.Sequential(
        nn.Linear(13 * 128, 1024), nn.ReLU(), nn.Linear(1024, 512), nn.ReLU(), nn.Linear(512, 1)
    ).cuda()

    @torch.inference_mode()
    def run() -> int:
        for _ in range(10):
            bags = [table(torch.randint(100_000, (2048, 20), device="cuda")) for table in tables]
            features = torch.cat([*bags, torch.rand(2048, 128, device="cuda")], 1)
            dense(features).sigmoid().topk(10, dim=0).indices.cpu()
        return 10

    return run


def none_lstm() -> Program:
    model = nn.LSTM(512, 1024, 3, batch_first=True).cuda().half()

    @torch.inference_mode()
    def run() -> int:
        for _ in range(6):
            model(torch.rand(32, 200, 512, device="cuda").half())[0].cpu()
        return 6

    return run


def none_stack_slow_input() -> Program:
    """Images are resized on the CPU between batches, and the GPU waits."""
    import numpy

    model = on_gpu(transformers.ViTModel(transformers.ViTConfig(num_hidden_layers=4)))

    def resized(images: numpy.ndarray) -> numpy.ndarray:
        rows = numpy.linspace(0, images.shape[2] - 1, 224).astype(int)
        blurred = sum(numpy.roll(images, shift, 2) for shift in range(24)) / 24
        return blurred[:, :, rows][:, :, :, rows]

    @torch.inference_mode()
    def run() -> int:
        for _ in range(4):
            images = resized(numpy.random.rand(4, 3, 640, 640))
            batch = torch.from_numpy(images).to("cuda", torch.bfloat16)
            model(pixel_values=batch).pooler_output.cpu()
        return 4

    return run


def none_reinforcement_policy() -> Program:
    """A small policy that acts step by step: tiny kernels, argmax, no attention."""
    policy = nn.Sequential(
        nn.Linear(64, 256), nn.Tanh(), nn.Linear(256, 256), nn.Tanh(), nn.Linear(256, 8)
    ).cuda()

    @torch.inference_mode()
    def run() -> int:
        state = torch.zeros(1, 64, device="cuda")
        for _ in range(60):
            action = policy(state).argmax(-1)
            state = state * 0.9 + action.item()
        return 60

    return run


PROGRAMS: tuple[Callable[[], Program], ...] = (
    llama_alternating,
    llama_one_prefill,
    llama_two_prefills,
    llama_only_decode,
    llama_one_decode,
    llama_long_chunks,
    qwen_requests_sampled,
    gpt2_stack_generate,
    gpt_neox_rotary,
    none_bert_encoder,
    none_modern_bert_rotary,
    none_vit,
    none_clip,
    none_swin,
    none_diffusion_transformer,
    none_diffusion_graph,
    none_unet_diffusion,
    none_llama_training,
    none_bert_training,
    none_resnet_training,
    none_recommender,
    none_lstm,
    none_stack_slow_input,
    none_reinforcement_policy,
)


if __name__ == "__main__":
    main()
