"""Infers values from type annotations. This module does no I/O."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence

from coordinator.assess.knowledge import Knowledge
from coordinator.assess.values import CALLED, Elements, Items, Parametrized, Symbol, Thing, array, either, is_array
from coordinator.catalogue.usage.resolver import OTHER, Binding, Value

_PLAIN_CLASSES = frozenset({"int", "float", "str", "bool", "bytes", "complex", "range", "slice", "type", "object"})
_NUMBERS = frozenset({"int", "float", "complex"})
_COLLECTIONS = frozenset({"List", "Sequence", "Iterable", "Iterator", "Set", "FrozenSet", "Collection", "Generator"})
_FORMS = frozenset(
    {*_COLLECTIONS, "Optional", "Union", "Dict", "Mapping", "Tuple", "Annotated", "list", "dict", "tuple", "set"}
)
"""Names of ``typing`` and of Python that a program indexes with types, as in ``List[Tensor]``."""
_ARRAY_ALIASES: Mapping[str, str] = {"jax.numpy.ndarray": "jax.Array", "jax.typing.ArrayLike": "jax.Array"}


class Annotations:
    """Infers values from annotations.

    The caller passes two functions. ``resolve`` returns the object to which a name in an annotation refers. ``define``
    stores a value that depends on other files, and returns a symbol for it.
    """

    def __init__(
        self, resolve: Callable[[ast.expr], Binding], define: Callable[[Value], Symbol], knowledge: Knowledge
    ) -> None:
        self._resolve = resolve
        self._define = define
        self._knowledge = knowledge

    def value(self, node: ast.expr) -> Binding:
        """The value that an annotation describes."""
        match node:
            case ast.Constant(value=str(text)):
                try:
                    return self.value(ast.parse(text, mode="eval").body)
                except (SyntaxError, ValueError, RecursionError):
                    return None
            case ast.BinOp(op=ast.BitOr()):
                return either(self.value(option) for option in _options(node))
            case ast.Subscript():
                return self._collection(node)
            case ast.Name(id=name) if name in _PLAIN_CLASSES:
                return OTHER
            case ast.Name() | ast.Attribute():
                value = self._resolve(node)
                if isinstance(value, Symbol):
                    return value.extend(CALLED)
                if not isinstance(value, str):
                    return None
                value = _ARRAY_ALIASES.get(value, value)
                if is_array(value):
                    return array(value.partition(".")[0], certain=True)
                return Thing(value, True) if self._knowledge.is_class(value) else None
            case _:
                return None

    def value_passed(self, node: ast.expr) -> Binding:
        """The value of a parameter with this annotation. If the annotation allows arrays and numbers, the value is
        unknown, because programs hardly ever pass an array to such a parameter."""
        value = self.value(node)
        if not (isinstance(value, Thing) and value.is_array):
            return value
        has_number = any(isinstance(option, ast.Name) and option.id in _NUMBERS for option in _options(node))
        return None if has_number else value

    def _collection(self, node: ast.Subscript) -> Binding:
        head = _head(node)
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if head in ("Optional", "Union"):
            return either(self.value(part) for part in parts)
        if head in _COLLECTIONS or head in ("list", "set"):
            return Elements(self.value(parts[0]))
        if head in ("Dict", "dict", "Mapping", "OrderedDict"):
            return Elements(self.value(parts[-1])) if len(parts) == 2 else None
        if head in ("Tuple", "tuple"):
            if len(parts) == 2 and isinstance(parts[1], ast.Constant) and parts[1].value is ...:
                return Elements(self.value(parts[0]))
            return Items(tuple(self.value(part) for part in parts))
        if head in ("Callable", "Type", "type", "Literal"):
            return OTHER if head == "Literal" else None
        # ``Annotated[Tensor, …]``, ``Final[int]``, ``Float[Array, "batch"]``, and the user's own ``Param[jax.Array]``.
        argument, owner = self.value(parts[0]), self._resolve(node.value)
        instance = owner.extend(CALLED) if isinstance(owner, Symbol) else None
        return argument if instance is None else self._define(Parametrized(instance, argument))


def _options(node: ast.expr) -> Sequence[ast.expr]:
    """The types of a union, which is written ``A | B`` or ``Union[A, B]``. For any other annotation, a list that
    contains only this annotation."""
    match node:
        case ast.BinOp(op=ast.BitOr()):
            return [*_options(node.left), *_options(node.right)]
        case ast.Subscript(slice=ast.Tuple(elts=parts)) if _head(node) == "Union":
            return parts
        case _:
            return [node]


def _head(node: ast.Subscript) -> str:
    return node.value.attr if isinstance(node.value, ast.Attribute) else getattr(node.value, "id", "")


def is_alias_of_types(node: ast.expr) -> bool:
    """Whether an assigned expression has the form of a type alias: ``Union[jax.Array, Any]``, ``Optional[Tensor]``."""
    return isinstance(node, ast.Subscript) and _head(node) in _FORMS
