"""``recording`` measures the cost of recording the calls of torch programs, as ``portolan assess --run`` does.

Each program runs alternately without and with the recorder, in one process and one thread. The processor time is
measured. A new recording begins in each round, so the cost of describing each distinct call is included. The bench runs
in torch's environment.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F

from bench.figure import MeasuredFigure, middle, spread
from bench.place import say
from runners.suite.recording.book import Book
from runners.suite.recording.recorder import RecordingOptions
from runners.torch.recorder import recording

ROUNDS = 7
TIMES = 3.0
TARGET = "xla"
"""The device that arrays claim to be on during the recording."""
CHEAP_CALLS = 10_000
"""The number of calls of each of the four functions in ``cheapest_calls``."""
STEPS = 5
TOKENS = 100
VOCABULARY, WIDTH, HEADS, LAYERS, CONTEXT = 64, 128, 4, 4, 128

Program = Callable[[], None]


@dataclass(frozen=True)
class ProgramTimes:
    bare_s: list[float]
    recorded_s: list[float]
    entries: int
    """The number of entries of a recording: distinct calls, crossings between host and device, and reasons for omitted
    calls."""

    @property
    def ratios(self) -> list[float]:
        return [seconds / bare_s for bare_s, seconds in zip(self.bare_s, self.recorded_s, strict=True)]


def run() -> Iterator[MeasuredFigure]:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    for name, program, detail in (
        ("cheapest_calls", cheapest_calls(), {"calls": 4 * CHEAP_CALLS, "elements": 64}),
        ("indexing", indexing(), {"calls": CHEAP_CALLS}),
        ("gpt_training", gpt_training(), {"steps": STEPS, "layers": LAYERS, "width": WIDTH}),
        ("resnet_training", resnet_training(), {"steps": STEPS}),
        ("decoding", decoding(), {"tokens": TOKENS, "layers": LAYERS, "width": WIDTH}),
    ):
        say("recording", name)
        yield _figure(name, _measure(program), detail)


def _figure(name: str, measurement: ProgramTimes, detail: dict[str, int]) -> MeasuredFigure:
    ratios = measurement.ratios
    return MeasuredFigure(
        name,
        middle(measurement.recorded_s),
        "s",
        target=f"at most {TIMES:g} times",
        met=middle(ratios) <= TIMES,
        baseline="the same program without a recorder, in turn",
        baseline_value=middle(measurement.bare_s),
        ratio=middle(ratios),
        n=ROUNDS,
        spread=spread(ratios),
        detail={**detail, "entries": measurement.entries},
    )


def _measure(program: Program) -> ProgramTimes:
    program()
    measurement = ProgramTimes([], [], _record(program)[1])
    for _ in range(ROUNDS):
        measurement.bare_s.append(_seconds(program))
        measurement.recorded_s.append(_record(program)[0])
    return measurement


def _seconds(program: Program) -> float:
    start = time.process_time()
    program()
    return time.process_time() - start


def _record(program: Program) -> tuple[float, int]:
    """Run the program once with the recorder. Returns the seconds of the run, and the number of the recording's
    entries."""
    entries: set[int] = set()

    def tell(message: dict[str, Any]) -> None:
        if "entry" in message:
            entries.add(message["entry"])

    with recording(Book(tell), os.getcwd(), RecordingOptions(target=TARGET)):
        return _seconds(program), len(entries)


def cheapest_calls() -> Program:
    """Calls that take about 1 µs each. For these, the recorder's share of the time is largest."""
    x, y = torch.rand(64), torch.rand(64)

    def program() -> None:
        for _ in range(CHEAP_CALLS):
            x.sum()
            torch.mul(x, y)
            torch.sin(x)
            x.max()

    return program


def indexing() -> Program:
    """Reads one element repeatedly. Torch needs longer to call a function mode than to read the element."""
    x = torch.rand(64)

    def program() -> None:
        for _ in range(CHEAP_CALLS):
            x[3]

    return program


class Block(torch.nn.Module):  # type: ignore[misc]
    """A transformer layer that can receive and return the keys and values of earlier tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.first_norm, self.second_norm = torch.nn.LayerNorm(WIDTH), torch.nn.LayerNorm(WIDTH)
        self.qkv, self.out = torch.nn.Linear(WIDTH, 3 * WIDTH), torch.nn.Linear(WIDTH, WIDTH)
        self.mlp = torch.nn.Sequential(
            torch.nn.Linear(WIDTH, 4 * WIDTH), torch.nn.GELU(), torch.nn.Linear(4 * WIDTH, WIDTH)
        )

    def forward(self, x: torch.Tensor, cache: list[torch.Tensor] | None = None) -> torch.Tensor:
        batch, length, _ = x.shape
        q, k, v = (
            part.view(batch, length, HEADS, WIDTH // HEADS).transpose(1, 2)
            for part in self.qkv(self.first_norm(x)).split(WIDTH, dim=2)
        )
        if cache is not None:
            if cache:
                k, v = torch.cat([cache[0], k], dim=2), torch.cat([cache[1], v], dim=2)
            cache[:] = k, v
        values = F.scaled_dot_product_attention(q, k, v, is_causal=cache is None)
        x = x + self.out(values.transpose(1, 2).reshape(batch, length, WIDTH))
        return x + self.mlp(self.second_norm(x))


class Gpt(torch.nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.places = torch.nn.Embedding(VOCABULARY, WIDTH), torch.nn.Embedding(CONTEXT, WIDTH)
        self.blocks = torch.nn.ModuleList(Block() for _ in range(LAYERS))
        self.head = torch.nn.Linear(WIDTH, VOCABULARY)

    def forward(
        self, tokens: torch.Tensor, caches: list[list[torch.Tensor]] | None = None, start: int = 0
    ) -> torch.Tensor:
        places = torch.arange(start, start + tokens.shape[1], device=tokens.device)
        x = self.tokens(tokens) + self.places(places)
        for number, block in enumerate(self.blocks):
            x = block(x, None if caches is None else caches[number])
        return self.head(x)


def gpt_training() -> Program:
    """Training steps of a small GPT."""
    model = Gpt()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    tokens = torch.randint(VOCABULARY, (8, CONTEXT))

    def program() -> None:
        for _ in range(STEPS):
            logits = model(tokens[:, :-1])
            loss = F.cross_entropy(logits.reshape(-1, VOCABULARY), tokens[:, 1:].reshape(-1))
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()

    return program


def decoding() -> Program:
    """Generates tokens one by one with the same model. Its cache grows, so each step has new shapes."""
    model = Gpt().eval()

    def program() -> None:
        caches: list[list[torch.Tensor]] = [[] for _ in range(LAYERS)]
        token = torch.zeros(1, 1, dtype=torch.int64)
        with torch.no_grad():
            for number in range(TOKENS):
                token = model(token, caches, number)[:, -1].argmax(dim=-1, keepdim=True)

    return program


class Residual(torch.nn.Module):  # type: ignore[misc]
    def __init__(self, width: int) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Conv2d(width, width, 3, padding=1, bias=False), torch.nn.BatchNorm2d(width), torch.nn.ReLU(),
            torch.nn.Conv2d(width, width, 3, padding=1, bias=False), torch.nn.BatchNorm2d(width),
        )  # fmt: skip

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.relu(x + self.layers(x))


def resnet_training() -> Program:
    """Training steps of a small ResNet."""
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 16, 3, padding=1), Residual(16), Residual(16), torch.nn.MaxPool2d(2), Residual(16),
        torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(16, 10),
    )  # fmt: skip
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    images, labels = torch.rand(8, 3, 32, 32), torch.randint(10, (8,))

    def program() -> None:
        for _ in range(STEPS):
            optimizer.zero_grad()
            F.cross_entropy(model(images), labels).backward()
            optimizer.step()

    return program
