"""A small GPT: trained on a text, on one device or on several, and sampled from."""

from __future__ import annotations

import argparse
import inspect
import math
import os
import time
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
import torch.nn as nn
from torch.distributed import destroy_process_group, init_process_group
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel


@dataclass
class GPTConfig:
    block_size: int = 256
    vocab_size: int = 256
    n_layer: int = 4
    n_head: int = 4
    n_embd: int = 128
    dropout: float = 0.1
    bias: bool = False


class LayerNorm(nn.Module):
    """A LayerNorm with an optional bias."""

    def __init__(self, size: int, bias: bool) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.bias = nn.Parameter(torch.zeros(size)) if bias else None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.layer_norm(x, self.weight.shape, self.weight, self.bias, 1e-5)


class CausalSelfAttention(nn.Module):
    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.c_attn = nn.Linear(config.n_embd, 3 * config.n_embd, bias=config.bias)
        self.c_proj = nn.Linear(config.n_embd, config.n_embd, bias=config.bias)
        self.attn_dropout = nn.Dropout(config.dropout)
        self.resid_dropout = nn.Dropout(config.dropout)
        self.n_head = config.n_head
        self.n_embd = config.n_embd
        self.dropout = config.dropout
        self.flash = hasattr(F, "scaled_dot_product_attention")
        if not self.flash:
            mask = torch.tril(torch.ones(config.block_size, config.block_size))
            self.register_buffer("mask", mask.view(1, 1, config.block_size, config.block_size))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.size()
        q, k, v = self.c_attn(x).split(self.n_embd, dim=2)
        k = k.view(batch, length, self.n_head, width // self.n_head).transpose(1, 2)
        q = q.view(batch, length, self.n_head, width // self.n_head).transpose(1, 2)
        v = v.view(batch, length, self.n_head, width // self.n_head).transpose(1, 2)
        if self.flash:
            dropout = self.dropout if self.training else 0
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=None, dropout_p=dropout, is_causal=True)
        else:
            att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
            att = att.masked_fill(self.mask[:, :, :length, :length] == 0, float("-inf"))
            att = F.softmax(att, dim=-1)
            att = self.attn_dropout(att)
            y = att @ v
        y = y.transpose(1, 2).contiguous().view(batch, length, width)
        return self.resid_dropout(self.c_proj(y))


class Block(nn.Module):
    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.ln_1 = LayerNorm(config.n_embd, bias=config.bias)
        self.attn = CausalSelfAttention(config)
        self.ln_2 = LayerNorm(config.n_embd, bias=config.bias)
        self.mlp = nn.Sequential(
            nn.Linear(config.n_embd, 4 * config.n_embd, bias=config.bias),
            nn.GELU(),
            nn.Linear(4 * config.n_embd, config.n_embd, bias=config.bias),
            nn.Dropout(config.dropout),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.config = config
        self.transformer = nn.ModuleDict(
            {
                "wte": nn.Embedding(config.vocab_size, config.n_embd),
                "wpe": nn.Embedding(config.block_size, config.n_embd),
                "drop": nn.Dropout(config.dropout),
                "h": nn.ModuleList([Block(config) for _ in range(config.n_layer)]),
                "ln_f": LayerNorm(config.n_embd, bias=config.bias),
            }
        )
        self.lm_head = nn.Linear(config.n_embd, config.vocab_size, bias=False)
        self.transformer.wte.weight = self.lm_head.weight
        self.apply(self._init_weights)
        for name, parameter in self.named_parameters():
            if name.endswith("c_proj.weight"):
                torch.nn.init.normal_(parameter, mean=0.0, std=0.02 / math.sqrt(2 * config.n_layer))
        print(f"{self.number_of_parameters() / 1e6:.2f} M parameters")

    def number_of_parameters(self) -> int:
        total = sum(parameter.numel() for parameter in self.parameters())
        return total - self.transformer.wpe.weight.numel()

    def _init_weights(self, module: nn.Module) -> None:
        if isinstance(module, nn.Linear):
            torch.nn.init.normal_(module.weight, mean=0.0, std=0.02)
            if module.bias is not None:
                torch.nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            torch.nn.init.normal_(module.weight, mean=0.0, std=0.02)

    def forward(self, idx: torch.Tensor, targets: torch.Tensor | None = None) -> tuple[torch.Tensor, Any]:
        device = idx.device
        _, t = idx.size()
        pos = torch.arange(0, t, dtype=torch.long, device=device)
        x = self.transformer.drop(self.transformer.wte(idx) + self.transformer.wpe(pos))
        for block in self.transformer.h:
            x = block(x)
        x = self.transformer.ln_f(x)
        if targets is not None:
            logits = self.lm_head(x)
            return logits, F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1), ignore_index=-1)
        return self.lm_head(x[:, [-1], :]), None

    def configure_optimizer(self, weight_decay: float, rate: float, device_type: str) -> torch.optim.Optimizer:
        parameters = {name: p for name, p in self.named_parameters() if p.requires_grad}
        groups = [
            {"params": [p for p in parameters.values() if p.dim() >= 2], "weight_decay": weight_decay},
            {"params": [p for p in parameters.values() if p.dim() < 2], "weight_decay": 0.0},
        ]
        fused = "fused" in inspect.signature(torch.optim.AdamW).parameters and device_type == "cuda"
        return torch.optim.AdamW(groups, lr=rate, betas=(0.9, 0.95), fused=fused)

    @torch.no_grad()
    def generate(self, idx: torch.Tensor, new: int, temperature: float = 1.0, top_k: int | None = None) -> torch.Tensor:
        for _ in range(new):
            context = idx if idx.size(1) <= self.config.block_size else idx[:, -self.config.block_size :]
            logits, _ = self(context)
            logits = logits[:, -1, :] / temperature
            if top_k is not None:
                v, _ = torch.topk(logits, min(top_k, logits.size(-1)))
                logits[logits < v[:, [-1]]] = -float("Inf")
            probs = F.softmax(logits, dim=-1)
            idx = torch.cat((idx, torch.multinomial(probs, num_samples=1)), dim=1)
        return idx


def batches(data: np.ndarray, config: GPTConfig, size: int, device: str) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    while True:
        starts = torch.randint(len(data) - config.block_size, (size,))
        x = torch.stack([torch.from_numpy(data[i : i + config.block_size].astype(np.int64)) for i in starts])
        y = torch.stack([torch.from_numpy(data[i + 1 : i + 1 + config.block_size].astype(np.int64)) for i in starts])
        if device.startswith("cuda"):
            yield x.pin_memory().to(device, non_blocking=True), y.pin_memory().to(device, non_blocking=True)
        else:
            yield x.to(device), y.to(device)


def rate_at(step: int, steps: int, rate: float) -> float:
    if step < 100:
        return rate * (step + 1) / 101
    return 0.1 * rate + 0.45 * rate * (1.0 + math.cos(math.pi * step / steps))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default="input.txt")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--batch", type=int, default=12)
    parser.add_argument("--accumulate", type=int, default=4)
    parser.add_argument("--compile", action="store_true")
    options = parser.parse_args()
    device, world, rank = options.device, 1, 0
    is_parallel = int(os.environ.get("RANK", -1)) != -1
    if is_parallel:
        init_process_group(backend="nccl")
        rank, world = dist.get_rank(), dist.get_world_size()
        device = f"cuda:{int(os.environ['LOCAL_RANK'])}"
        torch.cuda.set_device(device)
    print(f"{world} processes")
    torch.manual_seed(1337 + rank)
    torch.cuda.manual_seed(1337 + rank)
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.allow_tf32 = True
    torch.set_float32_matmul_precision("high")
    device_type = "cuda" if "cuda" in device else "cpu"
    dtype = "bfloat16" if torch.cuda.is_available() and torch.cuda.is_bf16_supported() else "float16"
    ptdtype = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}[dtype]
    ctx = nullcontext() if device_type == "cpu" else torch.amp.autocast(device_type=device_type, dtype=ptdtype)

    config = GPTConfig()
    data = np.fromfile(options.data, dtype=np.uint8)
    batch = batches(data, config, options.batch, device)
    model = GPT(config)
    if os.path.exists("checkpoint.pt"):
        checkpoint = torch.load("checkpoint.pt", map_location=device)
        model.load_state_dict(checkpoint["model"])
    model.to(device)
    scaler = torch.cuda.amp.GradScaler(enabled=(dtype == "float16"))
    optimizer = model.configure_optimizer(1e-1, 6e-4, device_type)
    if options.compile:
        model = torch.compile(model)
    if is_parallel:
        model = DistributedDataParallel(model, device_ids=[int(os.environ["LOCAL_RANK"])])
    raw_model = model.module if is_parallel else model

    x, y = next(batch)
    began = time.time()
    for step in range(options.steps):
        for group in optimizer.param_groups:
            group["lr"] = rate_at(step, options.steps, 6e-4)
        for micro in range(options.accumulate):
            if is_parallel:
                model.require_backward_grad_sync = micro == options.accumulate - 1
            with ctx:
                _, loss = model(x, y)
                loss = loss / options.accumulate
            x, y = next(batch)
            scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=True)
        if step % 10 == 0 and rank == 0:
            torch.cuda.synchronize()
            total = loss.detach() * options.accumulate
            if is_parallel:
                dist.all_reduce(total, op=dist.ReduceOp.AVG)
            print(f"step {step}: loss {total.item():.4f}, {time.time() - began:.1f} s")
            print(f"{torch.cuda.max_memory_allocated() / 1e9:.2f} GB")
    if rank == 0:
        state = {"model": raw_model.state_dict(), "optimizer": optimizer.state_dict()}
        torch.save(state, "checkpoint.pt")
        model.eval()
        with torch.no_grad(), ctx:
            start = torch.zeros((1, 1), dtype=torch.long, device=device)
            print(bytes(raw_model.generate(start, 200, temperature=0.8, top_k=200)[0].tolist()))
        losses = torch.zeros(10)
        for k in range(10):
            with torch.inference_mode():
                losses[k] = model(*next(batch))[1].item()
        print(losses.mean())
    if is_parallel:
        dist.barrier()
        destroy_process_group()


if __name__ == "__main__":
    main()
