"""Cases of TensorFlow's output: ``tf.print`` and ``tf.summary.flush``."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from runners.suite.cases import Context, Function, Inputs
from runners.suite.checks import Accepted

Array = np.ndarray[Any, Any]


def printed(context: Context, *arguments: Any, traced: bool = False, **options: Any) -> Callable[[], Any]:
    """Prepare the content of a file to which the function prints. If ``traced`` is true, the function runs in a
    ``tf.function``."""
    folder = tempfile.TemporaryDirectory()
    path = Path(folder.name, "printed")

    def body() -> None:
        context.function(*arguments, output_stream=f"file://{path}", **options)

    print_it = context.compiled(tf.function(body) if traced else body)

    def call(_kept: Any = folder) -> str:
        path.write_text("")
        print_it()
        return path.read_text()

    return call


def shown(values: Array, summarize: int = 3, indent: int = 1) -> str:
    """Format an array as ``tf.print`` does: the first and last few elements of every axis."""
    if values.ndim == 0:
        return f"{values.item():g}" if values.dtype.kind == "f" else str(int(values))
    parts = [shown(value, summarize, indent + 1) for value in values]
    if 0 <= 2 * summarize < len(parts):
        parts = [*parts[:summarize], "...", *parts[len(parts) - summarize :]]
    return "[" + (" " if values.ndim == 1 else "\n" * (values.ndim - 1) + " " * indent).join(parts) + "]"


def expect(text: Callable[..., str]) -> Callable[..., None]:
    def check(observed: Any, *arguments: Any, **_: Any) -> None:
        wanted = text(*arguments)
        assert observed == wanted, f"it printed {observed[:200]!r}, not {wanted[:200]!r}"

    return check


def quarters(*shape: int) -> Callable[[Inputs], Any]:
    """Make numbers with few digits, which can be written in one way only."""
    return lambda inputs: [inputs.integers(*shape, low=-400, high=400) / 4]


show = Function("tf.print", prepare=printed)
show.behaviour("float32-64x128", quarters(64, 128), expect(lambda x: shown(x) + "\n"))
show.behaviour("in-a-function", quarters(64, 128), expect(lambda x: shown(x) + "\n"), traced=True)
show.behaviour("all-of-it", quarters(9, 11), expect(lambda x: shown(x, -1) + "\n"), summarize=-1)
show.behaviour("one-of-each-end", quarters(4, 3, 5), expect(lambda x: shown(x, 1) + "\n"), summarize=1)
show.behaviour("scalar", quarters(), expect(lambda x: shown(x) + "\n"))
for dtype in ("float64", "float16", "bfloat16"):
    show.behaviour(dtype, lambda inputs: [inputs.integers(5) / 4], expect(lambda x: shown(x) + "\n"), dtype=dtype)
show.behaviour("int32", lambda inputs: [inputs.integers(20, dtype="int32")], expect(lambda x: shown(x) + "\n"))
show.behaviour("bool", lambda inputs: [inputs.booleans(6)], expect(lambda x: shown(x) + "\n"))
show.behaviour(
    "words-and-arrays",
    lambda inputs: ["depth:", inputs.integers(3), "at", inputs.integers(2, 2)],
    expect(lambda one, x, two, y: f"{one} {shown(x)} {two} {shown(y)}\n"),
)
show.behaviour(
    "separator-and-end",
    lambda inputs: [inputs.integers(2), inputs.integers(3)],
    expect(lambda x, y: f"{shown(x)} | {shown(y)};"),
    sep=" | ",
    end=";",
)
show.behaviour(
    "dictionary",
    lambda inputs: [{"b": inputs.integers(2), "a": inputs.integers(3)}],
    expect(lambda both: f"{{'a': {shown(both['a'])}, 'b': {shown(both['b'])}}}\n"),
)
show.behaviour("string", lambda inputs: [np.array(b"land ho")], expect(lambda text: "land ho\n"))


@contextmanager
def caught(descriptor: int) -> Iterator[Any]:
    """Redirect a stream of the process to a file during the block, for code in any language."""
    with tempfile.TemporaryFile() as file:
        kept = os.dup(descriptor)
        os.dup2(file.fileno(), descriptor)
        try:
            yield file
        finally:
            os.dup2(kept, descriptor)
            os.close(kept)


def streamed(name: str) -> Callable[..., Callable[[], Any]]:
    def prepare(context: Context, x: Any) -> Callable[[], Any]:
        options = {} if name == "stderr" else {"output_stream": getattr(sys, name)}

        def body() -> None:
            context.function("fathoms:", x, **options)

        print_it = context.compiled(body)

        def call() -> str:
            with caught({"stdout": 1, "stderr": 2}[name]) as file:
                print_it()
                file.seek(0)
                return str(file.read().decode())

        return call

    return prepare


def check_streamed(observed: Any, x: Array) -> None:
    assert f"fathoms: {shown(x)}\n" in observed, f"the stream holds {observed[:200]!r}"


show.behaviour("standard-error", lambda inputs: [inputs.integers(5)], check_streamed, prepare=streamed("stderr"))
show.behaviour("standard-output", lambda inputs: [inputs.integers(5)], check_streamed, prepare=streamed("stdout"))


# tf.summary.flush: when the call returns, the file must contain everything that the writer has buffered.


def flushed(context: Context, *, how: str) -> Callable[[], Any]:
    def flush(writer: Any) -> None:
        context.function(*([] if how == "default" else [writer]))

    def call() -> tuple[bool, bool]:
        with tempfile.TemporaryDirectory() as folder:
            # The limits of the queue and the time are never reached, so only the call under test flushes.
            writer = tf.summary.create_file_writer(folder, max_queue=10_000, flush_millis=3_600_000)
            # Leaving the writer's scope would also flush it.
            with writer.as_default():
                tf.summary.write("soundings", 4.5, step=1)
                before = _written(folder)
                (tf.function(flush) if how == "traced" else flush)(writer)
                after = _written(folder)
            writer.close()
        return before, after

    return call


def _written(folder: str) -> bool:
    return any(b"soundings" in file.read_bytes() for file in Path(folder).iterdir())


def check_flushed(observed: Any, **_: Any) -> None:
    assert observed == (False, True), f"in the file before and after the call: {observed}"


flush = Function(
    "tf.summary.flush",
    prepare=flushed,
)
for how in ("given", "default", "traced"):
    flush.behaviour(f"writer-{how}", lambda inputs: [], check_flushed, how=how)


def check_nothing(observed: Any) -> None:
    assert observed is None, f"without a writer it returned {observed!r}"


flush.behaviour("no-writer", lambda inputs: [], check_nothing, prepare=lambda context: context.function)


def misused(context: Context) -> Callable[[], Any]:
    def call() -> str:
        try:
            context.function("no writer")
        except ValueError as error:
            return str(error)
        return "no error"

    return call


def check_misused(observed: Any) -> None:
    if observed == "no error":
        raise Accepted("a text was taken for a writer")
    assert "no writer" in observed, f"a text for a writer: {observed}"


flush.behaviour("refuses-what-is-no-writer", lambda inputs: [], check_misused, prepare=misused, refuses=True)

FUNCTIONS: list[Function] = [show, flush]
