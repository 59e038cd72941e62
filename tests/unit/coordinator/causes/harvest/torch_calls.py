"""Probes for torch: other dtypes and layouts, derivatives, transforms, compilation, mixed devices, too much memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from runners.suite.device import Device
from tests.unit.coordinator.causes.harvest.calls import (
    MATRIX,
    VECTOR,
    Probe,
    callable_functions,
    casting,
    draw_names,
    transform_call,
)

_DTYPES_WORDS = """
bfloat16 float16 float64 complex32 complex64 complex128 bool int8 int16 int32 int64 uint8 uint16 uint32
float8_e5m2 float8_e4m3fn
"""
DTYPES = _DTYPES_WORDS.split()
MODULES = {
    "torch": torch,
    "torch.linalg": torch.linalg,
    "torch.fft": torch.fft,
    "torch.special": torch.special,
    "torch.nn.functional": torch.nn.functional,
    "torch.sparse": torch.sparse,
    "torch.Tensor": torch.Tensor,
}
_WITHOUT_WORDS = """
set_default_dtype set_default_device set_default_tensor_type set_num_threads set_num_interop_threads
set_printoptions set_grad_enabled seed manual_seed initial_seed use_deterministic_algorithms compile save
load set_deterministic_debug_mode set_float32_matmul_precision set_flush_denormal set_warn_always
set_rng_state set_anomaly_enabled set_autocast_enabled set_autocast_dtype set_autocast_cache_enabled fork
wait from_file autocast_increment_nesting autocast_decrement_nesting clear_autocast_cache requires_grad_
backward share_memory_ init_num_threads set_vital read_vitals set_autocast_cpu_enabled
set_autocast_gpu_dtype set_autocast_cpu_dtype set_autocast_ipu_enabled set_autocast_xla_enabled
set_autocast_ipu_dtype set_autocast_xla_dtype share_memory import_ir_module import_ir_module_from_buffer
register_hook set_ typename is_tensor is_storage
"""
WITHOUT = _WITHOUT_WORDS.split()
_HANDLE: list[Any] = []


def set_up() -> None:
    torch.set_num_threads(1)


def _array(values: np.ndarray[Any, Any], dtype: str) -> torch.Tensor:
    return torch.tensor(values).to(getattr(torch, dtype)).to(_HANDLE[0])


def probes(device: Device, is_chosen: Callable[[str], bool]) -> Iterator[Probe]:
    _HANDLE[:] = [device.handle]
    for name, call in _specials().items():
        if is_chosen(name):
            yield Probe(name, "as it is", lambda context, call=call: lambda: call(context.device))
    for name, function, arguments in callable_functions(MODULES, WITHOUT, is_chosen, device):
        for dtype in draw_names(name, DTYPES, 6):
            yield Probe(name, dtype, casting(arguments, dtype, _array, function))
        for how in draw_names(
            name, [transform for transform in TRANSFORMS if transform in IN_PLACE or not name.endswith("_")], 4
        ):
            yield Probe(name, how, transform_call(TRANSFORMS[how], function, arguments, _array))


def _tree(function: Callable[[torch.Tensor], Any], tree: Any) -> Any:
    return torch.utils._pytree.tree_map_only(torch.Tensor, function, tree)


def _backward(function: Callable[..., Any], *arguments: Any) -> Any:
    arguments = _tree(lambda each: each.clone().requires_grad_(), arguments)
    first = next(
        tree_leave
        for tree_leave in torch.utils._pytree.tree_leaves(function(*arguments))
        if isinstance(tree_leave, torch.Tensor)
    )
    first.abs().sum().backward()
    return first.detach()


def _double_backward(function: Callable[..., Any], *arguments: Any) -> Any:
    arguments = _tree(lambda each: each.clone().requires_grad_(), arguments)
    tensors = [
        tree_leave for tree_leave in torch.utils._pytree.tree_leaves(arguments) if isinstance(tree_leave, torch.Tensor)
    ]
    first = next(
        tree_leave
        for tree_leave in torch.utils._pytree.tree_leaves(function(*arguments))
        if isinstance(tree_leave, torch.Tensor)
    )
    grads = torch.autograd.grad(first.abs().sum(), tensors, create_graph=True, allow_unused=True)
    sum(grad.abs().sum() for grad in grads if grad is not None).backward()
    return first.detach()


def _other_layout(layout: str) -> Callable[..., Any]:
    return lambda function, *arguments: function(*_tree(lambda each: getattr(each, layout)(), arguments))


def _mix_devices(function: Callable[..., Any], first: Any, *rest: Any) -> Any:
    elsewhere = "cpu" if str(_HANDLE[0]) != "cpu" else "meta"
    result = function(_tree(lambda each: each.to(elsewhere), first), *rest)
    return torch.utils._pytree.tree_leaves(result)[0] + torch.ones((), device=_HANDLE[0])


def _out_of_another_dtype(function: Callable[..., Any], *arguments: Any) -> Any:
    try:
        function(*arguments, out=torch.empty(0, device=_HANDLE[0]))
    except (TypeError, RuntimeError):
        return None  # it takes none
    return function(*arguments, out=torch.empty(0, dtype=torch.int32, device=_HANDLE[0]))


def _quantize(function: Callable[..., Any], *arguments: Any) -> Any:
    return function(*_tree(lambda each: torch.quantize_per_tensor(each, 0.1, 0, torch.quint8), arguments))


TRANSFORMS: dict[str, Callable[..., Any]] = {
    "backward": _backward,
    "double backward": _double_backward,
    "forward gradient": lambda function, first, *rest: torch.func.jvp(
        lambda it: function(it, *rest), (first,), (_tree(torch.ones_like, first),)
    ),
    "vmap": lambda function, first, *rest: torch.func.vmap(lambda it: function(it, *rest))(torch.stack([first, first])),
    "jacrev": lambda function, first, *rest: torch.func.jacrev(lambda it: function(it, *rest))(first),
    "sparse": _other_layout("to_sparse"),
    "sparse_csr": _other_layout("to_sparse_csr"),
    "mkldnn": _other_layout("to_mkldnn"),
    "quantized": _quantize,
    "mixed devices": _mix_devices,
    "two dtypes": lambda function, first, *rest: function(_tree(lambda each: each.double(), first), *rest),
    "out of another dtype": _out_of_another_dtype,
    "as NumPy": lambda function, *given: np.asarray(function(*given)),
    "meta": lambda function, *given: function(*_tree(lambda each: each.to("meta"), given)).tolist(),
    "scripted": lambda function, *given: torch.jit.script(lambda *a: function(*a))(*given),
    "dynamo": lambda function, *given: torch.compile(
        lambda *a: function(*a) if torch.as_tensor(function(*a)).sum().item() else 1, backend="eager", fullgraph=True
    )(*given),
    "named": lambda function, *given: function(*_tree(lambda each: each.rename(*"ABCDEF"[: each.dim()]), given)),
    "on cuda": lambda function, *given: function(*_tree(lambda each: each.to("cuda"), given)),
    "float16 autocast": lambda function, *given: _autocast(function, *given),
}


IN_PLACE = (
    "vmap",
    "sparse",
    "sparse_csr",
    "mkldnn",
    "quantized",
    "mixed devices",
    "meta",
    "dynamo",
    "named",
    "on cuda",
)
"""Probes for a function that changes its first argument."""


def _autocast(function: Callable[..., Any], *arguments: Any) -> Any:
    with torch.autocast("cuda", torch.float16), torch.cuda.device(0):
        return function(*arguments)


def _specials() -> dict[str, Callable[[Any], Any]]:
    vector, matrix = torch.tensor(VECTOR), torch.tensor(MATRIX)
    return {
        "torch.Tensor.numpy": lambda dev: vector.to(dev).requires_grad_().numpy(),
        "torch.Tensor.pin_memory": lambda dev: vector.to(dev).pin_memory(),
        "torch.Tensor.cuda": lambda dev: vector.cuda(),
        "torch.Tensor.to.mps": lambda dev: vector.to("mps"),
        "torch.Tensor.to.xpu": lambda dev: vector.to("xpu"),
        "torch.Tensor.to.hip": lambda dev: vector.to("hip"),
        "torch.zeros": lambda dev: torch.zeros(2**44, device=dev) + 1,
        "torch.ones": lambda dev: (torch.ones(2**22, 2**22, device=dev) * 2).sum(1),
        "torch.eye": lambda dev: torch.eye(2**22, device=dev) @ torch.ones(2**22, device=dev),
        "torch.rand": lambda dev: torch.rand(2**43, device=dev),
        "torch.arange": lambda dev: torch.arange(2**43, device=dev) + 1,
        "torch.outer": lambda dev: torch.outer(*[torch.ones(2**22, device=dev)] * 2),
        "torch.cuda.Stream": lambda dev: torch.cuda.Stream(),
        "torch.cuda.Event": lambda dev: torch.cuda.Event().record(),
        "torch.cuda.get_device_name": lambda dev: torch.cuda.get_device_name(),
        "torch.cuda.memory_stats": lambda dev: torch.cuda.mem_get_info(),
        "torch.cuda.manual_seed": lambda dev: torch.cuda.get_rng_state(),
        "torch.cuda.nvtx": lambda dev: torch.cuda.nvtx.range_push("a"),
        "torch.mps.current_allocated_memory": lambda dev: torch.mps.current_allocated_memory(),
        "torch.xpu.device_count": lambda dev: torch.xpu.get_device_properties(0),
        "torch.Generator": lambda dev: torch.rand(2, generator=torch.Generator("cuda"), device=dev),
        "torch.Generator.meta": lambda dev: torch.rand(2, generator=torch.Generator("meta"), device=dev),
        "torch.nn.LSTM": lambda dev: torch.nn.LSTM(4, 4).to(dev)(matrix.float()),
        "torch.nn.Conv2d": lambda dev: torch.nn.Conv2d(1, 1, 1).to(dev)(torch.ones(1, 1, 2, 2, device=dev).int()),
        "torch.nn.Embedding": lambda dev: torch.nn.Embedding(3, 2).to(dev)(vector.to(dev)),
        "torch.nn.Linear": lambda dev: torch.nn.Linear(4, 4).to(dev)(matrix.to(dev)),
        "torch.nn.BatchNorm1d": lambda dev: torch.nn.BatchNorm1d(4).to(dev)(matrix.to(dev).half()),
        "torch.nn.CrossEntropyLoss": lambda dev: torch.nn.CrossEntropyLoss()(matrix.to(dev), vector.to(dev).int()),
        "torch.nn.CTCLoss": lambda dev: torch.nn.CTCLoss()(matrix.half().to(dev), vector.to(dev), [4], [1]),
        "torch.nn.MultiheadAttention": lambda dev: torch.nn.MultiheadAttention(4, 2)(*[matrix.float().to(dev)] * 3),
        "torch.nn.SyncBatchNorm": lambda dev: torch.nn.SyncBatchNorm(4).to(dev)(matrix.float().to(dev)),
        "torch.nn.DataParallel": lambda dev: torch.nn.DataParallel(torch.nn.Linear(4, 4), [0, 1])(matrix.to(dev)),
        "torch.nn.quantized": lambda dev: torch.ao.nn.quantized.Linear(4, 4)(matrix.to(dev)),
        "torch.optim.SGD": lambda dev: torch.optim.SGD([vector.to(dev)], fused=True).step(),
        "torch.optim.Adam": lambda dev: torch.optim.Adam([torch.ones(2, device=dev)], capturable=True).step(),
        "torch.distributed.all_reduce": lambda dev: torch.distributed.all_reduce(vector.to(dev)),
        "torch.distributed.init": lambda dev: torch.distributed.init_process_group(
            "nccl", rank=0, world_size=1, init_method="file:///tmp/none"
        ),
        "torch.jit.script": lambda dev: torch.jit.script(lambda a: a.foo())(vector.to(dev)),
        "torch.jit.trace": lambda dev: torch.jit.trace(lambda a: [a, 1], vector.to(dev)),
        "torch.export.export": lambda dev: torch.export.export(torch.nn.ReLU(), (vector.to(dev),), strict=7),
        "torch.fx.symbolic_trace": lambda dev: torch.fx.symbolic_trace(lambda a: a if a.sum() > 0 else -a),
        "torch.compile": lambda dev: torch.compile(lambda a: a.nonzero(), fullgraph=True, backend="no_such")(vector),
        "torch.onnx.export": lambda dev: torch.onnx.export(torch.nn.ReLU(), (vector.to(dev),), "/tmp/none.onnx"),
        "torch.onnx.utils": lambda dev: torch.onnx.export(
            torch.nn.ReLU(), (vector,), "/tmp/none.onnx", dynamo=False, opset_version=99
        ),
        "torch.utils.checkpoint": lambda dev: torch.utils.checkpoint.checkpoint(lambda a: a.cuda(), vector),
        "torch.utils.dlpack": lambda dev: torch.utils.dlpack.to_dlpack(vector.to(dev).to_sparse()),
        "torch.utils.cpp_extension": lambda dev: torch.utils.cpp_extension.load_inline("a", "int f() { return x; }"),
        "torch.linalg.inv": lambda dev: torch.linalg.inv(torch.zeros(3, 3, device=dev)),
        "torch.linalg.cholesky": lambda dev: torch.linalg.cholesky(-torch.eye(3, device=dev)),
        "torch.linalg.solve": lambda dev: torch.linalg.solve(torch.zeros(2, 2, device=dev), torch.ones(2, device=dev)),
        "torch.nested.nested_tensor": lambda dev: torch.nested.nested_tensor(
            [vector.to(dev), vector[:2].to(dev)]
        ).sin(),
        "torch.masked.sum": lambda dev: torch.masked.masked_tensor(vector.to(dev), vector > 0.5).sort(),
        "torch.Tensor.untyped_storage": lambda dev: vector.to(dev).untyped_storage()[0],
        "torch.Tensor.share_memory_": lambda dev: vector.to(dev).to_sparse().share_memory_(),
        "torch.Tensor.data_ptr": lambda dev: vector.to("meta").data_ptr() or vector.to("meta").item(),
        "torch.from_numpy": lambda dev: torch.from_numpy(np.array(["a"])).to(dev),
        "torch.as_tensor": lambda dev: torch.as_tensor(np.array([1], np.complex256), device=dev),
        "torch.quantize_per_channel": lambda dev: torch.quantize_per_channel(
            matrix.float().to(dev), vector.to(dev), torch.zeros(4, device=dev), 0, torch.quint4x2
        ),
        "torch._scaled_mm": lambda dev: torch._scaled_mm(
            *[matrix.to(dev).to(torch.float8_e4m3fn)] * 2, *[torch.ones((), device=dev)] * 2
        ),
        "torch._weight_int4pack_mm": lambda dev: torch._weight_int4pack_mm(matrix.to(dev), matrix.to(dev), 32, matrix),
        "torch.ops.no_such": lambda dev: torch.ops.aten.no_such(vector),
        "torch.cudnn_convolution": lambda dev: torch.cudnn_convolution(
            torch.ones(1, 1, 2, 2, device=dev),
            torch.ones(1, 1, 1, 1, device=dev),
            [0, 0],
            [1, 1],
            [1, 1],
            1,
            False,
            False,
            False,
        ),
        "torch.nn.functional.scaled_dot_product_attention": lambda dev: _flash(dev),
        "torch.nn.functional.embedding_bag": lambda dev: torch.nn.functional.embedding_bag(
            vector.to(dev), matrix.to(dev)
        ),
        "torch.nn.functional.grid_sample": lambda dev: torch.nn.functional.grid_sample(
            torch.ones(1, 1, 2, 2, device=dev), torch.ones(1, 2, 2, 2, device=dev).half()
        ),
        "torch.index_put": lambda dev: torch.ones(3, device=dev).index_put(
            (torch.tensor([0.5], device=dev),), torch.ones(1, device=dev)
        ),
        "torch.scatter": lambda dev: torch.ones(3, device=dev).scatter(0, torch.tensor([0.5], device=dev), 1),
        "torch.bucketize": lambda dev: torch.bucketize(vector.to(dev), vector.cfloat().to(dev)),
        "torch.polar": lambda dev: torch.polar(vector.to(dev), vector.to(dev).half()),
    }


def _flash(dev: Any) -> Any:
    from torch.nn.attention import SDPBackend, sdpa_kernel

    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        return torch.nn.functional.scaled_dot_product_attention(*[torch.ones(1, 1, 4, 8, device=dev)] * 3)
