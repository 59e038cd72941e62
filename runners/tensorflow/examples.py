"""Examples from TensorFlow's docstrings: the names that they can use, the settings that they may change, and how they
are compiled.

Docstrings show a value with ``x.numpy()`` and similar methods. If a statement does nothing else with the value, the
array itself is kept, because reading it would move it to the host. If a device compiles calls, an example is compiled
as a whole, and the variables that it creates are outside of the program, as a user's would be.
"""

from __future__ import annotations

import ast
import collections
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from runners.suite.cases import Context
from runners.suite.examples import Setting, Text, no_plain_form
from runners.suite.frozen import Slot
from runners.suite.frozen_example import INPUTS, OTHERS, RESULTS, FrozenExample

SHOWN = "__shown__"
"""The name of the helper that replaces ``.numpy()`` and ``.to_list()``."""
_READ_AGAIN = frozenset({"item", "tolist"})
"""Methods that read the result of ``.numpy()``."""
_OF_VARIABLES = ("trainable", "name", "constraint", "synchronization", "aggregation", "shape")
"""The options of a variable that do not depend on its device."""


class _Showing(ast.NodeTransformer):
    """Replaces ``x.numpy()`` and similar calls if they are the value of a statement, a part of this value, or
    printed."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        node.value = _shown_in(node.value)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Leave functions of the example unchanged, because TensorFlow may call them."""
        return node


def _shown_in(node: ast.expr) -> ast.expr:
    if isinstance(node, (ast.List, ast.Tuple)):
        node.elts = [_shown_in(member) for member in node.elts]
    elif isinstance(node, ast.ListComp):
        node.elt = _shown_in(node.elt)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
        node.args = [_shown_in(argument) for argument in node.args]
    else:
        return _read_in(node) or node
    return node


def _read_in(node: ast.expr) -> ast.Call | None:
    """Return the call of the helper that replaces an expression that reads an array. Other expressions give None."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.args or node.keywords:
        return None
    read, way = node.func.value, node.func.attr
    if way in _READ_AGAIN:
        return _read_in(read)
    return ast.Call(ast.Name(SHOWN, ast.Load()), [read, ast.Constant(way)], []) if way in Shown.WAYS else None


@dataclass(frozen=True, repr=False)
class Shown:
    """An array whose values a docstring shows. The array stays on its device; ``way`` is the method that would read
    it."""

    array: Any
    way: str
    WAYS: ClassVar[tuple[str, ...]] = ("numpy", "to_list")

    def __repr__(self) -> str:
        return repr(self._read())

    def __str__(self) -> str:
        return str(self._read())

    def _read(self) -> Any:
        return getattr(self.array, self.way)()


class TensorFlowDialect:
    """The TensorFlow-specific part of running docstring examples."""

    def names(self, device: Any) -> Mapping[str, Any]:
        import keras
        import tensorflow as tf

        return {
            "tf": tf,
            # This is the package, for which Keras's docstrings are written. ``tf.keras`` has fewer names.
            "keras": keras,
            "layers": keras.layers,
            "metrics": keras.metrics,
            "collections": collections,
            SHOWN: _shown,
        }

    def forced(self, device: Any) -> AbstractContextManager[Any]:
        import tensorflow as tf

        found: AbstractContextManager[Any] = tf.device(device)
        return found

    def rewritten(self, tree: ast.Module) -> ast.Module:
        showing: ast.Module = _Showing().visit(tree)
        return showing

    def settings(self) -> Sequence[Setting]:
        import tensorflow as tf

        backend, precision, debugging = tf.keras.backend, tf.keras.mixed_precision, tf.debugging
        return [
            Setting("the float type of Keras", backend.floatx, backend.set_floatx),
            Setting("the fuzz factor of Keras", backend.epsilon, backend.set_epsilon),
            Setting("the format of images", backend.image_data_format, backend.set_image_data_format),
            Setting("the precision of layers", lambda: precision.global_policy().name, precision.set_global_policy),
            Setting("the registered classes of Keras", _registered, _set_registered),
            Setting(
                "whether functions run eagerly",
                tf.config.functions_run_eagerly,
                tf.config.run_functions_eagerly,
            ),
            Setting("soft placement", tf.config.get_soft_device_placement, tf.config.set_soft_device_placement),
            Setting("the log of placement", debugging.get_log_device_placement, debugging.set_log_device_placement),
            # TensorFlow has no functions that undo these changes.
            Setting("eager execution", tf.executing_eagerly),
            Setting("tensors like NumPy's", lambda: hasattr(tf.Tensor, "astype")),
        ]

    def is_array(self, value: Any) -> bool:
        """Whether the value is an array. Text arrays that Python can read do not count, because they are on no
        device."""
        import tensorflow as tf

        if not isinstance(value, (tf.Tensor, tf.Variable)):
            return False
        return value.dtype != tf.string or not tf.executing_eagerly()

    def is_changeable(self, value: Any) -> bool:
        """Whether the value can change, as variables and Python objects can."""
        import tensorflow as tf

        return not isinstance(value, (tf.Tensor, tf.RaggedTensor, tf.SparseTensor, tf.IndexedSlices))

    def plain(self, value: Any) -> Any:
        import tensorflow as tf

        if isinstance(value, Shown):
            return value.array
        if isinstance(value, tf.keras.Variable):
            return value.value
        if isinstance(value, tf.RaggedTensor):
            return {"values": value.flat_values, "row_splits": list(value.nested_row_splits)}
        if isinstance(value, tf.SparseTensor):
            return {"indices": value.indices, "values": value.values, "shape": value.dense_shape}
        if isinstance(value, tf.IndexedSlices):
            return {"indices": value.indices, "values": value.values}
        if isinstance(value, (tf.Tensor, tf.Variable)):
            return _texts(value.numpy().tolist() if value.shape.rank else value.numpy())
        if isinstance(value, bytes):
            return _texts(value)
        if isinstance(value, tf.DType):
            return Text(value.name)
        if isinstance(value, tf.TensorShape) and value.rank is not None:
            return value.as_list()
        raise no_plain_form(value)

    def compiled(self, context: Context, call: Callable[[], Any]) -> Callable[[], Any]:
        """Return the example as a compiled program that returns its arrays. Plain values in the result come from the
        tracing."""
        import tensorflow as tf

        beside: list[Any] = []
        variables: list[Any] = []

        def arrays() -> list[Any]:
            found: list[Any] = []
            with tf.variable_creator_scope(_outside(variables)):
                values = call()
            # A compiled program cannot return texts. Texts of other lines are left out, so that they do not fail the
            # program.
            for part in {OTHERS, INPUTS, RESULTS}.intersection(values):
                values[part] = {label: value for label, value in values[part].items() if not self._holds_texts(value)}
            beside[:] = [_slots(values, self.is_array, found)]
            return found

        # AutoGraph must not convert the harness. It still converts functions that the example passes to
        # ``tf.function``.
        program = context.compiled(tf.autograph.experimental.do_not_convert(arrays))

        def whole() -> Any:
            found = program()
            return _filled(beside[0], found)

        return whole

    def _holds_texts(self, value: Any) -> bool:
        """Whether the values of a graph include text arrays."""
        import tensorflow as tf

        arrays: list[Any] = []
        _slots(value, self.is_array, arrays)
        return any(array.dtype == tf.string for array in arrays)


def _outside(variables: list[Any]) -> Callable[..., Any]:
    """Return a creator of variables for a program that is being compiled. The variables are outside of the program,
    which begins by assigning their first values.

    ``variables`` keeps them alive, because the program alone does not.
    """
    import tensorflow as tf
    from tensorflow.python.ops.resource_variable_ops import ResourceVariable

    program = tf.compat.v1.get_default_graph()

    def made(create: Callable[..., Any], **options: Any) -> Any:
        if tf.executing_eagerly() or tf.compat.v1.get_default_graph() is not program:
            return create(**options)
        given = options.pop("initial_value")
        first = tf.convert_to_tensor(given() if callable(given) else given, options.get("dtype"))
        if first.dtype == tf.string or not first.shape.is_fully_defined():
            return create(initial_value=first, **options)
        zeros = np.zeros(first.shape.as_list(), first.dtype.as_numpy_dtype)
        with tf.init_scope():
            variable = ResourceVariable(zeros, **{name: options[name] for name in _OF_VARIABLES if name in options})
        variables.append(variable)
        variable.assign(first)
        return variable

    return made


def _slots(tree: Any, is_array: Callable[[Any], bool], found: list[Any]) -> Any:
    if is_array(tree):
        found.append(tree)
        return Slot(len(found) - 1)
    if isinstance(tree, list):
        return [_slots(member, is_array, found) for member in tree]
    return {key: _slots(value, is_array, found) for key, value in tree.items()} if isinstance(tree, dict) else tree


def _filled(tree: Any, arrays: Sequence[Any]) -> Any:
    if isinstance(tree, Slot):
        return arrays[tree.number]
    if isinstance(tree, list):
        return [_filled(member, arrays) for member in tree]
    return {key: _filled(value, arrays) for key, value in tree.items()} if isinstance(tree, dict) else tree


def _shown(value: Any, way: str) -> Any:
    """Return the value itself if it is an array that this method reads, otherwise the result of the method."""
    import tensorflow as tf

    if isinstance(value, tf.RaggedTensor):
        return Shown(value, way)
    array = value.value if isinstance(value, tf.keras.Variable) else value
    if way == "numpy" and isinstance(array, (tf.Tensor, tf.Variable)):
        return Shown(tf.convert_to_tensor(array), way)
    return getattr(value, way)()


def _texts(value: Any) -> Any:
    """Return TensorFlow's texts, which are bytes, as Python texts."""
    if isinstance(value, list):
        return [_texts(member) for member in value]
    return Text(value.decode("utf-8", "backslashreplace")) if isinstance(value, bytes) else value


def _registered() -> dict[str, Any]:
    import tensorflow as tf

    return dict(tf.keras.utils.get_custom_objects())


def _set_registered(before: Mapping[str, Any]) -> None:
    import tensorflow as tf

    objects = tf.keras.utils.get_custom_objects()
    objects.clear()
    objects.update(before)


def frozen_example(written: str) -> FrozenExample:
    """Prepare a docstring example of TensorFlow from its stored form."""
    return FrozenExample(written, TensorFlowDialect())
