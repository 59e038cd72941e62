"""Find pairs of calls: the result of one function is an argument of another, directly or through a variable. Pure.

An operator counts as its function. A method counts if its receiver is the result of a framework's function. If the
receiver is unknown, it counts in a file that uses only one framework, if that framework's arrays have such a method.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from coordinator.catalogue.surfaces import ARRAYS
from coordinator.catalogue.usage.resolver import OTHER, Binding, Resolver, Value, is_class

OPERATORS: Mapping[str, Mapping[type, str]] = {
    "torch": {
        ast.Add: "torch.add", ast.Sub: "torch.sub", ast.Mult: "torch.mul", ast.Div: "torch.div",
        ast.FloorDiv: "torch.floor_divide", ast.Mod: "torch.remainder", ast.Pow: "torch.pow",
        ast.MatMult: "torch.matmul", ast.USub: "torch.neg", ast.Invert: "torch.bitwise_not",
        ast.BitAnd: "torch.bitwise_and", ast.BitOr: "torch.bitwise_or", ast.Lt: "torch.lt", ast.LtE: "torch.le",
        ast.Gt: "torch.gt", ast.GtE: "torch.ge", ast.Eq: "torch.eq", ast.NotEq: "torch.ne",
    },
    "tf": {
        ast.Add: "tf.add", ast.Sub: "tf.subtract", ast.Mult: "tf.multiply", ast.Div: "tf.divide",
        ast.FloorDiv: "tf.math.floordiv", ast.Mod: "tf.math.floormod", ast.Pow: "tf.pow", ast.MatMult: "tf.matmul",
        ast.USub: "tf.negative", ast.Invert: "tf.math.logical_not", ast.BitAnd: "tf.math.logical_and",
        ast.BitOr: "tf.math.logical_or", ast.Lt: "tf.less", ast.LtE: "tf.less_equal", ast.Gt: "tf.greater",
        ast.GtE: "tf.greater_equal", ast.Eq: "tf.equal", ast.NotEq: "tf.not_equal",
    },
    "jax": {
        ast.Add: "jax.numpy.add", ast.Sub: "jax.numpy.subtract", ast.Mult: "jax.numpy.multiply",
        ast.Div: "jax.numpy.divide", ast.FloorDiv: "jax.numpy.floor_divide", ast.Mod: "jax.numpy.remainder",
        ast.Pow: "jax.numpy.power", ast.MatMult: "jax.numpy.matmul", ast.USub: "jax.numpy.negative",
        ast.Invert: "jax.numpy.bitwise_not", ast.BitAnd: "jax.numpy.bitwise_and", ast.BitOr: "jax.numpy.bitwise_or",
        ast.Lt: "jax.numpy.less", ast.LtE: "jax.numpy.less_equal", ast.Gt: "jax.numpy.greater",
        ast.GtE: "jax.numpy.greater_equal", ast.Eq: "jax.numpy.equal", ast.NotEq: "jax.numpy.not_equal",
    },
}  # fmt: skip
"""The function of each operator on arrays, by the framework's root package."""

Pair = tuple[str, str]
"""A function, and a function that takes its result."""


@dataclass(frozen=True)
class ReturnValue(Value):
    """The result of a function, or of a method whose receiver is unknown (``unknown_method``)."""

    function: str = ""
    unknown_method: str = ""


def pairs_in(source: bytes, methods: Mapping[str, frozenset[str]]) -> Counter[Pair]:
    """Count the pairs of functions that follow each other in a source.

    ``methods`` has the names of the arrays' methods, by the framework's root package. Errors of ``ast.parse`` are not
    caught.
    """
    resolver = _PairResolver()
    resolver.visit(ast.parse(source))
    root = next(iter(resolver.frameworks)) if len(resolver.frameworks) == 1 else None
    pairs: Counter[Pair] = Counter()
    for (first, second), times in resolver.pairs.items():
        first_name, second_name = (_name_of(result, root, methods) for result in (first, second))
        if first_name is not None and second_name is not None:
            pairs[first_name, second_name] += times
    return pairs


def _name_of(result: ReturnValue, root: str | None, methods: Mapping[str, frozenset[str]]) -> str | None:
    if result.function:
        return result.function
    return (
        f"{ARRAYS[root]}.{result.unknown_method}" if root and result.unknown_method in methods.get(root, ()) else None
    )


class _PairResolver(Resolver):
    """Follows the results of functions to the calls that take them as arguments."""

    EXPRESSIONS: ClassVar[Mapping[type, str]] = {
        **Resolver.EXPRESSIONS,
        ast.Compare: "_comparison",
        ast.UnaryOp: "_sign",
        ast.Subscript: "_part",
    }

    def __init__(self) -> None:
        super().__init__()
        self.pairs: Counter[tuple[ReturnValue, ReturnValue]] = Counter()

    def _call(self, node: ast.Call) -> Binding:
        function = node.func
        if isinstance(function, ast.Attribute):
            receiver = self._value(function.value, outer=False)
            callee = self._callee(receiver, function)
        else:
            receiver = None
            binding = self._value(function, outer=False)
            callee = ReturnValue(binding) if type(binding) is str and not is_class(binding) else None
        bindings = [receiver, *(binding for argument in node.args for binding in self._values(argument))]
        bindings += [binding for keyword in node.keywords for binding in self._values(keyword.value)]
        if callee is None:
            return OTHER
        self._follow(bindings, callee)
        return callee

    def _callee(self, receiver: Binding, function: ast.Attribute) -> ReturnValue | None:
        """Return the function that an attribute names, if it belongs or may belong to a framework."""
        if type(receiver) is str:
            name = f"{receiver}.{function.attr}"
            # A class makes an object, and a member of a class has no array as its receiver: neither is counted.
            return None if is_class(name) or is_class(receiver) else ReturnValue(name)
        if isinstance(receiver, ReturnValue) and receiver.function:
            return ReturnValue(f"{ARRAYS[receiver.function.partition('.')[0]]}.{function.attr}")
        return ReturnValue("", function.attr) if receiver is None or isinstance(receiver, ReturnValue) else None

    def _values(self, argument: ast.expr) -> Iterator[Binding]:
        """Yield the value of an argument, or of each member if the argument is a list or tuple."""
        if isinstance(argument, (ast.List, ast.Tuple)):
            for member in argument.elts:
                yield self._value(member)
        else:
            yield self._value(argument)

    def _follow(self, bindings: list[Binding], callee: ReturnValue) -> None:
        for binding in bindings:
            if isinstance(binding, ReturnValue):
                self.pairs[binding, callee] += 1

    def _operation(self, node: ast.BinOp) -> Binding:
        return self._operator(type(node.op), [node.left, node.right])

    def _comparison(self, node: ast.Compare) -> Binding:
        return self._operator(type(node.ops[0]), [node.left, *node.comparators])

    def _sign(self, node: ast.UnaryOp) -> Binding:
        return self._operator(type(node.op), [node.operand])

    def _operator(self, kind: type, operands: list[ast.expr]) -> Binding:
        bindings = [self._value(operand) for operand in operands]
        roots = [binding.function.partition(".")[0] for binding in bindings if isinstance(binding, ReturnValue)]
        name = next((OPERATORS[root].get(kind) for root in roots if root), None)
        if name is None:
            return OTHER if all(binding is OTHER for binding in bindings) else None
        self._follow(bindings, ReturnValue(name))
        return ReturnValue(name)

    def _part(self, node: ast.Subscript) -> Binding:
        """Stop following a result at a subscript, because it may select one of several arrays."""
        self._visit_children(node)
        return None

    def _member(self, owner: Binding, node: ast.Attribute, outer: bool) -> Binding:
        return super()._member(owner, node, outer) if type(owner) is str else None if owner is None else OTHER
