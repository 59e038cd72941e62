"""Calls: infers the results of the calls of one file. This module does no I/O."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeGuard

from coordinator.assess.arguments import CASTS, DTYPE_NAMES, call_site, dtype_of, dtypes_of, first_dtype
from coordinator.assess.expressions import ExpressionReader
from coordinator.assess.flags import is_off
from coordinator.assess.host_arrays import anywhere, host_batch, is_host_call, is_move_to_host, on_host
from coordinator.assess.mentions import GLOBAL, Form, Passed
from coordinator.assess.operators import HOST_VALUES
from coordinator.assess.python_values import KIND_QUESTIONS, SAME_ELEMENTS, Builtin
from coordinator.assess.recorder import MODULE_SCOPES
from coordinator.assess.syntax import TO_PYTHON, is_text, is_to_cpu, last_name, writes_text
from coordinator.assess.values import (
    CALLED,
    ELEMENT,
    LOOKUPS,
    SUPER,
    Alternatives,
    Elements,
    Items,
    Method,
    Symbol,
    Thing,
    Wrapped,
    array,
    either,
    element_of,
)
from coordinator.catalogue.surfaces import ROOTS
from coordinator.catalogue.usage.resolver import OTHER, Binding
from coordinator.results.conditions import CallSite

_REGISTERS = re.compile(r"_?register(?:_\w+)?")
"""Functions that store a value in a table."""
_MAPPERS = frozenset(
    f"jax.{name}"
    for name in """tree.map tree_map tree_util.tree_map vmap pmap grad value_and_grad jit checkpoint remat jvp vjp
    linearize
    lax.scan lax.map lax.cond lax.while_loop lax.fori_loop lax.associative_scan lax.switch""".split()  # noqa: SIM905
)
"""JAX functions that take a user's function and call it with arrays."""
_WRAPPERS = frozenset(
    """jax.jit jax.vmap jax.pmap jax.checkpoint jax.remat jax.named_call jax.shard_map tf.function torch.compile
    torch.jit.script torch.jit.script_if_tracing torch.vmap torch.func.vmap torch.jit.ignore torch.jit.unused
    torch.jit.export torch.compiler.disable""".split()  # noqa: SIM905
)
"""Framework functions that take a function and return a changed version of it."""
_LAYER_LISTS = frozenset(
    {"torch.nn.ModuleList", "torch.nn.Sequential", "torch.nn.ParameterList", "torch.nn.ModuleDict"}
)
_REGISTRATIONS = (".register_buffer", ".register_parameter", ".register_module", ".add_module")
_MAY_BE_CALLED = (str, Symbol, Method, Thing, Alternatives, Elements)
"""The kinds of values whose calls are mentions."""


class CallReader(ExpressionReader):
    """Reads calls, and returns the values of their results."""

    def _call(self, node: ast.Call) -> Binding:
        function = node.func
        if type(function) is ast.Attribute and (function.attr in TO_PYTHON or is_to_cpu(node)):
            self._send_to_host(function.value)
        elif writes_text(function):
            for argument in node.args:
                self._send_to_host(argument)
        elif len(node.args) > 1 and is_text(node.args[0]) and _REGISTERS.fullmatch(last_name(function)):
            self._registered.update(id(argument) for argument in node.args[1:] if isinstance(argument, ast.Lambda))
            self._add_options(node.args)
        elif type(function) is ast.Name and function.id == "dict":
            self._add_options([entry.value for entry in node.keywords])
        if isinstance(function, ast.Attribute) and function.attr in LOOKUPS:
            self._select_from(function.value)
        callee = self._value(function, outer=False)
        self._ask(node)
        if type(callee) is Symbol:
            owner, _, member = callee.path.rpartition(".")
            self._use_parameter(owner, member, is_called=True)
        if isinstance(callee, Builtin) and callee.name in KIND_QUESTIONS:
            with self._calls_alone():
                self._arguments(node)
            return OTHER
        positional, keywords = self._arguments(node)
        if not isinstance(callee, str):
            for keyword in node.keywords:
                if keyword.arg is not None and type(function) is ast.Name and function.id == "dict":
                    self._set_entry(keyword.arg, keyword.value)
                elif keyword.arg is not None:
                    self._set_flag(keyword.arg, keyword.value)
        call = call_site(node, positional, keywords)
        if isinstance(function, ast.Name):
            if function.id == "range":
                self._count_by(node.args)
            if callee is OTHER and function.id == "dict" and keywords:
                named_values = (element_of(value) if name == "**" else value for name, value in keywords.items())
                return Elements(either([*named_values, *map(element_of, positional)]))
            if callee is OTHER and function.id in HOST_VALUES and positional:
                self._note_operation(Form.unary, node, function.id, positional[0])
        elif isinstance(function, ast.Attribute) and function.attr in LOOKUPS:
            table = self._silently(function.value)
            if isinstance(table, Elements) and table.container is None:
                return either((element_of(table), *positional[1:2]))
        if isinstance(callee, Builtin):
            return self._built_in(callee.name, node, positional)
        if isinstance(callee, Wrapped):
            # The arguments of the inner function are unknown, because some of them may be in the wrapper: ``partial(f,
            # x)(y)``.
            call, callee = None, callee.function
        dtype = dtype_of(keywords.get("dtype")) or first_dtype(positional)
        dtypes = dtypes_of((*positional, *keywords.values(), callee.owner if isinstance(callee, Method) else None))
        if isinstance(callee, Items | Elements) and isinstance(function, ast.Attribute):
            self._grow(function, positional)
        is_of_global = self._is_of_global(function)
        if callee is None and self._is_told_by_name(function) and not is_of_global:
            self._note(Form.called, Symbol(f"?.{function.attr}"), node, call=call, dtypes=dtypes)
        is_on_host = is_host_call(callee, call, positional, keywords, is_cast=dtype is not None)
        if type(callee) is Symbol and call is not None and self._own_flags:
            call = self._with_flags_off(call, node)
        if isinstance(callee, _MAY_BE_CALLED):
            operator = GLOBAL if is_of_global else ""
            self._note(Form.called, callee, node, call=call, operator=operator, dtypes=dtypes, is_on_host=is_on_host)
        self._register(callee, node, positional)
        if not isinstance(callee, str) and (batch := host_batch(node)) is not None:
            return batch
        value = self._make(callee, positional, keywords, call, dtype)
        if isinstance(callee, Symbol) and self.frameworks == {"torch"} and is_move_to_host(callee, node):
            return array("torch", certain=False, dtype=dtype, is_on_host=True)
        return on_host(value) if is_on_host else value

    def _with_flags_off(self, call: CallSite, node: ast.Call) -> CallSite:
        """The call, but with False for each positional argument that is a flag which is off: ``f(x, sparse)`` in ``def
        g(x, sparse=False)``."""
        numbers = [
            number
            for number, argument in enumerate(node.args, 1)
            if type(argument) is ast.Name and is_off(argument, self._own_flags)
        ]
        if not numbers:
            return call
        return replace(call, arguments={**call.arguments, **dict.fromkeys(numbers, False)})

    def _is_told_by_name(self, function: ast.expr) -> TypeGuard[ast.Attribute]:
        """Whether the function is a method whose name alone shows that the object of the method is an array."""
        if not isinstance(function, ast.Attribute):
            return False
        return any(self._knowledge.told_by_name(function.attr, root) for root in self.frameworks)

    def _is_of_global(self, function: ast.expr) -> bool:
        """Whether a call uses a global variable that may be a module: ``cp.unique(x)`` after an import of ``cp`` that
        may fail, or ``lib.unique(x)`` after ``lib = cp``."""
        if not (self._within and isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name)):
            return False
        owner = function.value
        if not self._is_told_by_name(function):
            return False
        if not any(owner.id in scope for scope in self._scopes[MODULE_SCOPES:]):
            return True
        value = self._lookup(owner.id)
        return isinstance(value, Symbol) and not value.is_parameter and value in self._scopes[1].values()

    def _count_by(self, bounds: Sequence[ast.expr]) -> None:
        """Record that the parameters in the bounds of a ``range`` are plain numbers."""
        for bound in bounds:
            number = bound.left if isinstance(bound, ast.BinOp) else bound
            value = self._lookup(number.id) if isinstance(number, ast.Name) else None
            for option in value.values if isinstance(value, Alternatives) else (value,):
                if isinstance(option, Symbol) and option.is_parameter:
                    self._facts.names[option.path] = OTHER

    def _register(self, callee: Binding, node: ast.Call, positional: Sequence[Binding]) -> None:
        """Record the attribute that ``self.register_buffer("mask", …)`` creates, and the layers that a call appends to
        a list."""
        if not (isinstance(callee, Symbol) and positional):
            return
        if callee.path.endswith(".append"):
            self._define(callee.path.removesuffix(".append") + ELEMENT, positional[0])
        if len(positional) >= 2 and callee.path.endswith(_REGISTRATIONS):
            name = node.args[0]
            if isinstance(name, ast.Constant) and isinstance(name.value, str):
                self._define(f"{callee.path.rpartition('.')[0]}.{name.value}", anywhere(positional[1]))

    def _grow(self, function: ast.Attribute, positional: Sequence[Binding]) -> None:
        """Record that a value is appended to a list."""
        if function.attr == "append" and isinstance(function.value, ast.Name) and positional:
            name = function.value.id
            self._bind(name, Elements(either((element_of(self._lookup(name)), positional[0]))))

    def _arguments(self, node: ast.Call) -> tuple[list[Binding], dict[str, Binding]]:
        positional = [self._value(argument) for argument in node.args]
        if not node.keywords:
            return positional, {}
        return positional, {keyword.arg or "**": self._value(keyword.value) for keyword in node.keywords}

    # Python's own functions

    def _built_in(self, name: str, node: ast.Call, positional: Sequence[Binding]) -> Binding:
        first = positional[0] if positional else None
        match name:
            case "partial":
                return Wrapped(first.function if isinstance(first, Wrapped) else first)
            case "super":
                owner = next((path for path in reversed(self._classes) if path is not None), None)
                return None if owner is None else Symbol(f"{owner}{CALLED}{SUPER}")
            case "abs":
                self._note_operation(Form.unary, node, "abs", first)
                return first
            case "sum":
                return element_of(first)
            case "zip":
                return Elements(Items(tuple(element_of(value) for value in positional)))
            case "enumerate":
                return Elements(Items((OTHER, element_of(first))))
            case "staticmethod":
                return first
            case "getattr":
                return self._member_by_name(first, node.args[1:2]) if isinstance(first, str) else None
            case "__import__" | "eval" | "exec":
                return self._value_of_text(name, node.args[:1])
            case _ if name in SAME_ELEMENTS:
                return first if isinstance(first, Items | Symbol) or name == "deepcopy" else Elements(element_of(first))
            case _:
                return None

    def _member_by_name(self, module: str, names: Sequence[ast.expr]) -> Binding:
        """The member of a framework's module that ``getattr`` returns. A name that is computed at run time is counted
        as unknown."""
        match names:
            case [ast.Constant(value=str(name))]:
                return f"{module}.{name}"
        self.reading.dynamic_names += 1
        return None

    def _value_of_text(self, function: str, texts: Sequence[ast.expr]) -> Binding:
        """The module whose name is a literal text. Code in a text, and names that are computed at run time, are counted
        as unknown."""
        match texts:
            case [ast.Constant(value=str(name))] if function == "__import__":
                root, _, rest = name.partition(".")
                if root not in ROOTS:
                    return None
                self.frameworks.add(ROOTS[root])
                return ".".join(filter(None, (ROOTS[root], rest)))
        self.reading.dynamic_names += 1
        return None

    # Results

    def _make(
        self,
        callee: Binding,
        positional: Sequence[Binding],
        keywords: Mapping[str, Binding],
        call: CallSite | None,
        dtype: str | None,
    ) -> Binding:
        """The value that a call returns."""
        knowledge = self._knowledge
        along = (
            "dim" in keywords
            or "descending" in keywords
            or (bool(positional) and positional[-1] is OTHER and (len(positional) > 1 or isinstance(callee, Method)))
        )
        match callee:
            case Symbol():
                if any(value is not None and value is not OTHER for value in (*positional, *keywords.values())):
                    self._facts.passed.append(Passed(callee, tuple(positional), dict(keywords)))
                if self._keeps_arrays(callee):
                    return Symbol(callee.path.rpartition(".")[0])
                return callee.extend(CALLED)
            case str():
                return self._made_by_function(callee, positional, call, dtype, along=along)
            case Method(name=name):
                if callee.owner.of.startswith("torch.") and name in CASTS:
                    dtype = DTYPE_NAMES.get(name, name)
                return knowledge.result_of_method(callee, call, dtype, along=along)
            case Thing():
                return knowledge.result_of_layer(callee)
            case Elements(container=str(container)):
                return array(container.partition(".")[0], certain=True)
            case Alternatives():
                return either(self._make(option, positional, keywords, call, dtype) for option in callee.values)
            case _:
                return callee if callee is OTHER else None

    def _made_by_function(
        self,
        callee: str,
        positional: Sequence[Binding],
        call: CallSite | None,
        dtype: str | None,
        *,
        along: bool,
    ) -> Binding:
        first = positional[0] if positional else None
        if callee in _MAPPERS:
            self._map(callee, positional)
        if callee in _WRAPPERS:
            return Wrapped(first)
        if callee in _LAYER_LISTS:
            of = either(positional) if callee == "torch.nn.Sequential" else element_of(first)
            return Elements(of, callee)
        if isinstance(first, Symbol) and first.operand.is_parameter and self._knowledge.computes(callee):
            self._facts.parameters.setdefault(first.operand.path, callee.partition(".")[0])
        return self._knowledge.result(callee, call, dtype, along=along)

    def _map(self, mapper: str, positional: Sequence[Binding]) -> None:
        """Record that JAX calls a user's function with arrays, as ``jax.vmap`` does."""
        arrays: tuple[Binding, ...] = (array("jax", certain=False),) * 4
        for function in positional:
            inner = function.function if isinstance(function, Wrapped) else function
            if isinstance(inner, Symbol):
                self._facts.passed.append(Passed(inner, arrays, {}))

    def _keeps_arrays(self, callee: Symbol) -> bool:
        """Whether a method that is called on an array returns an array."""
        if len(self.frameworks) != 1:
            return False
        (root,) = self.frameworks
        owner, _, name = callee.path.rpartition(".")
        if name not in self._knowledge.methods.get(root, ()):
            return False
        is_made = owner.endswith(CALLED) and not self._knowledge.is_class(owner[: -len(CALLED)])
        if not (is_made or owner.endswith((">", "]"))):
            return False
        method = Method(array(root, certain=False), name)
        return isinstance(self._knowledge.result_of_method(method, None, None), Thing)
