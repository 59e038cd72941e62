"""Guards and device questions: conditions in a source that depend on the device, on a version, on a failure or on an
export. This module does no I/O."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from coordinator.assess.sites import Guard, GuardKind

RECENT_NAMES = 1024
"""The number of remembered answers about names. A program uses most of its names many times."""
LONGEST_TEXT = 200
"""The maximum length of a condition's source in characters."""
_LEAVING = (ast.Return, ast.Continue, ast.Break, ast.Yield, ast.YieldFrom)
"""The kinds of syntax nodes after which a block may go on without the error at its end."""
_CATCHES = frozenset(
    {"BaseException", "Exception", "RuntimeError", "NotImplementedError", "TypeError", "ValueError", "AttributeError"}
)
_DEVICE_PROPERTIES = frozenset(
    """is_cuda is_cpu is_xla is_mps is_xpu is_hpu is_npu is_meta is_vulkan is_ipu is_mtia device_type device_platform
    """.split()  # noqa: SIM905
)
DEVICE_MEMBERS = _DEVICE_PROPERTIES | {"type", "platform"}
"""The names of members that may test a device."""
_DEVICE_OF_MEMBER = {f"is_{device}": device for device in ("cuda", "cpu", "xla", "mps", "xpu", "hpu", "npu", "meta")}
"""For each property of PyTorch's tensors such as ``is_cuda``, the device type for which it is true."""
_DEVICE_CALLS = re.compile(
    r"(default_backend|get_backend|xla_device_hw|list_physical_devices|list_logical_devices|is_gpu_available"
    r"|is_built_with_(cuda|rocm|gpu_support|xla)|current_accelerator)"
)
_AVAILABILITY = re.compile(r"is_available|(is_\w+|\w+_is)_available")
_DEVICE_AVAILABILITY = re.compile(
    r"is_available|(is_)?(torch_)?(cuda|xla|tpu|mps|xpu|npu|hpu|mlu|musa|gpu|accelerator|torch_xla)(_is)?_available"
    r"|is_torch_(cuda|xla|tpu|mps|xpu|npu|hpu|mlu|musa)_available"
)
_DEVICE_FLAG = re.compile(r"(?:(?:use|on|with|has)_)?(cuda|gpu|hpu|mps|npu|tpu|xla|xpu)")
"""Matches the name of a variable that says whether to use a device: ``if use_cuda:``."""
_VERSION_NAMES = re.compile(
    r"__version__|(is_)?(torch|tf|tensorflow|jax|jaxlib)_(version|greater|less|higher|lower)\w*|TORCH_\w*VERSION\w*"
    r"|JAX_\w*VERSION\w*|is_torch_version|is_torch_greater\w*|TORCH_(MAJOR|MINOR)",
    re.IGNORECASE,
)


_EXPORT_CALLS = re.compile(r"is_(?:in_)?(?:onnx_)?export(?:ing)?|is_scripting|is_tracing")
"""Matches the names of functions that say whether a model is being exported: ``torch.onnx.is_in_onnx_export()``,
``torch.jit.is_scripting()``. Compilation (``is_compiling``) is not included, because compiled code runs on the device.
"""


def guard_of(test: ast.expr) -> Guard | None:
    """The guard for the code under a condition; None if the condition tests neither an export, nor the device, nor its
    availability, nor a version."""
    if _holds_only_in_export(test):
        return Guard(GuardKind.export, test.lineno, one_line(test))
    kinds = {*_kinds(test), *([GuardKind.device] if _device_named_by(test)[0] else ())}
    for kind in (GuardKind.device, GuardKind.availability, GuardKind.version):
        if kind in kinds:
            device, is_on_device = _device_named_by(test)
            return Guard(kind, test.lineno, one_line(test), device, is_on_device)
    return None


def guard_of_else(test: ast.expr, guard: Guard | None) -> Guard | None:
    """The guard for the code that runs if a condition does not hold. ``guard`` is the guard for the code under the
    condition."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) and _holds_only_in_export(test.operand):
        return Guard(GuardKind.export, test.lineno, one_line(test))
    if guard is not None and guard.kind is GuardKind.export:
        return None
    if guard is None or not guard.device:
        return guard
    if isinstance(test, ast.BoolOp):
        # If ``x.is_cuda and fast`` is false, the value may be on CUDA or not.
        return replace(guard, device="")
    return replace(guard, is_on_device=not guard.is_on_device)


def device_guard(test: ast.expr, *, holds: bool) -> Guard | None:
    """The guard for code that runs only if a condition holds, or only if it does not hold; None if the condition names
    no device type."""
    guard = guard_of(test) if holds else guard_of_else(test, guard_of(test))
    return guard if guard is not None and guard.device else None


def guard_of_handlers(handlers: Iterable[ast.ExceptHandler]) -> Guard | None:
    """The guard for the body of a ``try``, from its first handler of an exception that functions raise on an
    unsupported device; None if it has no such handler."""
    for handler in handlers:
        kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
        if any(kind is None or _last_name(kind) in _CATCHES for kind in kinds):
            text = "except" if handler.type is None else f"except {one_line(handler.type)}"
            return Guard(GuardKind.failure, handler.lineno, text)
    return None


def guard_of_error(body: Sequence[ast.stmt]) -> Guard | None:
    """The guard for a block of statements that always ends with a ``raise``; None for other blocks."""
    if not (body and isinstance(body[-1], ast.Raise)):
        return None
    if not any(isinstance(node, _LEAVING) for statement in body[:-1] for node in ast.walk(statement)):
        return Guard(GuardKind.error, body[-1].lineno, "raise")
    return None


def asks_for_device(node: ast.Attribute | ast.Call) -> bool:
    """Whether an expression tests which device is available, or which device a value is on."""
    if isinstance(node, ast.Call):
        return _is_device_call(_last_name(node.func))
    if node.attr in ("type", "platform"):
        return ("device" if node.attr == "type" else "dev") in _last_name(node.value)
    return node.attr in _DEVICE_PROPERTIES


@lru_cache(RECENT_NAMES)
def _is_device_call(name: str) -> bool:
    return _DEVICE_CALLS.fullmatch(name) is not None or _DEVICE_AVAILABILITY.fullmatch(name) is not None


@lru_cache(RECENT_NAMES)
def _is_version_name(name: str) -> bool:
    return _VERSION_NAMES.fullmatch(name) is not None


def one_line(node: ast.expr) -> str:
    """The source of an expression on one line, shortened if it is long."""
    try:
        text = ast.unparse(node)
    except (ValueError, RecursionError):
        return type(node).__name__
    return text if len(text) <= LONGEST_TEXT else f"{text[: LONGEST_TEXT - 1]}…"


def _holds_only_in_export(test: ast.expr) -> bool:
    """Whether a condition can hold only while a model is exported."""
    match test:
        case ast.BoolOp(op=ast.And(), values=parts):
            return any(map(_holds_only_in_export, parts))
        case ast.BoolOp(op=ast.Or(), values=parts):
            return all(map(_holds_only_in_export, parts))
        case ast.Call(func=function):
            return _EXPORT_CALLS.fullmatch(_last_name(function)) is not None
        case _:
            return False


def _device_named_by(test: ast.expr) -> tuple[str, bool]:
    """The device type that a condition names, and True if the condition holds on this device, False if it holds on all
    other devices."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=ast.BoolOp()):
            return "", True
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            device, is_on_device = _device_named_by(operand)
            return device, not is_on_device
        case ast.BoolOp(op=ast.And(), values=parts):
            return next((named for part in parts if (named := _device_named_by(part))[0]), ("", True))
        case ast.Attribute(attr=attr) if attr in _DEVICE_OF_MEMBER:
            return _DEVICE_OF_MEMBER[attr], True
        case ast.Name() | ast.Attribute() if flag := _DEVICE_FLAG.fullmatch(_last_name(test)):
            return ("" if flag[1] in ("gpu", "tpu") else flag[1]), True
        case ast.Compare(
            left=left, ops=[ast.Eq() | ast.NotEq() as operator], comparators=[ast.Constant(value=str(device))]
        ):
            is_type = isinstance(left, ast.Attribute) and left.attr == "type" and asks_for_device(left)
            return (device if is_type else ""), isinstance(operator, ast.Eq)
        case _:
            return "", True


def _kinds(test: ast.expr) -> Iterable[GuardKind]:
    for node in _nodes(test):
        if isinstance(node, ast.Attribute):
            if asks_for_device(node):
                yield GuardKind.device
            elif _is_version_name(node.attr):
                yield GuardKind.version
        elif isinstance(node, ast.Name):
            if _is_version_name(node.id):
                yield GuardKind.version
        elif isinstance(node, ast.Call):
            name = _last_name(node.func)
            if _AVAILABILITY.fullmatch(name):
                yield GuardKind.availability
            elif asks_for_device(node):
                yield GuardKind.device
        elif isinstance(node, ast.Compare) and any(
            isinstance(side, ast.Attribute | ast.Name) and _last_name(side) == "device"
            for side in (node.left, *node.comparators)
        ):
            yield GuardKind.device


def _nodes(root: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a syntax tree, as ``ast.walk`` yields them, but in any order and in half of the time."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        for name in node._fields:
            child = getattr(node, name, None)
            if isinstance(child, list):
                waiting += [part for part in child if isinstance(part, ast.AST)]
            elif isinstance(child, ast.AST) and child._fields:
                waiting.append(child)


def _last_name(node: ast.expr | None) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Subscript | ast.Call):
        return _last_name(node.value if isinstance(node, ast.Subscript) else node.func)
    return ""
