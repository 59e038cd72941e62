"""Draw samples: call a function once with every recipe that fits its parameters, and write the calls that succeed."""

from __future__ import annotations

import inspect
import random
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import numpy as np

from freezing.common.agreement import members
from freezing.common.kinds import kinds_of
from freezing.common.samples import Drawn, Sample
from freezing.tensorflow.definitions import raw_recipes
from freezing.tensorflow.functions import PublicFunction
from freezing.tensorflow.recipe import Draw
from freezing.tensorflow.recipes import RECIPES
from runners.errors import LeftOutError
from runners.suite.checks import TOLERANCES, Leaf, leaves
from runners.suite.frozen import PackWriter, Slot, as_text
from runners.suite.rounding import dtype_on_device, rounded

OTHER_DTYPES = ("int32", "bfloat16", "complex64", "float16", "bool", "float64")
"""Besides float32, a function is drawn in the first of these dtypes that it accepts. Its name seeds their order."""


def dtypes_of(name: str) -> list[str]:
    """Return the dtypes to try for a function, in order, until it has accepted two."""
    others = list(OTHER_DTYPES)
    random.Random(name).shuffle(others)
    return ["float32", *others]


MOST_SAMPLES = 12
"""The maximum number of samples of a function in one dtype. The first recipes that fit are made for functions of its
kind; later ones fit only by chance."""


class Sampler:
    """Draws the samples of one function.

    ``deadly`` has the names of recipes that crash the process. ``note`` is called with each recipe before its call.
    """

    def __init__(
        self, function: PublicFunction, pack: PackWriter, deadly: Collection[str], note: Callable[[str], object]
    ) -> None:
        self._function = function
        self._pack = pack
        self._deadly = deadly
        self._note = note
        self._seen: set[tuple[str, tuple[str, ...]]] = set()
        self.tried = 0
        self.refused = ""
        """Why the last rejected call is not a sample."""

    def draw(self, dtype: str) -> Drawn:
        """Return the samples in a dtype: the calls that succeed and return arrays."""
        draws = Drawn()
        for recipe, name, arguments in self._calls(dtype):
            sample = self._write(name, dtype, arguments)
            key = sample.call, sample.arrays
            if key in self._seen:
                continue
            self._seen.add(key)
            self.tried += 1
            self._note(recipe)
            try:
                self._try(sample)
            except LeftOutError as error:
                self.refused = f"{error.kind}: {error}" if str(error) else error.kind
                continue
            draws.add(sample)
            if len(draws.samples) == MOST_SAMPLES:
                break
        self._note("")
        return draws

    def _calls(self, dtype: str) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
        """Yield the arguments from every recipe that fits, with the recipe's name and the call's."""
        function = self._function.name
        names = {
            name: parameter.default is inspect.Parameter.empty and name != "*"
            for name, parameter in self._function.parameters.items()
        }
        for recipe in (*RECIPES, *raw_recipes(function)):
            if recipe.name in self._deadly:
                continue
            for name, arguments in recipe.calls(function, names, lambda: Draw(f"{function} {recipe.name}", dtype)):  # noqa: B023
                yield recipe.name, name, arguments

    def _write(self, recipe: str, dtype: str, keywords: Mapping[str, Any]) -> Sample:
        arrays: list[str] = []
        shapes: list[tuple[int, ...]] = []
        own: list[str] = []

        def plain(tree: Any) -> Any:
            if isinstance(tree, np.ndarray):
                own.append(dtype_on_device(tree, dtype))
                arrays.append(self._pack.add(tree, own[-1]))
                shapes.append(tree.shape)
                return Slot(len(arrays) - 1)
            if isinstance(tree, (list, tuple)):
                return type(tree)(map(plain, tree))
            return {key: plain(value) for key, value in tree.items()} if isinstance(tree, dict) else tree

        text = as_text(plain(self._call(keywords)))
        # Without floats, the dtype of the first array becomes the sample's, except that of a random key, for which
        # there is no tolerance.
        if (
            own
            and own[0] in TOLERANCES
            and not any("float" in type_name or "complex" in type_name for type_name in own)
        ):
            dtype = own[0]
        elements = sum(int(np.prod(shape)) for shape in shapes)
        return Sample(f"{dtype}-{recipe}", dtype, text, tuple(arrays), kinds_of(shapes, dtype), elements)

    def _call(self, keywords: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Split the arguments into positional ones and options. Required ones are positional where possible."""
        if self._function.by_keyword:
            return [], dict(keywords)
        arguments: list[Any] = []
        options: dict[str, Any] = {}
        for name, parameter in self._function.parameters.items():
            if name == "*":
                arguments += keywords.get(name, [])
            elif name in keywords and _by_place(parameter) and not options:
                arguments.append(keywords[name])
            elif name in keywords:
                options[name] = keywords[name]
        return arguments, options

    def _try(self, sample: Sample) -> None:
        """Call the function once. Raise ``LeftOutError`` if the sample cannot become a case."""
        function = self._function
        values = rounded([self._pack.array(digest) for digest in sample.arrays], sample.dtype)
        try:
            arguments, options = function.arguments(sample.call, function.device.to_device(values, sample.dtype))
            host_result = function.device.to_host(function.call(*arguments, **options))
        except Exception as error:
            text = (_NODE.sub("", str(error)).strip().splitlines() or [""])[0]
            raise LeftOutError("raises", f"{type(error).__name__}: {text[:120]}") from error
        arrays = leaves(host_result)
        if not arrays or not all(isinstance(member, Leaf) for member in members(host_result)):
            raise LeftOutError("returns something else than arrays", "")
        if any(array.dtype not in _WRITTEN for array in arrays):
            raise LeftOutError("returns an array of a type that NumPy does not have", "")
        real = [array.values for array in arrays if array.values.dtype.kind in "fc"]
        if real and all(values.size and not np.isfinite(values).any() for values in real):
            raise LeftOutError("returns no finite number", "")


_NODE = re.compile(r"\{\{function_node [^{}]*\}\} ?")
"""The prefix that TensorFlow puts before an error of an eager operation. It is longer than the message."""
_WRITTEN = frozenset(
    {"bool", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))}
    | {"bfloat16", "float16", "float32", "float64", "complex64", "complex128"}
)


def _by_place(parameter: inspect.Parameter) -> bool:
    is_required = parameter.default is inspect.Parameter.empty
    return is_required and parameter.kind is not inspect.Parameter.KEYWORD_ONLY
