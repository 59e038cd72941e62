"""The public functions of TensorFlow by their canonical names, as ``GatedFunction`` objects."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import tensorflow as tf
from freezing.common.agreement import Reference
from freezing.common.gate import Arguments, GatedFunction
from freezing.common.parts import entries_of
from freezing.common.per_device import Refusal
from freezing.tensorflow.definitions import RAW
from freezing.tensorflow.references import rank
from freezing.tensorflow.rules import reason_undetermined, refusing_operation
from runners.tensorflow.devices import Cpu
from runners.tensorflow.frozen import FrozenCall
from runners.tensorflow.left_open import FIRST_OF_EQUALS, NOT_UNIQUE, UNINITIALISED, is_random, normalised

ASKED = (
    "tf", "tf.math", "tf.linalg", "tf.nn", "tf.signal", "tf.bitwise", "tf.image", "tf.random", "tf.math.special",
    "tf.losses", "tf.metrics", "tf.keras.activations", "tf.quantization", "tf.keras.ops", "tf.keras.ops.image",
    "tf.sets", "tf.linalg.experimental", "tf.nn.experimental", "tf.random.experimental", "tf.keras.random",
    "tf.keras.utils", "tf.keras.utils.bounding_boxes", "tf.experimental.numpy", "tf.experimental.numpy.random", RAW,
)  # fmt: skip
"""The modules whose functions compute with arrays. Other modules are for files, strings, sparse and ragged arrays, data
sets, training, settings, TensorFlow 1 and the first Keras."""

_OTHER_ERRORS = (
    tf.errors.NotFoundError,
    tf.errors.UnimplementedError,
    tf.errors.InternalError,
    tf.errors.ResourceExhaustedError,
)
"""Errors about something else than an argument: a missing kernel, or this machine's memory."""
_MISSING = re.compile(r"(?i)no opkernel|not supported|unsupported|not (yet )?implemented|could not find|registered")
"""Matches messages that say that a kernel or a function is missing, rather than that an argument is wrong."""


class PublicFunction(GatedFunction):
    """A function of TensorFlow, looked up by its canonical name."""

    def __init__(self, name: str) -> None:
        super().__init__(name, Cpu().lookup(name), Cpu())
        own = normalised(name)
        self.left_open = _left_open(name, own)
        self.first_of_equals = own in FIRST_OF_EQUALS

    @cached_property
    def parameters(self) -> Mapping[str, inspect.Parameter]:
        """The parameters by name, without ``name`` and ``**``. Variable positional ones have the key ``*``."""
        try:
            signature = inspect.signature(self.call).parameters.values()
        except (TypeError, ValueError):
            return {}
        kinds = inspect.Parameter
        return {
            "*" if parameter.kind is kinds.VAR_POSITIONAL else parameter.name: parameter
            for parameter in signature
            if parameter.name != "name" and parameter.kind is not kinds.VAR_KEYWORD
        }

    @property
    def by_keyword(self) -> bool:
        """Whether the function accepts only keyword arguments: it is a raw operation."""
        return self.name.startswith(f"{RAW}.")

    def arguments(self, call: str, arrays: Sequence[Any]) -> Arguments:
        parts: Arguments = FrozenCall(call).parts(arrays)
        return parts

    def reason_undetermined(self, call: Callable[[], Any]) -> str | None:
        return reason_undetermined(call)

    def refusing_operation(self, error: Exception) -> Refusal | None:
        return refusing_operation(error)

    def is_refusal(self, error: Exception) -> bool:
        """Whether the error is about an argument. An error about a missing kernel or about memory is no refusal."""
        return (
            super().is_refusal(error)
            and not isinstance(error, _OTHER_ERRORS)
            and bool(str(error).strip())
            and _MISSING.search(str(error)) is None
        )

    def references(self, dtype: str, fresh: Callable[[], Arguments]) -> Iterator[tuple[str, Reference]]:
        return rank(self.name, fresh, self.call)


def _left_open(name: str, own: str) -> str | None:
    if is_random(name):
        return "random"
    return "uninitialised" if own in UNINITIALISED else "not-unique" if own in NOT_UNIQUE else None


def public_names(surface: Path) -> list[str]:
    """Read the canonical names of all public functions from a file of ``portolan-runner enumerate``."""
    return sorted(entry["name"] for entry in entries_of(surface) if entry["kind"] == "function")
