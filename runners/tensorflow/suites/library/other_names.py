"""Other public names of functions in the frozen file, for the same object. The most used names come first.

One case for each name tests that the name still exists. ``portolan catalogue coverage`` counts each use under the name
that the program uses, so only a case for ``tf.compat.v1.reshape`` covers the uses of this name. The list contains the
names that the counted packages use at least four times. Importing this imports no framework.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from protocol.enums import GRADIENT, RECOMPILED
from runners.suite.cases import Case, Function
from runners.suite.frozen import QUICK
from runners.tensorflow.suites import library

TAG = "other-name"
NAMES: Mapping[str, Sequence[str]] = {
    "tf.reshape": ("tf.compat.v1.reshape",),
    "tf.concat": ("tf.compat.v1.concat",),
    "tf.matmul": ("tf.linalg.matmul", "tf.compat.v1.matmul"),
    "tf.exp": ("tf.math.exp", "tf.compat.v1.exp"),
    "tf.cast": ("tf.compat.v1.cast", "tf.dtypes.cast"),
    "tf.abs": ("tf.math.abs", "tf.compat.v1.abs"),
    "tf.zeros": ("tf.compat.v1.zeros",),
    "tf.square": ("tf.math.square", "tf.compat.v1.square"),
    "tf.nn.relu": ("tf.compat.v1.nn.relu",),
    "tf.equal": ("tf.math.equal", "tf.compat.v1.equal"),
    "tf.random.uniform": ("tf.compat.v1.random_uniform", "tf.compat.v1.random.uniform"),
    "tf.maximum": ("tf.math.maximum", "tf.compat.v1.maximum"),
    "tf.sqrt": ("tf.math.sqrt", "tf.compat.v1.sqrt"),
    "tf.minimum": ("tf.math.minimum", "tf.compat.v1.minimum"),
    "tf.reduce_sum": ("tf.math.reduce_sum",),
    "tf.sigmoid": ("tf.math.sigmoid", "tf.compat.v1.sigmoid", "tf.nn.sigmoid"),
    "tf.random.normal": ("tf.compat.v1.random_normal", "tf.compat.v1.random.normal"),
    "tf.one_hot": ("tf.compat.v1.one_hot",),
    "tf.range": ("tf.compat.v1.range",),
    "tf.slice": ("tf.compat.v1.slice",),
    "tf.less": ("tf.compat.v1.less", "tf.math.less"),
    "tf.tanh": ("tf.compat.v1.tanh", "tf.math.tanh", "tf.nn.tanh"),
    "tf.stop_gradient": ("tf.compat.v1.stop_gradient",),
    "tf.tile": ("tf.compat.v1.tile",),
    "tf.stack": ("tf.compat.v1.stack",),
    "tf.identity": ("tf.compat.v1.identity",),
    "tf.pow": ("tf.math.pow", "tf.compat.v1.pow"),
    "tf.math.log": ("tf.compat.v1.log",),
    "tf.nn.softplus": ("tf.math.softplus",),
    "tf.ones": ("tf.compat.v1.ones",),
    "tf.greater": ("tf.math.greater", "tf.compat.v1.greater"),
    "tf.unstack": ("tf.compat.v1.unstack",),
    "tf.split": ("tf.compat.v1.split",),
    "tf.logical_and": ("tf.math.logical_and", "tf.compat.v1.logical_and"),
    "tf.floor": ("tf.math.floor", "tf.compat.v1.floor"),
    "tf.multiply": ("tf.math.multiply", "tf.compat.v1.multiply"),
    "tf.add_n": ("tf.compat.v1.add_n", "tf.math.add_n"),
    "tf.nn.top_k": ("tf.math.top_k", "tf.compat.v1.nn.top_k"),
    "tf.not_equal": ("tf.compat.v1.not_equal", "tf.math.not_equal"),
    "tf.nn.l2_normalize": ("tf.math.l2_normalize", "tf.compat.v1.nn.l2_normalize", "tf.linalg.l2_normalize"),
    "tf.sign": ("tf.math.sign", "tf.compat.v1.sign"),
    "tf.reduce_max": ("tf.math.reduce_max",),
    "tf.cumsum": ("tf.compat.v1.cumsum", "tf.math.cumsum"),
    "tf.math.mod": ("tf.math.floormod", "tf.compat.v1.mod", "tf.compat.v1.floormod"),
    "tf.round": ("tf.math.round", "tf.compat.v1.round"),
    "tf.sin": ("tf.math.sin", "tf.compat.v1.sin"),
    "tf.add": ("tf.math.add", "tf.compat.v1.add"),
    "tf.logical_not": ("tf.compat.v1.logical_not", "tf.math.logical_not"),
    "tf.math.squared_difference": ("tf.compat.v1.squared_difference",),
    "tf.cos": ("tf.math.cos", "tf.compat.v1.cos"),
    "tf.nn.log_softmax": ("tf.math.log_softmax",),
    "tf.reduce_min": ("tf.math.reduce_min",),
    "tf.argmax": ("tf.math.argmax",),
    "tf.clip_by_value": ("tf.compat.v1.clip_by_value",),
    "tf.less_equal": ("tf.math.less_equal", "tf.compat.v1.less_equal"),
    "tf.reduce_all": ("tf.math.reduce_all",),
    "tf.math.rsqrt": ("tf.compat.v1.rsqrt",),
    "tf.subtract": ("tf.math.subtract", "tf.compat.v1.subtract"),
    "tf.logical_or": ("tf.math.logical_or",),
    "tf.image.per_image_standardization": ("tf.compat.v1.image.per_image_standardization",),
    "tf.math.divide_no_nan": ("tf.compat.v1.div_no_nan",),
    "tf.nn.silu": ("tf.nn.swish",),
    "tf.greater_equal": ("tf.compat.v1.greater_equal", "tf.math.greater_equal"),
    "tf.nn.softmax": ("tf.math.softmax",),
    "tf.fill": ("tf.compat.v1.fill",),
    "tf.reduce_prod": ("tf.math.reduce_prod",),
    "tf.norm": ("tf.linalg.norm",),
    "tf.sequence_mask": ("tf.compat.v1.sequence_mask",),
    "tf.argmin": ("tf.math.argmin",),
    "tf.bitcast": ("tf.compat.v1.bitcast",),
    "tf.reduce_any": ("tf.math.reduce_any",),
    "tf.tensordot": ("tf.compat.v1.tensordot",),
    "tf.atan": ("tf.math.atan",),
    "tf.divide": ("tf.math.divide",),
    "tf.einsum": ("tf.compat.v1.einsum",),
    "tf.eye": ("tf.compat.v1.eye",),
    "tf.nn.bias_add": ("tf.compat.v1.nn.bias_add",),
    "tf.image.random_contrast": ("tf.compat.v1.image.random_contrast",),
    "tf.image.random_hue": ("tf.compat.v1.image.random_hue",),
    "tf.image.random_saturation": ("tf.compat.v1.image.random_saturation",),
    "tf.random.fold_in": ("tf.random.experimental.stateless_fold_in",),
    "tf.bitwise.bitwise_and": ("tf.compat.v1.bitwise.bitwise_and",),
    "tf.cosh": ("tf.math.cosh",),
    "tf.image.crop_to_bounding_box": ("tf.compat.v1.image.crop_to_bounding_box",),
    "tf.image.random_brightness": ("tf.compat.v1.image.random_brightness",),
    "tf.image.random_crop": ("tf.compat.v1.random_crop",),
    "tf.image.random_flip_left_right": ("tf.compat.v1.image.random_flip_left_right",),
    "tf.math.unsorted_segment_sum": ("tf.compat.v1.unsorted_segment_sum",),
    "tf.nn.elu": ("tf.compat.v1.nn.elu",),
    "tf.random.categorical": ("tf.compat.v1.random.categorical",),
    "tf.random.truncated_normal": ("tf.compat.v1.truncated_normal",),
    "tf.scalar_mul": ("tf.math.scalar_mul",),
    "tf.bitwise.left_shift": ("tf.compat.v1.bitwise.left_shift",),
    "tf.broadcast_to": ("tf.compat.v1.broadcast_to",),
    "tf.linalg.band_part": ("tf.compat.v1.matrix_band_part",),
    "tf.math.is_nan": ("tf.compat.v1.is_nan",),
    "tf.math.log1p": ("tf.compat.v1.log1p",),
    "tf.nn.l2_loss": ("tf.compat.v1.nn.l2_loss",),
    "tf.rank": ("tf.compat.v1.rank",),
    "tf.reverse": ("tf.compat.v1.reverse",),
    "tf.sinh": ("tf.math.sinh",),
}
"""For each canonical name, the other names."""
_VARIANTS = frozenset({"non-finite", "tails", "sized-odd", "sized-large", GRADIENT})
"""Tags of variants and gradients. They show more than that a name leads to its function."""


def named(function: Function, name: str) -> Function:
    """Chart the function under another name with one of its cases, preferably a plain value case in float32."""
    quick_cases = (case for case in function.cases if QUICK in case.tags and RECOMPILED not in case.tags)
    case = min(quick_cases, key=_distance)
    renamed = dataclasses.replace(
        case,
        id=f"{name}/{case.id.removeprefix(f'{function.name}/')}",
        function=name,
        looked_up=name,
        tags=(*case.tags, TAG),
    )
    return dataclasses.replace(function, name=name, cases=[renamed])


def _distance(case: Case) -> tuple[bool, bool, bool, bool]:
    """Return the sort key by which a plain value case in float32 comes first, and variants last."""
    is_variant = bool(_VARIANTS & set(case.tags))
    return is_variant, case.kind != "value", case.dtype != "float32", "plain" not in case.tags


_FROZEN = {function.name: function for function in library.FUNCTIONS}
FUNCTIONS: list[Function] = [named(_FROZEN[function], name) for function, names in NAMES.items() for name in names]
