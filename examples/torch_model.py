"""A decoder-only transformer with random weights, for examples: PyTorch on CUDA or ROCm."""

from __future__ import annotations

import torch
from torch.nn import functional

BATCH = 1
WIDTH = 1024
HEADS = 16
VOCABULARY = 32_000


class Layer(torch.nn.Module):
    """Attention with a cache of keys and values, then a feed-forward block."""

    def __init__(self) -> None:
        super().__init__()
        self.attention_norm = torch.nn.LayerNorm(WIDTH)
        self.to_qkv = torch.nn.Linear(WIDTH, 3 * WIDTH)
        self.to_out = torch.nn.Linear(WIDTH, WIDTH)
        self.block_norm = torch.nn.LayerNorm(WIDTH)
        self.up = torch.nn.Linear(WIDTH, 4 * WIDTH)
        self.down = torch.nn.Linear(4 * WIDTH, WIDTH)
        self.keys = self.values = None

    def forward(self, x: torch.Tensor, *, is_prefill: bool, extra_copy: bool) -> torch.Tensor:
        heads = self.to_qkv(self.attention_norm(x)).view(BATCH, x.shape[1], 3, HEADS, -1)
        query, key, value = heads.permute(2, 0, 3, 1, 4)
        if is_prefill or self.keys is None:
            self.keys, self.values = key, value
        else:
            self.keys = torch.cat((self.keys, key), dim=2)
            self.values = torch.cat((self.values, value), dim=2)
        seen = functional.scaled_dot_product_attention(
            query, self.keys, self.values, is_causal=is_prefill
        )
        x = x + self.to_out(seen.transpose(1, 2).reshape(x.shape))
        hidden = functional.gelu(self.up(self.block_norm(x)))
        if extra_copy and not is_prefill:
            hidden = hidden.clone()
        return x + self.down(hidden)


class TorchModel:
    """Answers one prompt at a time."""

    def __init__(self, layers: int, *, extra_copy: bool) -> None:
        torch.manual_seed(1)
        device, kind = "cuda", torch.bfloat16
        self._embedding = torch.nn.Embedding(VOCABULARY, WIDTH).to(device, kind)
        self._layers = [Layer().to(device, kind) for _ in range(layers)]
        self._norm = torch.nn.LayerNorm(WIDTH).to(device, kind)
        self._head = torch.nn.Linear(WIDTH, VOCABULARY).to(device, kind)
        self._extra_copy = extra_copy
        self._token = torch.zeros(BATCH, 1, dtype=torch.long, device=device)

    def prefill(self, prompt_tokens: int) -> None:
        prompt = torch.randint(VOCABULARY, (BATCH, prompt_tokens), device="cuda")
        self._forward(prompt, is_prefill=True)

    def decode_step(self) -> None:
        self._forward(self._token, is_prefill=False)

    @torch.inference_mode()
    def _forward(self, tokens: torch.Tensor, *, is_prefill: bool) -> None:
        x = self._embedding(tokens)
        for layer in self._layers:
            x = layer(x, is_prefill=is_prefill, extra_copy=self._extra_copy)
        self._token = self._head(self._norm(x[:, -1:])).argmax(-1)

    def synchronize(self) -> None:
        torch.cuda.synchronize()
