"""Probes for TensorFlow: other dtypes, gradients, unknown shapes, strings, tables, data sets, other devices."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from runners.suite.cases import Context
from runners.suite.device import Device
from tests.unit.coordinator.causes.harvest.calls import (
    BATCH,
    MATRIX,
    VECTOR,
    Probe,
    as_dtype,
    callable_functions,
    casting,
    draw_names,
)

_DTYPES_WORDS = """
bfloat16 float16 float64 complex64 complex128 bool int8 int16 int32 int64 uint8 uint16 uint32 uint64
float8_e5m2 float8_e4m3fn int4 string qint8
"""
DTYPES = _DTYPES_WORDS.split()
MODULES = {
    "tf": tf,
    "tf.math": tf.math,
    "tf.math.special": tf.math.special,
    "tf.linalg": tf.linalg,
    "tf.nn": tf.nn,
    "tf.signal": tf.signal,
    "tf.image": tf.image,
    "tf.bitwise": tf.bitwise,
    "tf.random": tf.random,
    "tf.sparse": tf.sparse,
    "tf.strings": tf.strings,
    "tf.sets": tf.sets,
    "tf.audio": tf.audio,
    "tf.quantization": tf.quantization,
    "tf.debugging": tf.debugging,
    "tf.compat.v1": tf.compat.v1,
}
_WITHOUT_WORDS = """
print Print device init_scope function load_library load_op_library set_seed disable_traceback_filtering
enable_traceback_filtering enable_check_numerics disable_check_numerics disable_eager_execution
disable_v2_behavior disable_v2_tensorshape disable_tensor_equality disable_control_flow_v2
disable_resource_variables enable_eager_execution enable_v2_behavior enable_mixed_precision_graph_rewrite
disable_mixed_precision_graph_rewrite reset_default_graph set_random_seed set_log_device_placement
set_verbosity enable_dump_debug_info disable_dump_debug_info add_check_numerics_ops is_numeric_tensor
enable_numeric_dtype_promotion while_loop experimental_async_scope disable_v2_tensorshape add_to_collection
add_to_collections wrap_function py_func numpy_function py_function numpy_function make_ndarray
"""
WITHOUT = _WITHOUT_WORDS.split()


def set_up() -> None:
    tf.config.set_logical_device_configuration(
        tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
    )


def _array(values: np.ndarray[Any, Any], dtype: str) -> tf.Tensor:
    if dtype == "string":
        return tf.constant(np.char.mod("%f", values))
    return tf.cast(tf.constant(values), tf.as_dtype(dtype))


def probes(device: Device, is_chosen: Callable[[str], bool]) -> Iterator[Probe]:
    for name, how, prepare in _specials(device.name == "xla"):
        if is_chosen(name):
            yield Probe(name, how, prepare)
    for name, function, arguments in callable_functions(MODULES, WITHOUT, is_chosen, device):
        for dtype in draw_names(name, DTYPES, 7):
            yield Probe(name, dtype, casting(arguments, dtype, _array, function))
        for how in draw_names(name, tuple(TRANSFORMS), 4):
            yield Probe(name, how, _transform_call(TRANSFORMS[how], function, arguments))


def _transform_call(
    transform: Callable[..., Any], function: Callable[..., Any], arguments: tuple[Any, ...]
) -> Callable[[Context], Callable[[], Any]]:
    def prepare(context: Context) -> Callable[[], Any]:
        moved_arguments = as_dtype(arguments, "float32", _array)
        return transform(context, function, moved_arguments)

    return prepare


def _tensors(arguments: Any) -> list[Any]:
    return [argument for argument in tf.nest.flatten(arguments) if isinstance(argument, tf.Tensor)]


def _gradient(context: Context, function: Callable[..., Any], arguments: Any) -> Callable[[], Any]:
    def call() -> Any:
        with tf.GradientTape() as tape:
            tape.watch(_tensors(arguments))
            result = function(*arguments)
        return tape.gradient(result, _tensors(arguments), unconnected_gradients=tf.UnconnectedGradients.ZERO)

    return context.compiled(call)


def _second_gradient(context: Context, function: Callable[..., Any], arguments: Any) -> Callable[[], Any]:
    def call() -> Any:
        with tf.GradientTape() as outer:
            outer.watch(_tensors(arguments))
            with tf.GradientTape() as tape:
                tape.watch(_tensors(arguments))
                result = function(*arguments)
            first = tape.gradient(result, _tensors(arguments), unconnected_gradients=tf.UnconnectedGradients.ZERO)
        return outer.gradient(first, _tensors(arguments), unconnected_gradients=tf.UnconnectedGradients.ZERO)

    return context.compiled(call)


def _forward(context: Context, function: Callable[..., Any], arguments: Any) -> Callable[[], Any]:
    def call() -> Any:
        first = _tensors(arguments)[0]
        with tf.autodiff.ForwardAccumulator(first, tf.ones_like(first)) as accumulator:
            result = function(*arguments)
        return accumulator.jvp(result)

    return context.compiled(call)


def _unknown_shape(context: Context, function: Callable[..., Any], arguments: Any) -> Callable[[], Any]:
    tensors = [argument for argument in arguments if isinstance(argument, tf.Tensor)]
    rest = [argument for argument in arguments if not isinstance(argument, tf.Tensor)]
    signature = [tf.TensorSpec(None, tensor.dtype) for tensor in tensors]
    compiled_call = tf.function(
        lambda *inputs: function(*inputs, *rest), input_signature=signature, jit_compile=context.target == "xla" or None
    )
    return lambda: compiled_call(*tensors)


def _each_row(context: Context, function: Callable[..., Any], arguments: Any) -> Callable[[], Any]:
    stacked_argument = tf.nest.map_structure(lambda each: tf.stack([each, each]), arguments[0])
    return context.compiled(
        lambda: tf.vectorized_map(
            lambda each: function(each, *arguments[1:]), stacked_argument, fallback_to_while_loop=False
        )
    )


def _with_filter(context: Context, function: Callable[..., Any], arguments: Any) -> Callable[[], Any]:
    def call() -> Any:
        flat = tf.reshape(tf.nest.flatten(arguments)[0], [-1])
        return function(*arguments), tf.boolean_mask(flat, flat > 0.5), tf.unique(flat), tf.where(flat > 0.5)

    return context.compiled(call)


def _elsewhere(kind: str) -> Callable[..., Callable[[], Any]]:
    def transform(context: Context, function: Callable[..., Any], arguments: Any) -> Callable[[], Any]:
        def call() -> Any:
            with tf.device(f"/device:{kind}"):
                return function(*arguments)

        return context.compiled(call)

    return transform


def _graph_elsewhere(context: Context, function: Callable[..., Any], arguments: Any) -> Callable[[], Any]:
    def call() -> Any:
        with tf.device("/device:GPU:0"):
            return function(*tf.nest.map_structure(tf.identity, arguments))

    return tf.function(call)


def _two_devices(context: Context, function: Callable[..., Any], arguments: Any) -> Callable[[], Any]:
    with tf.device("/device:CPU:1"):
        other = tf.nest.map_structure(
            lambda each: tf.identity(each) if isinstance(each, tf.Tensor) else each, arguments
        )
    return context.compiled(lambda: function(*other))


def _written_down(context: Context, function: Callable[..., Any], arguments: Any) -> Callable[[], Any]:
    def call() -> Any:
        result = function(*arguments)
        return tf.strings.format("{}", [tf.nest.flatten(result)[0]])

    return context.compiled(call)


def _as_numpy(context: Context, function: Callable[..., Any], arguments: Any) -> Callable[[], Any]:
    return tf.function(
        lambda: np.sum(tf.nest.flatten(function(*arguments))[0].numpy()), jit_compile=context.target == "xla"
    )


def _as_bool(context: Context, function: Callable[..., Any], arguments: Any) -> Callable[[], Any]:
    def call() -> Any:
        return 1 if tf.reduce_sum(tf.nest.flatten(function(*arguments))[0]) > 0 else 2

    return tf.function(call, jit_compile=context.target == "xla", autograph=False)


def _in_python(context: Context, function: Callable[..., Any], arguments: Any) -> Callable[[], Any]:
    def call() -> Any:
        return tf.py_function(
            lambda first: tf.nest.flatten(function(first, *arguments[1:]))[0], arguments[:1], tf.float32
        )

    return context.compiled(call)


def _two_dtypes(context: Context, function: Callable[..., Any], arguments: Any) -> Callable[[], Any]:
    if len(arguments) < 2 or not isinstance(arguments[1], tf.Tensor):
        return lambda: None
    return context.compiled(lambda: function(arguments[0], tf.cast(arguments[1], tf.float64), *arguments[2:]))


TRANSFORMS: dict[str, Callable[..., Callable[[], Any]]] = {
    "gradient": _gradient,
    "second gradient": _second_gradient,
    "forward gradient": _forward,
    "unknown shape": _unknown_shape,
    "vectorized_map": _each_row,
    "with a filter": _with_filter,
    "on a GPU": _elsewhere("GPU:0"),
    "on a TPU": _elsewhere("TPU:0"),
    "in a graph on a GPU": _graph_elsewhere,
    "from another device": _two_devices,
    "written as text": _written_down,
    "read in a graph": _as_numpy,
    "branched on": _as_bool,
    "in Python": _in_python,
    "two dtypes": _two_dtypes,
}


def _specials(is_compiled: bool) -> Iterator[tuple[str, str, Callable[[Context], Callable[[], Any]]]]:
    """Probes of functions that do not take dense numbers. On xla they are compiled as a whole, like other calls."""
    text = tf.constant(["a b", "c", "10"])
    where = tempfile.mkdtemp()
    image = tf.constant(np.zeros((8, 8, 3), np.uint8))

    def tables() -> Any:
        keys = tf.lookup.KeyValueTensorInitializer(tf.constant(["a"]), tf.constant([1]))
        return tf.lookup.StaticHashTable(keys, -1)

    calls: dict[str, Callable[[], Any]] = {
        "tf.strings.split": lambda: tf.strings.split(text),
        "tf.strings.length": lambda: tf.strings.length(text),
        "tf.strings.join": lambda: tf.strings.join([text, text]),
        "tf.strings.to_number": lambda: tf.strings.to_number(text[2]),
        "tf.strings.as_string": lambda: tf.strings.as_string(tf.constant(VECTOR)),
        "tf.strings.lower": lambda: tf.strings.lower(text),
        "tf.strings.regex_replace": lambda: tf.strings.regex_replace(text, "a", "b"),
        "tf.strings.substr": lambda: tf.strings.substr(text, 0, 1),
        "tf.strings.unicode_decode": lambda: tf.strings.unicode_decode(text, "UTF-8"),
        "tf.strings.ngrams": lambda: tf.strings.ngrams(text, 2),
        "tf.strings.to_hash_bucket_fast": lambda: tf.strings.to_hash_bucket_fast(text, 3),
        "tf.strings.reduce_join": lambda: tf.strings.reduce_join(text),
        "tf.io.decode_raw": lambda: tf.io.decode_raw(text, tf.uint8),
        "tf.io.decode_csv": lambda: tf.io.decode_csv(tf.constant(["1,2"]), [0, 0]),
        "tf.io.parse_tensor": lambda: tf.io.parse_tensor(tf.io.serialize_tensor(tf.constant(VECTOR)), tf.float64),
        "tf.io.serialize_tensor": lambda: tf.io.serialize_tensor(tf.constant(VECTOR)),
        "tf.io.encode_jpeg": lambda: tf.io.encode_jpeg(image),
        "tf.io.encode_png": lambda: tf.io.encode_png(image),
        "tf.io.decode_image": lambda: tf.io.decode_image(tf.io.encode_png(image)),
        "tf.io.read_file": lambda: tf.io.read_file(__file__),
        "tf.io.write_file": lambda: tf.io.write_file(f"{where}/a", "b"),
        "tf.io.matching_files": lambda: tf.io.matching_files("*.py"),
        "tf.io.encode_base64": lambda: tf.io.encode_base64(text),
        "tf.io.parse_example": lambda: tf.io.parse_example(
            tf.constant([""]), {"a": tf.io.FixedLenFeature([], tf.int64, 0)}
        ),
        "tf.data.Dataset.range": lambda: list(tf.data.Dataset.range(3)),
        "tf.data.Dataset.map": lambda: list(tf.data.Dataset.range(3).map(lambda each: each + 1)),
        "tf.data.Dataset.batch": lambda: tf.data.Dataset.range(6).batch(2).reduce(np.int64(0), lambda a, b: a + b[0]),
        "tf.data.Dataset.from_tensor_slices": lambda: next(iter(tf.data.Dataset.from_tensor_slices(VECTOR))),
        "tf.data.Dataset.from_generator": lambda: list(
            tf.data.Dataset.from_generator(lambda: iter([1]), output_signature=tf.TensorSpec([], tf.int32))
        ),
        "tf.data.TextLineDataset": lambda: list(tf.data.TextLineDataset(__file__).take(1)),
        "tf.lookup.StaticHashTable": lambda: tables().lookup(text),
        "tf.lookup.experimental.MutableHashTable": lambda: tf.lookup.experimental.MutableHashTable(
            tf.string, tf.int64, -1
        ).lookup(text),
        "tf.numpy_function": lambda: tf.numpy_function(np.sin, [tf.constant(VECTOR)], tf.float64),
        "tf.py_function": lambda: tf.py_function(lambda each: each, [tf.constant(VECTOR)], tf.float64),
        "tf.print": lambda: tf.print("a"),
        "tf.summary.scalar": lambda: tf.summary.scalar("a", 1.0, step=1),
        "tf.ragged.constant": lambda: tf.ragged.constant([["a"], []]),
        "tf.ragged.range": lambda: tf.ragged.range(tf.constant([1, 3])),
        "tf.RaggedTensor.to_tensor": lambda: tf.RaggedTensor.from_row_lengths([1, 2, 3], [1, 2]).to_tensor(),
        "tf.sparse.from_dense": lambda: tf.sparse.from_dense(tf.constant(MATRIX)),
        "tf.sparse.reorder": lambda: tf.sparse.reorder(tf.SparseTensor([[1], [0]], [1.0, 2.0], [3])),
        "tf.sparse.sparse_dense_matmul": lambda: tf.sparse.sparse_dense_matmul(
            tf.SparseTensor([[0, 1]], [1.0], [4, 4]), tf.constant(MATRIX, tf.float32)
        ),
        "tf.sparse.add": lambda: tf.sparse.add(tf.sparse.eye(3), tf.sparse.eye(3)),
        "tf.unique": lambda: tf.unique(tf.constant(["a", "a"])),
        "tf.unique_with_counts": lambda: tf.unique_with_counts(tf.constant([1, 1])),
        "tf.where": lambda: tf.where(tf.constant(VECTOR) > 0.5),
        "tf.boolean_mask": lambda: tf.boolean_mask(VECTOR, tf.constant(VECTOR) > 0.5),
        "tf.dynamic_partition": lambda: tf.dynamic_partition(tf.constant(VECTOR), [0, 1, 0, 1], 2),
        "tf.image.non_max_suppression": lambda: tf.image.non_max_suppression(
            tf.constant(MATRIX, tf.float32), tf.constant(VECTOR, tf.float32), 2
        ),
        "tf.image.draw_bounding_boxes": lambda: tf.image.draw_bounding_boxes(
            tf.constant(BATCH[..., :3], tf.float32), tf.zeros([2, 1, 4]), [[1.0, 0, 0]]
        ),
        "tf.image.sample_distorted_bounding_box": lambda: tf.image.sample_distorted_bounding_box(
            [8, 8, 3], tf.zeros([1, 1, 4])
        ),
        "tf.nn.ctc_loss": lambda: tf.nn.ctc_loss(
            tf.constant([[1, 2]]), tf.zeros([4, 1, 3]), [2], [4], logits_time_major=True
        ),
        "tf.nn.ctc_greedy_decoder": lambda: tf.nn.ctc_greedy_decoder(tf.zeros([4, 1, 3]), [4]),
        "tf.nn.fractional_max_pool": lambda: tf.nn.fractional_max_pool(tf.constant(BATCH), [1, 1.4, 1.4, 1]),
        "tf.nn.safe_embedding_lookup_sparse": lambda: tf.nn.safe_embedding_lookup_sparse(
            tf.constant(MATRIX), tf.sparse.from_dense(tf.constant([[1, 2]], tf.int64))
        ),
        "tf.random.uniform_candidate_sampler": lambda: tf.random.uniform_candidate_sampler([[1]], 1, 2, True, 5),
        "tf.random.Generator.from_seed": lambda: tf.random.Generator.from_seed(1).normal([2]),
        "tf.random.shuffle": lambda: tf.random.shuffle(tf.constant(VECTOR)),
        "tf.random.gamma": lambda: tf.random.gamma([2], 1.0),
        "tf.random.poisson": lambda: tf.random.poisson([2], 1.0),
        "tf.random.categorical": lambda: tf.random.categorical(tf.constant(MATRIX), 2),
        "tf.linalg.eig": lambda: tf.linalg.eig(tf.constant(MATRIX)),
        "tf.linalg.sqrtm": lambda: tf.linalg.sqrtm(tf.constant(MATRIX)),
        "tf.linalg.expm": lambda: tf.linalg.expm(tf.constant(MATRIX)),
        "tf.linalg.lu": lambda: tf.linalg.lu(tf.constant(MATRIX)),
        "tf.math.bincount": lambda: tf.math.bincount(tf.constant([1, 2])),
        "tf.math.segment_mean": lambda: tf.math.segment_mean(tf.constant(VECTOR), [0, 0, 1, 1]),
        "tf.sets.union": lambda: tf.sets.union(tf.constant([[1, 2]]), tf.constant([[2, 3]])),
        "tf.audio.encode_wav": lambda: tf.audio.encode_wav(tf.zeros([4, 1]), 8000),
        "tf.queue.FIFOQueue": lambda: tf.queue.FIFOQueue(2, [tf.float32]).size(),
        "tf.TensorArray": lambda: tf.TensorArray(tf.float32, 0, dynamic_size=True).write(0, 1.0).stack(),
        "tf.Variable": lambda: tf.Variable([1.0]).assign_add([1.0]),
        "tf.zeros": lambda: tf.zeros([2**40]),
        "tf.ones": lambda: tf.ones([2**20, 2**20], tf.float64),
        "tf.fill": lambda: tf.fill([2**21, 2**21], 1.0),
        "tf.eye": lambda: tf.eye(2**21),
        "tf.repeat": lambda: tf.repeat(tf.constant(VECTOR), 2**40),
        "tf.tile": lambda: tf.tile(tf.constant(VECTOR), [2**40]),
        "tf.range": lambda: tf.range(0, 2**42, 1, tf.int64),
        "tf.random.normal": lambda: tf.random.normal([2**40]),
        "tf.broadcast_to": lambda: tf.broadcast_to(tf.constant(VECTOR), [2**40, 4]) + 1.0,
        "tf.meshgrid": lambda: tf.meshgrid(tf.zeros([2**21]), tf.zeros([2**21])),
        "tf.linalg.matmul": lambda: tf.linalg.matmul(tf.zeros([2**21, 1]), tf.zeros([1, 2**21])),
        "tf.linalg.inv": lambda: tf.linalg.inv(tf.zeros([3, 3])),
        "tf.linalg.cholesky": lambda: tf.linalg.cholesky(-tf.eye(3)),
        "tf.debugging.assert_equal": lambda: tf.debugging.assert_equal(tf.constant(1), tf.constant(2)),
        "tf.debugging.check_numerics": lambda: tf.debugging.check_numerics(tf.constant(np.nan), "a"),
        "tf.ensure_shape": lambda: tf.ensure_shape(tf.constant(VECTOR), [3]),
        "tf.compat.v1.placeholder": lambda: tf.compat.v1.placeholder(tf.float32),
        "tf.distribute.MirroredStrategy": lambda: tf.distribute.MirroredStrategy(["GPU:0", "GPU:1"]),
        "tf.config.experimental.get_memory_info": lambda: tf.config.experimental.get_memory_info("GPU:0"),
        "tf.raw_ops.CollectiveReduce": lambda: tf.raw_ops.CollectiveReduce(
            input=tf.zeros([2]),
            group_size=1,
            group_key=1,
            instance_key=1,
            merge_op="Add",
            final_op="Id",
            subdiv_offsets=[0],
        ),
        "tf.raw_ops.Conv2D": lambda: tf.raw_ops.Conv2D(
            input=tf.zeros([1, 4, 8, 8]),
            filter=tf.zeros([2, 2, 4, 4]),
            strides=[1] * 4,
            padding="SAME",
            data_format="NCHW",
        ),
        "tf.nn.max_pool": lambda: tf.nn.max_pool(tf.zeros([1, 4, 8, 8]), 2, 2, "SAME", data_format="NCHW"),
        "tf.nn.conv3d_transpose": lambda: tf.nn.conv3d_transpose(
            tf.zeros([1, 4, 4, 4, 2]), tf.zeros([2, 2, 2, 2, 2]), [1, 4, 4, 4, 2], 1, data_format="NCDHW"
        ),
        "tf.raw_ops.TPUReplicatedInput": lambda: tf.raw_ops.TPUReplicatedInput(inputs=[tf.zeros([2])]),
        "tf.raw_ops.FusedBatchNormV3": lambda: tf.raw_ops.FusedBatchNormV3(
            x=tf.zeros([1, 4, 2, 2]),
            scale=tf.ones([4]),
            offset=tf.ones([4]),
            mean=tf.ones([4]),
            variance=tf.ones([4]),
            data_format="NCHW",
        ),
        "tf.raw_ops.CudnnRNN": lambda: tf.raw_ops.CudnnRNN(
            input=tf.zeros([2, 2, 2]), input_h=tf.zeros([1, 2, 2]), input_c=tf.zeros([1, 2, 2]), params=tf.zeros([9])
        ),
        "tf.raw_ops.NcclAllReduce": lambda: tf.raw_ops.NcclAllReduce(
            input=tf.zeros([2]), reduction="sum", num_devices=1, shared_name="a"
        ),
    }
    for name, call in calls.items():
        yield name, "as it is", lambda context, call=call: context.compiled(call)
        # Compiled for the host, what is placed elsewhere ends the process each time: enough said once.
        for kind in () if is_compiled else ("GPU:0", "TPU:0"):
            yield name, f"on {kind}", lambda context, call=call, kind=kind: context.compiled(_place_on(call, kind))


def _place_on(call: Callable[[], Any], kind: str) -> Callable[[], Any]:
    def there() -> Any:
        with tf.device(f"/device:{kind}"):
            return call()

    return there
