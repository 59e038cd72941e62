"""The rule for what a recording may call, attacked: no name and no argument gets anything done but computing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from runners.suite.recording.rule import HOMES, NOT_PUBLIC, REFUSED, argument_refusal, call_refusal, refusal

ATTACKS = [
    # Other packages, and other packages that a framework's module has imported.
    *(("torch", name) for name in ("os.system", "subprocess.Popen", "builtins.exec", "builtins.open", "shutil.rmtree")),
    ("torch", "torch.serialization.os.system"),
    ("torch", "torch.nn.functional.importlib.import_module"),
    ("jax", "jax.numpy.linalg.os.mkdir"),
    ("tensorflow", "tf.math.os.system"),
    # Pickles, files, hubs and saved programs.
    *(("torch", f"torch.{name}") for name in (
        "load", "save", "hub.load", "hub.download_url_to_file", "jit.load", "jit.save", "export.load", "export.save",
        "package.PackageImporter", "from_file", "serialization.load", "serialization.add_safe_globals",
        "utils.model_zoo.load_url", "onnx.export", "distributed.checkpoint.load",
    )),
    *(("jax", f"jax.{name}") for name in (
        "numpy.save", "numpy.savez", "numpy.load", "numpy.fromfile", "numpy.ndarray.tofile", "export.deserialize",
        "experimental.serialize_executable.deserialize_and_load", "Array.tofile", "Array.dump", "Array.dumps",
    )),
    *(("tensorflow", f"tf.{name}") for name in (
        "io.read_file", "io.write_file", "io.gfile.remove", "io.gfile.rmtree", "io.matching_files", "saved_model.load",
        "saved_model.save", "raw_ops.WriteFile", "raw_ops.ReadFile", "raw_ops.SaveV2", "train.Checkpoint",
        "keras.models.load_model", "keras.utils.get_file", "data.Dataset.from_generator", "lookup.TextFileInitializer",
        "nn.fixed_unigram_candidate_sampler", "random.fixed_unigram_candidate_sampler", "import_graph_def",
        "image.decode_image", "image.decode_jpeg", "summary.create_file_writer",
    )),
    *(("torch", f"torch.Tensor.{name}") for name in ("__reduce__", "__reduce_ex__", "__setstate__", "__deepcopy__")),
    # Libraries and compilers.
    *(("torch", f"torch.{name}") for name in (
        "ops.load_library", "classes.load_library", "utils.cpp_extension.load", "utils.cpp_extension.load_inline",
        "compile", "compiler.load_cache_artifacts", "_dynamo.optimize", "_inductor.codecache.PyCodeCache.load",
    )),
    ("jax", "jax.experimental.compilation_cache.compilation_cache.set_cache_dir"),
    ("tensorflow", "tf.load_library"),
    ("tensorflow", "tf.load_op_library"),
    # Calls back into Python.
    *(("jax", f"jax.{name}") for name in (
        "pure_callback", "experimental.io_callback", "debug.callback", "debug.print", "numpy.frompyfunc",
        "numpy.fromfunction", "numpy.vectorize", "numpy.apply_along_axis", "lax.composite", "ffi.ffi_call",
        "Array.at.apply",
    )),
    *(("tensorflow", f"tf.{name}") for name in (
        "py_function", "numpy_function", "map_fn", "raw_ops.PyFunc", "raw_ops.EagerPyFunc", "custom_gradient",
    )),
    *(("torch", f"torch.Tensor.{name}") for name in (
        "apply_", "map_", "map2_", "register_hook", "register_post_accumulate_grad_hook", "module_load",
    )),
    ("torch", "torch.utils.checkpoint.checkpoint"),
    ("torch", "torch.autograd.Function.apply"),
    # Memory that was not given.
    *(("torch", f"torch.{name}") for name in (
        "from_dlpack", "frombuffer", "utils.dlpack.from_dlpack", "Tensor.__dlpack__", "Tensor.set_", "Tensor.data_ptr",
        "Tensor.storage", "Tensor.untyped_storage", "Tensor.share_memory_", "Tensor.pin_memory", "UntypedStorage",
        "UntypedStorage.from_file", "UntypedStorage.from_buffer", "fbgemm_linear_fp16_weight",
    )),
    *(("jax", f"jax.{name}") for name in ("numpy.from_dlpack", "numpy.frombuffer", "dlpack.from_dlpack")),
    ("tensorflow", "tf.experimental.dlpack.from_dlpack"),
    # Processes, threads, other machines, profilers, settings.
    *(("torch", f"torch.{name}") for name in (
        "multiprocessing.spawn", "multiprocessing.Process", "distributed.init_process_group", "distributed.TCPStore",
        "distributed.rpc.init_rpc", "profiler.profile", "set_num_threads", "set_default_device", "autocast",
        "cuda.memory._record_memory_history", "utils.data.DataLoader", "monitor.TensorboardEventHandler",
    )),
    *(("jax", f"jax.{name}") for name in (
        "distributed.initialize", "profiler.start_trace", "profiler.start_server", "config.update", "lax.psum",
        "lax.infeed", "numpy.set_printoptions", "clear_caches", "experimental.multihost_utils.sync_global_devices",
    )),
    *(("tensorflow", f"tf.{name}") for name in (
        "distribute.Server", "profiler.experimental.start", "profiler.experimental.server.start", "print",
        "config.experimental_connect_to_host", "data.experimental.service.DispatchServer", "random.set_seed",
    )),
    # Names with underscores, classes as receivers, and names that only look like one.
    *(("torch", f"torch.{name}") for name in (
        "__builtins__", "__loader__", "__dict__", "_C._foreach_add", "_C._load_for_lite_interpreter",
        "Tensor.__init_subclass__", "Tensor.__getattribute__", "Tensor.__subclasshook__", "Tensor.__torch_function__",
        "Tensor._make_subclass", "nn.functional.__loader__", "Tensor.__add__.__globals__", "add.__self__",
        "Tensor.add.__func__", "functional.F.linear", "", " add", "add ", "add\n",
        "Tensor.", "Tensor.__class__", ".add", "\N{FULLWIDTH LATIN SMALL LETTER A}dd",
        "add;save",
        "nn.Module.__call__", "nn.functional.Callable", "special.torch.load",
    )),
    *(("jax", f"jax.{name}") for name in (
        "Array.at.__class__", "Array.__reduce__", "Array.__array_namespace__", "numpy.add.at", "device_put.__globals__",
        "lax.lax.add", "_src.lib.xla_client", "numpy.__loader__",
    )),
    *(("tensorflow", f"tf.{name}") for name in (
        "Variable.__class__", "Tensor.__reduce__", "__path__", "compat.v1.Print",
    )),
    # A framework's function for a runner of another, and a framework that there is not.
    ("jax", "torch.add"),
    ("torch", "jax.numpy.add"),
    ("hazards", "hazards.add"),
]  # fmt: skip


@pytest.mark.parametrize(("framework", "function"), ATTACKS, ids=[f"{one}: {two}" for one, two in ATTACKS])
def test_a_function_that_does_more_than_compute_is_refused(framework: str, function: str) -> None:
    assert refusal(framework, function) is not None


@pytest.mark.parametrize(
    "last",
    ["load", "load_weights", "save_as", "to_file", "unpickle", "from_dlpack_v2", "register_state_hook", "py_call",
     "host_callback", "export", "start_thread", "from_storage", "tofile", "compile"],
)  # fmt: skip
def test_a_function_of_a_release_to_come_is_refused_by_its_words(last: str) -> None:
    for framework, homes in HOMES.items():
        assert None not in {refusal(framework, f"{home}.{last}") for home in homes}


@pytest.mark.parametrize("framework", REFUSED)
def test_every_name_of_the_table_is_refused_with_its_reason_in_every_module(framework: str) -> None:
    for reason, names in REFUSED[framework].items():
        for home in HOMES[framework]:
            assert {refusal(framework, f"{home}.{name}") for name in names} == {reason}


@pytest.mark.parametrize(
    ("framework", "function"),
    [
        ("torch", "torch.nn.functional.scaled_dot_product_attention"),
        ("torch", "torch.Tensor.__setitem__"),
        ("torch", "torch.Tensor.__rmatmul__"),
        ("torch", "torch.linalg.cond"),
        ("torch", "torch.Tensor.index_copy_"),
        ("torch", "torch.nn.init.kaiming_uniform_"),
        ("jax", "jax.numpy.linalg.cond"),
        ("jax", "jax.Array.at.set"),
        ("jax", "jax.device_put"),
        ("tensorflow", "tf.Variable.assign_add"),
        ("tensorflow", "tf.image.resize"),
    ],
)
def test_what_computes_is_let_through(framework: str, function: str) -> None:
    assert refusal(framework, function) is None


def call(*arguments: Any, **options: Any) -> dict[str, Any]:
    return {"tuple": [list(arguments), {"mapping": [[name, value] for name, value in options.items()]}]}


def made(owner: Any) -> dict[str, Any]:
    return {"made": json.dumps({"class": owner, "fields": {}}), "named": 1}


@pytest.mark.parametrize(
    ("framework", "argument"),
    [
        ("torch", {"function": "save", "named": 1}),
        ("torch", {"public": "os.system", "named": 1}),
        ("torch", {"dtype": "serialization.load", "named": 1}),
        ("torch", {"dtype": "__loader__", "named": 1}),
        ("torch", {"format": "_C", "named": 1}),
        ("torch", {"device": "cuda:0", "named": 1}),
        ("torch", {"size": "[1, __import__('os')]", "named": 1}),
        ("torch", {"module": "torch", "named": 1}),
        ("jax", {"public": "os.system", "named": 1}),
        ("jax", {"public": "jax.lax.exp", "named": 1}),
        ("jax", {"public": "jax.lax.Precision.__call__", "named": 1}),
        ("jax", {"public": "jax.lax.Precision.HIGHEST.__class__", "named": 1}),
        ("jax", {"public": "jax.experimental.pallas.Blocked.x", "named": 1}),
        ("jax", made("subprocess.Popen")),
        ("jax", made("jax.lax.lax.os.Popen")),
        ("jax", made(["jax.lax.Precision"])),
        ("jax", {"made": "no JSON", "named": 1}),
        ("tensorflow", {"public": "os.system", "named": 1}),
        ("tensorflow", {"dtype": "os.system", "named": 1}),
        ("tensorflow", {"function": "tf.io.read_file", "named": 1}),
        ("torch", {"pickle": "gASVIQ=="}),
        ("torch", {"lambda": "x: x"}),
        ("torch", {}),
    ],
    ids=str,
)
@pytest.mark.parametrize("depth", range(4))
def test_an_argument_that_is_no_plain_value_is_refused_wherever_it_stands(
    framework: str, argument: dict[str, Any], depth: int
) -> None:
    places: list[Any] = [
        call(argument),
        call({"array": 0}, option=argument),
        call([1, {"tuple": [{"slice": [argument, None, None]}]}]),
        call({"mapping": [[argument, 1]]}),
    ]
    assert argument_refusal(framework, places[depth]) is not None
    assert call_refusal(framework, HOMES[framework][0] + ".add", places[depth]) is not None


@pytest.mark.parametrize(
    ("framework", "argument"),
    [
        ("torch", {"dtype": "float8_e4m3fn", "named": 1}),
        ("torch", {"format": "channels_last", "named": 1}),
        ("torch", {"device": "", "named": 1}),
        ("torch", {"size": "[2, 3]", "named": 1}),
        ("jax", {"public": "jax.lax.Precision.HIGHEST", "named": 1}),
        ("jax", made("jax.lax.GatherDimensionNumbers")),
        ("tensorflow", {"dtype": "bfloat16", "named": 1}),
        ("torch", {"complex": [1.0, {"float": "inf"}]}),
        ("torch", {"array": 0, "dtype": "int8", "strides": [2, 1]}),
    ],
    ids=str,
)
def test_plain_values_are_let_through(framework: str, argument: dict[str, Any]) -> None:
    assert call_refusal(framework, HOMES[framework][0] + ".add", call(argument, other=[argument])) is None


def test_what_is_no_public_function_is_said_to_be_none() -> None:
    assert refusal("torch", "torch.hub.load") == NOT_PUBLIC
    assert refusal("torch", "torch.Tensor.register_hook") == "it works with a function"
    assert refusal("torch", "torch.load") == "its name has the word 'load'"
