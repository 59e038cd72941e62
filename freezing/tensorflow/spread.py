"""Calls with one NaN among the inputs of a function that has no reference in NumPy.

The reference is the function itself in float64, called with several numbers in place of the NaN: an element of the
result is NaN if it depends on this number. So the reference does not use how TensorFlow handles NaN.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import tensorflow as tf
from freezing.common import limits
from freezing.common.agreement import Reference
from freezing.common.gate import Arguments
from freezing.tensorflow.functions import PublicFunction
from freezing.tensorflow.gradients import with_inputs
from freezing.tensorflow.references import flat, widen
from runners.suite.recording.replay import arrays_in
from runners.tensorflow.devices import Cpu

OF_NEIGHBORS = re.compile(
    r"(?i)resize|pool|conv(?!ert)|dilation|erosion|crop|patches|lrn|filter|sobel|image_gradients|translate|transform"
    r"|elastic|blur|coordinates|total_variation|ssim|pad|frame|correlate"
)
"""Names of functions that combine neighboring elements. A NaN must reach exactly the elements that depend on it."""


class WithNan(PublicFunction):
    """A public function whose inputs contain NaN."""

    def references(self, dtype: str, fresh: Callable[[], Arguments]) -> Iterator[tuple[str, Reference]]:
        yield "float64", lambda: self._in_place_of_nan(*widen(list(fresh())))
        yield "itself", lambda: self._in_place_of_nan(*fresh())

    def _in_place_of_nan(self, arguments: Any, options: Any) -> list[Any]:
        tensors = list(arrays_in((arguments, options), tf.Tensor))
        places = [place for place, tensor in enumerate(tensors) if tensor.dtype.is_floating]

        def results(values: Sequence[Any]) -> list[Any]:
            inputs = [value.astype(tensors[place].dtype.as_numpy_dtype) for place, value in zip(places, values)]
            positional, keywords = with_inputs(arguments, options, places, inputs)
            return flat(Cpu().to_host(self.call(*positional, **keywords)))

        return limits.results(results, [tensors[place].numpy() for place in places])
