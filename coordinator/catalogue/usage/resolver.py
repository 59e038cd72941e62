"""The resolver determines which names of a framework a source uses. This module does no I/O.

The resolver follows a name through imports, aliases and simple assignments, and a value through the call that creates
it. A call of a class creates an instance of the class. A call of a framework's function creates an array.

A use of a method is *typed* if the object is annotated, or was created by a class or by a function that only creates
arrays. A use of a method is *guessed* if the object came from another function of the framework, or if only the
method's name points to the framework.

`Resolver` follows names and reports every use to its subclass. `uses_of` counts uses. The assessment needs call sites
and more knowledge of values, so it extends this resolver.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from coordinator.catalogue.surfaces import ARRAYS, ROOTS

_MADE = frozenset(
    """arange array asarray as_tensor constant convert_to_tensor empty empty_like eye fill from_numpy full full_like
    identity linspace logspace normal ones ones_like rand rand_like randint randn randn_like randperm range tensor
    uniform zeros zeros_like""".split()  # noqa: SIM905
)
MAKERS = frozenset(
    f"{module}.{name}"
    for module in ("torch", "tf", "tf.random", "jax.numpy", "jax.random")
    for name in _MADE
    if (module, name) not in (("torch", "constant"), ("torch", "uniform"))
)
"""Functions that only create arrays."""


class Value:
    """The base class of the values that the resolver knows."""

    __slots__ = ()


@dataclass(slots=True, unsafe_hash=True)
class Instance(Value):
    """A value whose class is known or guessed. No code changes it. It is not frozen, because this doubles the time to
    create it."""

    of: str
    certain: bool


class _Other(Value):
    """A value that does not come from a framework. The class has a single instance, also after unpickling."""

    __slots__ = ()

    def __reduce__(self) -> str:
        return "OTHER"


OTHER = _Other()
Binding = str | Value | None
"""The value of a name: a dotted public name, a ``Value``, or None if it is unknown."""


@dataclass
class Uses:
    """The names that one source uses, separated by how each use was recognized."""

    resolved: Counter[str] = field(default_factory=Counter)
    typed: Counter[str] = field(default_factory=Counter)
    guessed: Counter[str] = field(default_factory=Counter)
    frameworks: set[str] = field(default_factory=set)
    star_imports: int = 0


def uses_of(source: bytes, methods: Mapping[str, frozenset[str]]) -> Uses:
    """Count the uses in one source. ``methods`` has the names of array methods. Its keys are the first parts of the
    frameworks' public names, such as ``tf``.

    Raises the errors of ``ast.parse`` for a source that cannot be parsed.
    """
    resolver = _Counting()
    resolver.visit(ast.parse(source))
    uses = resolver.uses
    uses.frameworks, uses.star_imports = resolver.frameworks, resolver.star_imports
    if len(uses.frameworks) == 1:
        # In a file with two frameworks, a method's name alone does not show which of them is meant.
        (root,) = uses.frameworks
        for name, times in resolver.unknown_methods.items():
            if name in methods.get(root, ()):
                uses.guessed[f"{ARRAYS[root]}.{name}"] += times
    return uses


_LITERALS = (ast.JoinedStr, ast.List, ast.Tuple, ast.Dict, ast.Set, ast.Compare)


class Resolver:
    """Walks a syntax tree once, with a scope for each function and class, and reports uses to its subclass."""

    HANDLERS: ClassVar[Mapping[type, str]] = {
        ast.Import: "_import",
        ast.ImportFrom: "_import_from",
        ast.Assign: "_assign",
        ast.AnnAssign: "_annotated_assignment",
        ast.With: "_with",
        ast.AsyncWith: "_with",
        ast.FunctionDef: "_function",
        ast.AsyncFunctionDef: "_function",
        ast.ClassDef: "_class",
        ast.Expr: "_expression",
    }
    """The method that visits each type of statement."""
    EXPRESSIONS: ClassVar[Mapping[type, str]] = {
        ast.Lambda: "_lambda",
        ast.ListComp: "_comprehension",
        ast.SetComp: "_comprehension",
        ast.DictComp: "_comprehension",
        ast.GeneratorExp: "_comprehension",
    }
    """The method that visits each type of expression and returns what is known about the expression's value."""

    def __init__(self) -> None:
        self.frameworks: set[str] = set()
        self.star_imports = 0
        self._scopes: list[dict[str, Binding]] = [{"self": OTHER, "cls": OTHER, "super": OTHER}]

    def visit(self, node: ast.AST) -> None:
        handler = self.HANDLERS.get(type(node))
        if handler is not None:
            getattr(self, handler)(node)
        elif isinstance(node, ast.expr):
            self._value(node)
        else:
            self._visit_children(node)

    def _expression(self, node: ast.Expr) -> None:
        self._value(node.value)

    def _visit_children(self, node: ast.AST) -> None:
        for name in node._fields:
            child = getattr(node, name, None)
            if isinstance(child, list):
                for part in child:
                    if isinstance(part, ast.AST):
                        self.visit(part)
            elif isinstance(child, ast.AST):
                self.visit(child)

    def _visit_all(self, nodes: Iterable[ast.AST | None]) -> None:
        for node in nodes:
            if node is not None:
                self.visit(node)

    # Names

    def _bind(self, name: str, binding: Binding) -> None:
        self._scopes[-1][name] = binding

    def _lookup(self, name: str) -> Binding:
        for scope in reversed(self._scopes):
            if name in scope:
                return scope[name]
        return None

    def _import(self, node: ast.Import) -> None:
        for alias in node.names:
            root, _, rest = alias.name.partition(".")
            local_name = alias.asname or root
            if root not in ROOTS:
                self._bind(local_name, OTHER)
                continue
            self.frameworks.add(ROOTS[root])
            full = f"{ROOTS[root]}.{rest}" if rest and alias.asname else ROOTS[root]
            self._bind(local_name, full)

    def _import_from(self, node: ast.ImportFrom) -> None:
        root, _, rest = (node.module or "").partition(".")
        is_framework = not node.level and root in ROOTS
        if is_framework:
            self.frameworks.add(ROOTS[root])
        module = f"{ROOTS[root]}.{rest}".rstrip(".") if is_framework else ""
        for alias in node.names:
            if alias.name == "*":
                self.star_imports += is_framework
            else:
                self._bind(alias.asname or alias.name, f"{module}.{alias.name}" if is_framework else None)

    def _assign(self, node: ast.Assign) -> None:
        binding = self._value(node.value)
        is_none = isinstance(node.value, ast.Constant) and node.value.value is None
        for target in node.targets:
            if isinstance(target, ast.Name):
                # ``except ImportError: torch = None`` does not change what torch is when the import succeeds.
                if not (is_none and isinstance(self._lookup(target.id), str)):
                    self._bind(target.id, binding)
            else:
                self.visit(target)

    def _annotated_assignment(self, node: ast.AnnAssign) -> None:
        annotation = self._annotation(node.annotation)
        binding = self._value(node.value) if node.value is not None else None
        if isinstance(node.target, ast.Name):
            self._bind(node.target.id, annotation or binding)
        else:
            self.visit(node.target)

    def _annotation(self, node: ast.expr | None) -> Instance | None:
        if node is None:
            return None
        binding = self._value(node)
        return Instance(binding, True) if isinstance(binding, str) and is_class(binding) else None

    def _with(self, node: ast.With | ast.AsyncWith) -> None:
        for item in node.items:
            binding = self._value(item.context_expr)
            if isinstance(item.optional_vars, ast.Name):
                self._bind(item.optional_vars.id, binding)
            elif item.optional_vars is not None:
                self.visit(item.optional_vars)
        self._visit_all(node.body)

    # Scopes

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._bind(node.name, OTHER)
        self._visit_all(node.decorator_list)
        self._enter(node.args, node.body)
        if node.returns is not None:
            self._value(node.returns)

    def _lambda(self, node: ast.Lambda) -> Binding:
        self._enter(node.args, [node.body])
        return OTHER

    def _enter(self, arguments: ast.arguments, body: Iterable[ast.AST]) -> None:
        self._visit_all([*arguments.defaults, *arguments.kw_defaults])
        parameters = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        scope: dict[str, Binding] = {argument.arg: self._annotation(argument.annotation) for argument in parameters}
        scope |= {rest.arg: OTHER for rest in (arguments.vararg, arguments.kwarg) if rest is not None}
        scope |= {name: OTHER for name in ("self", "cls") if name in scope}
        self._scopes.append(scope)
        self._visit_all(body)
        self._scopes.pop()

    def _class(self, node: ast.ClassDef) -> None:
        self._bind(node.name, OTHER)
        self._visit_all([*node.decorator_list, *node.bases, *node.keywords])
        self._scopes.append({})
        self._visit_all(node.body)
        self._scopes.pop()

    def _comprehension(self, node: Any) -> Binding:
        self._scopes.append({})
        self._visit_all(node.generators)
        self._visit_all(getattr(node, name, None) for name in ("elt", "key", "value"))
        self._scopes.pop()
        return OTHER

    # Expressions

    def _value(self, node: ast.expr, *, outer: bool = True) -> Binding:
        """Visit an expression, and return what is known about its value. A chain of attributes is one use of its last
        attribute."""
        kind = type(node)
        if kind is ast.Constant:
            return OTHER
        if kind is ast.Name:
            return self._name(node, outer)  # type: ignore[arg-type]
        if kind is ast.Attribute:
            return self._member(self._value(node.value, outer=False), node, outer)  # type: ignore[attr-defined,arg-type]
        if kind is ast.Call:
            return self._call(node)  # type: ignore[arg-type]
        if kind is ast.BinOp:
            return self._operation(node)  # type: ignore[arg-type]
        handler = self.EXPRESSIONS.get(kind)
        if handler is not None:
            binding: Binding = getattr(self, handler)(node)
            return binding
        self._visit_children(node)
        return OTHER if isinstance(node, _LITERALS) else None

    def _name(self, node: ast.Name, outer: bool) -> Binding:
        if not isinstance(node.ctx, ast.Load):
            self._bind(node.id, None)
            return None
        binding = self._lookup(node.id)
        if outer and type(binding) is str and "." in binding:
            self._note_name(binding, node)
        return binding

    def _note_name(self, name: str, node: ast.expr) -> None:
        """Record a use of a framework's name that imports resolve."""

    def _member(self, owner: Binding, node: ast.Attribute, outer: bool) -> Binding:
        """Return a member of a value. If ``outer`` is true, the program neither calls the member nor accesses one of
        its attributes, so the member is recorded as a use."""
        if type(owner) is str:
            name = f"{owner}.{node.attr}"
            if outer:
                self._note_name(name, node)
            return name
        return owner

    def _call(self, node: ast.Call) -> Binding:
        raise NotImplementedError

    def _operation(self, node: ast.BinOp) -> Binding:
        raise NotImplementedError


class _Counting(Resolver):
    """Counts the uses of names and of members."""

    def __init__(self) -> None:
        super().__init__()
        self.uses = Uses()
        self.unknown_methods: Counter[str] = Counter()

    def _note_name(self, name: str, node: ast.expr) -> None:
        self.uses.resolved[name] += 1

    def _member(self, owner: Binding, node: ast.Attribute, outer: bool) -> Binding:
        if isinstance(owner, Instance):
            (self.uses.typed if owner.certain else self.uses.guessed)[f"{owner.of}.{node.attr}"] += 1
            return Instance(f"{owner.of}.{node.attr}", False)
        return super()._member(owner, node, outer)

    def _call(self, node: ast.Call) -> Binding:
        function = node.func
        binding: Binding
        callee = self._value(function)
        if callee is None and type(function) is ast.Attribute:
            self.unknown_methods[function.attr] += 1
        for argument in node.args:
            self._value(argument)
        for keyword in node.keywords:
            self._value(keyword.value)
        if type(callee) is str:
            binding = _made_by(callee)
        elif isinstance(callee, Instance):
            # A method of an array mostly returns an array.
            array = ARRAYS[callee.of.partition(".")[0]]
            binding = Instance(array, False) if callee.of.startswith(f"{array}.") else None
        else:
            binding = callee
        return binding

    def _operation(self, node: ast.BinOp) -> Binding:
        left, right = self._value(node.left), self._value(node.right)
        for side in (left, right):
            if isinstance(side, Instance) and side.of in ARRAYS.values():
                return Instance(side.of, False)
        return OTHER if left is OTHER and right is OTHER else None


def is_class(name: str) -> bool:
    return name.rpartition(".")[2][:1].isupper()


def _made_by(callee: str) -> Binding:
    """Return the value that a call of this name creates."""
    if is_class(callee):
        return Instance(callee, True)
    root = callee.partition(".")[0]
    if callee in MAKERS:
        return Instance(ARRAYS[root], True)
    return Instance(ARRAYS[root], False)
