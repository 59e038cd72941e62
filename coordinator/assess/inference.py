"""Inference: reads one file and infers its call sites, their arguments, and the values of its names. This module does
no I/O. It reads statements; its base classes read calls (``calls``) and other expressions (``expressions``) and record
what they find (``recorder``).

A name of the user's own code becomes a symbol with an unknown value, because a file may use a name before its
definition, or import the name from another file. ``linking`` determines the value later.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from io import BytesIO
from tokenize import detect_encoding
from typing import ClassVar

from coordinator.assess.annotations import is_alias_of_types
from coordinator.assess.arguments import defaults_of, index_kind, parameter_names, parameters_with_defaults
from coordinator.assess.calls import CallReader
from coordinator.assess.flags import flags_of, flags_under, flags_under_else, text_flag
from coordinator.assess.guards import device_guard, guard_of, guard_of_else, guard_of_error, guard_of_handlers
from coordinator.assess.host_arrays import anywhere, takes_host_by_default
from coordinator.assess.knowledge import Knowledge
from coordinator.assess.local_results import LocalResults
from coordinator.assess.mentions import FileReading, Form, FunctionFact, Mention
from coordinator.assess.python_values import imported_value
from coordinator.assess.recorder import MODULE_SCOPES
from coordinator.assess.syntax import (
    callee_of,
    default_texts,
    is_number,
    is_partial,
    is_setter,
    last_name,
    leaves,
    local_names,
    selections,
    split_lines,
    test_behind,
    test_of_case,
    texts,
    with_text_keys,
)
from coordinator.assess.values import CALLED, SETTER, Elements, Items, Symbol, Thing, either, element_of, item_of
from coordinator.catalogue.surfaces import ROOTS
from coordinator.catalogue.usage.resolver import OTHER, Binding, Resolver, is_class
from coordinator.results.conditions import CallSite

_NUMPY = frozenset({"numpy", "scipy"})
"""Packages whose arrays have some of the methods that arrays of frameworks have."""
_NO_GRADIENT = frozenset({"no_grad", "inference_mode"})
"""Contexts and decorators in which PyTorch computes no gradients."""
_KEEPS_FUNCTION = re.compile(r"cache|memoi|deprecat|validator")
"""Matches the names of decorators that only run before or around a function (``@lru_cache``, ``@deprecated``), or that
check the fields of a class (``@model_validator``)."""
_PROPERTIES = frozenset({"property", "cached_property"})
MOST_CONDITIONS = 32
"""The maximum number of guards, and of flags, that early exits add to the rest of a block."""
_ALIASES = (ast.Name, ast.Attribute)
"""The kinds of expressions that give a value another name."""


class SiteResolver(CallReader):
    """Reads one file into mentions (uses of functions) and facts (definitions)."""

    HANDLERS: ClassVar[Mapping[type, str]] = {
        **Resolver.HANDLERS,
        ast.AugAssign: "_augmented_assignment",
        ast.Return: "_return",
        ast.If: "_if",
        ast.While: "_if",
        ast.For: "_for",
        ast.AsyncFor: "_for",
        ast.comprehension: "_generator",
        ast.Try: "_try",
        ast.TryStar: "_try",
        ast.ExceptHandler: "_handler",
        ast.Assert: "_assert",
        ast.Raise: "_raise",
        ast.Global: "_share",
        ast.Nonlocal: "_share",
        ast.Match: "_match",
        ast.match_case: "_case",
    }

    def read(self, tree: ast.Module) -> FileReading:
        self._visit_all(tree.body)
        module = self.reading.module
        for name, value in self._scopes[1].items():
            self._define(f"{module}.{name}", value)
        self.reading.frameworks = frozenset(self.frameworks)
        self.reading.star_imports = self.star_imports
        if not self.frameworks:
            self.reading.dynamic_names = 0
        # This deletes the reference to the resolver. Otherwise a reference cycle would keep the file's objects, and no
        # garbage collection runs.
        del self._annotations
        return self.reading

    # Imports

    def _import(self, node: ast.Import) -> None:
        super()._import(node)
        self.reading.imports_numpy |= any(alias.name.partition(".")[0] in _NUMPY for alias in node.names)
        self.reading.imports_pandas |= any(alias.name.partition(".")[0] == "pandas" for alias in node.names)
        for alias in node.names:
            root = alias.name.partition(".")[0]
            if root not in ROOTS:
                self._facts.imports.add(alias.name)
                self._bind(alias.asname or root, imported_value(alias.name if alias.asname else root))

    def _import_from(self, node: ast.ImportFrom) -> None:
        root, _, rest = (node.module or "").partition(".")
        if not node.level and root in ROOTS:
            super()._import_from(node)
            if any(alias.name == "*" for alias in node.names):
                stars = self._facts.stars.setdefault(self.reading.module, [])
                stars.append(".".join(filter(None, (ROOTS[root], rest))))
            return
        module = self._absolute(node)
        self.reading.imports_numpy |= not node.level and module.partition(".")[0] in _NUMPY
        self.reading.imports_pandas |= not node.level and module.partition(".")[0] == "pandas"
        for alias in node.names:
            if alias.name == "*":
                self._facts.stars.setdefault(self.reading.module, []).append(module)
            else:
                self._facts.imports.add(f"{module}.{alias.name}")
                self._bind(alias.asname or alias.name, imported_value(f"{module}.{alias.name}"))

    def _absolute(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        parts = self._package.split(".")
        parts = parts[: len(parts) - node.level + 1]
        return ".".join(filter(None, [*parts, node.module]))

    # Assignments

    def _assign(self, node: ast.Assign) -> None:
        for target in node.targets:
            self._set_field(target, node.value)
        match node:
            case ast.Assign(targets=[ast.Name(id="__all__")], value=ast.List(elts=exports) | ast.Tuple(elts=exports)):
                self._facts.exports.update(f"{self.reading.module}.{name}" for name in texts(exports))
        if len(self._scopes) == MODULE_SCOPES and is_alias_of_types(node.value):
            self._bind_type(node.targets[0], node.value)
            return
        is_alias = isinstance(node.value, _ALIASES) and not any(
            isinstance(target, ast.Subscript) for target in node.targets
        )
        names = local_names(node.targets) if self._results else ()
        parts = [id(part) for part in selections(node.value)] if names else ()
        for part in parts:
            self._assigned_mentions[part] = []
        value = self._value(node.value, outer=not is_alias)
        mentions = [number for part in parts for number in self._assigned_mentions.pop(part)]
        for target in node.targets:
            self._bind_target(target, value, node.value)
        if mentions:
            self._results[-1].hold(names, tuple(mentions))

    def _annotated_assignment(self, node: ast.AnnAssign) -> None:
        annotation = self._annotation(node.annotation)
        value = self._value(node.value) if node.value is not None else None
        if node.value is not None:
            self._set_field(node.target, node.value)
        self._bind_target(node.target, annotation if annotation is not None else value, node.value)

    def _bind_type(self, target: ast.expr, types: ast.expr) -> None:
        """Record the value that ``Array = Union[jax.Array, Any]`` describes when it is used as an annotation."""
        if isinstance(target, ast.Name):
            self._bind(target.id, Symbol(f"{self._path}.{target.id}"))
            self._define(f"{self._path}.{target.id}{CALLED}", self._annotation(types, is_passed=True))

    def _bind_target(self, target: ast.expr, value: Binding, source: ast.expr | None = None) -> None:
        match target:
            case ast.Name():
                # For example ``torch = None`` after a failed import, or ``mask = None`` before a branch that assigns an
                # array.
                is_none = type(source) is ast.Constant and source.value is None
                if not (is_none and self._scopes[-1].get(target.id) is not None):
                    self._bind(target.id, None if is_none else value)
            case ast.Tuple() | ast.List():
                for number, part in enumerate(target.elts):
                    self._bind_target(part, item_of(value, number))
            case ast.Starred():
                self._bind_target(target.value, Elements(element_of(value)))
            case ast.Attribute():
                owner = self._value(target.value, outer=False)
                self._note_member(owner, target.attr)
                if source is not None:
                    self._set_flag(target.attr, source)
                    if isinstance(target.value, ast.Name) and target.value.id == "self":
                        self._keep_text(target.attr, source)
                if isinstance(owner, Symbol) and owner.path.endswith(CALLED) and value is not OTHER:
                    self._define(f"{owner.path}.{target.attr}", anywhere(value))
                    self._define_layers(f"{owner.path}.{target.attr}", source)
            case ast.Subscript():
                owner, index = self._value(target.value, outer=False), self._value(target.slice)
                self._note_operation(Form.written, target, index_kind(target.slice, index), owner, index)
            case _:
                self.visit(target)

    def _define_layers(self, path: str, source: ast.expr | None) -> None:
        """Record the layers that a ``ModuleDict`` contains. They become attributes of the ``ModuleDict``."""
        match source:
            case ast.Call(func=function, args=[ast.Dict() as layers]):
                members = list(with_text_keys(layers))
            case ast.Call(func=function, args=[ast.Call(func=ast.Name(id="dict"), args=[], keywords=keywords)]):
                members = [(keyword.arg, keyword.value) for keyword in keywords if keyword.arg is not None]
            case _:
                return
        with self._quiet():
            if self._value(function, outer=False) == "torch.nn.ModuleDict":
                for name, value in members:
                    self._define(f"{path}.{name}", self._value(value))

    def _augmented_assignment(self, node: ast.AugAssign) -> None:
        right = self._value(node.value)
        operator = type(node.op).__name__
        with_target = node.target
        if isinstance(with_target, ast.Name):
            self._read_name(with_target)
            left = self._lookup(with_target.id)
            self._note_operation(Form.in_place, node, operator, left, right)
            self._bind(with_target.id, self._operator_result(left, right))
            return
        if isinstance(with_target, ast.Subscript):
            owner, index = self._value(with_target.value, outer=False), self._value(with_target.slice)
            left = self._index(owner, with_target, index)
            self._note_operation(Form.in_place, node, operator, left, right)
            self._note_operation(Form.written, with_target, index_kind(with_target.slice, index), owner, index)
            return
        left = self._value(with_target, outer=False)
        self._note_operation(Form.in_place, node, operator, left, right)

    # Branches and loops

    def _visit_all(self, nodes: Iterable[ast.AST | None]) -> None:
        guards, flags = self._guards, self._flags
        for node in nodes:
            if node is not None:
                self.visit(node)
                if (passing := test_behind(node)) is not None:
                    self._go_on_if(*passing)
        self._guards, self._flags = guards, flags

    def _go_on_if(self, test: ast.expr, holds: bool) -> None:
        """Record that the next statements of a block run only if a condition holds, or only if it does not hold."""
        guard = device_guard(test, holds=holds)
        # Generated code may have thousands of such statements in one block.
        if guard is not None and len(self._guards) < MOST_CONDITIONS:
            self._guards = (*self._guards, guard)
        if len(self._flags) < MOST_CONDITIONS:
            flags = flags_under(test, self._own_flags) if holds else flags_under_else(test, self._own_flags)
            self._flags = tuple(dict.fromkeys((*self._flags, *flags)))

    def _if(self, node: ast.If | ast.While) -> None:
        self._test(node.test)
        (is_option, is_option_else), before_option = self._option_branches(node), self._is_in_option
        guard = guard_of(node.test)
        with self._under(guard), self._under(guard_of_error(node.body)):
            before = dict(self._scopes[-1])
            self._is_in_option = before_option or is_option
            flags = self._with_flags((*flags_under(node.test, self._own_flags), *self._text_flags(node.test)))
            with self._with_tested_class(node.test), flags, self._block(is_loop=isinstance(node, ast.While)):
                self._visit_all(node.body)
            self._is_in_option = before_option
            after_body = self._scopes[-1]
        self._scopes[-1] = before
        if node.orelse:
            self._is_in_option = before_option or is_option_else
            flags = self._with_flags(flags_under_else(node.test, self._own_flags))
            with (
                self._under(guard_of_else(node.test, guard)),
                self._under(guard_of_error(node.orelse)),
                flags,
                self._block(),
            ):
                self._visit_all(node.orelse)
            self._is_in_option = before_option
        if not leaves(node.body):
            self._scopes[-1] = after_body if leaves(node.orelse) else _merge_names(after_body, self._scopes[-1])

    def _for(self, node: ast.For | ast.AsyncFor) -> None:
        self._bind_target(node.target, self._loop_element(node.iter))
        with self._block(is_loop=True):
            self._visit_all(node.body)
        if node.orelse:
            with self._block():
                self._visit_all(node.orelse)

    def _generator(self, node: ast.comprehension) -> None:
        self._bind_target(node.target, self._loop_element(node.iter))
        for condition in node.ifs:
            self._test(condition)

    def _match(self, node: ast.Match) -> None:
        self._value(node.subject)
        earlier_tests: list[ast.expr] = []
        for case in node.cases:
            test = test_of_case(node.subject, case)
            guards = [device_guard(earlier, holds=False) for earlier in earlier_tests]
            with ExitStack() as stack:
                for guard in (*guards, None if test is None else guard_of(test)):
                    stack.enter_context(self._under(guard))
                self.visit(case)
            earlier_tests += [] if test is None else [test]

    def _case(self, node: ast.match_case) -> None:
        self.visit(node.pattern)
        if node.guard is not None:
            self._value(node.guard)
        with self._block():
            self._visit_all(node.body)

    def _try(self, node: ast.Try) -> None:
        before = dict(self._scopes[-1])
        with self._under(guard_of_handlers(node.handlers)), self._block():
            self._visit_all(node.body)
        after_body = dict(self._scopes[-1])
        for handler in node.handlers:
            self._scopes[-1] = dict(after_body)
            with self._block():
                self.visit(handler)
            after_body = after_body if leaves(handler.body) else _merge_names(after_body, self._scopes[-1])
        self._scopes[-1] = _merge_names(after_body, before)
        self._visit_all([*node.orelse, *node.finalbody])

    def _handler(self, node: ast.ExceptHandler) -> None:
        if node.name is not None:
            self._bind(node.name, OTHER)
        self._visit_all(node.body)

    def _assert(self, node: ast.Assert) -> None:
        inner = node.test.operand if isinstance(node.test, ast.UnaryOp) else node.test
        self._send_to_host(inner)
        self._test(node.test)

    def _raise(self, node: ast.Raise) -> None:
        with self._under(guard_of_error([node])):
            for error in (node.exc, node.cause):
                if error is not None:
                    self._value(error)

    def _with(self, node: ast.With | ast.AsyncWith) -> None:
        names = {last_name(callee_of(item.context_expr)) for item in node.items}
        with self._computing(gradients=_NO_GRADIENT.isdisjoint(names)):
            super()._with(node)

    @contextmanager
    def _computing(self, *, gradients: bool) -> Iterator[None]:
        """Read a block of code. Gradients are computed in the block only if they may be computed both in the block
        itself and in the code around it."""
        before = self._has_gradient
        self._has_gradient = before and gradients
        yield
        self._has_gradient = before

    # Functions and classes

    def _return(self, node: ast.Return) -> None:
        value = self._value(node.value) if node.value is not None else None
        if self._returns:
            self._returns[-1].append(value)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        owner = self._classes[-1]
        decorators = [self._decorator(decorator) for decorator in node.decorator_list]
        path = f"{self._path}.{node.name}"
        self._bind(node.name, Symbol(path))
        sets_property = any(map(is_setter, node.decorator_list))
        name = f"{node.name}.{SETTER}" if sets_property else node.name
        is_static = "staticmethod" in decorators
        receiver: Binding = None
        if owner is not None and not is_static:
            is_of_class = "classmethod" in decorators or node.name in ("__new__", "__init_subclass__")
            receiver = Symbol(owner) if is_of_class else Symbol(owner + CALLED)
        annotation = self._annotation(node.returns)
        has_gradient = _NO_GRADIENT.isdisjoint(decorators)
        with self._inside(name), self._computing(gradients=has_gradient):
            returns = self._enter_function(path, node.args, node.body, receiver)
        callees = map(callee_of, node.decorator_list)
        others = (callee for callee in callees if not _KEEPS_FUNCTION.search(last_name(callee)))
        if any(isinstance(self._silently(callee), Symbol | None) for callee in others):
            # A decorator of the user may store the function in a table.
            self._note(Form.named, Symbol(path), node)
        is_property = not _PROPERTIES.isdisjoint(decorators)
        parameters = parameter_names(node.args)[1 if receiver is not None else 0 :]
        flags = tuple((parameters.index(name), flag) for name, flag in flags_of(node.args, is_method=owner is not None))
        result = annotation if annotation is not None else either(returns)
        overloads = self._overloads.get(path)
        if "overload" in decorators:
            self._overloads[path] = either((overloads, result))
        elif overloads is not None:
            result = overloads
        results = [annotation] if annotation is not None else returns
        returns_numbers = bool(results) and all(map(_is_plain, results))
        device_parameter = parameters.index("device") if takes_host_by_default(node.args) else None
        # A property's value comes from its getter, which has the same name.
        self._facts.functions[f"{path}.{SETTER}" if sets_property else path] = FunctionFact(
            parameters, result, is_property, owner or "", returns_numbers, device_parameter, has_gradient, flags
        )

    def _decorator(self, node: ast.expr) -> str:
        """Record the call that a decorator makes, and return the decorator's name after the last dot."""
        # ``@implements(torch.cholesky)`` says which function the decorated one replaces, and ``@partial(jax.jit, …)``
        # calls its argument.
        before, self._names_replaced = self._names_replaced, not is_partial(node)
        value = self._value(node, outer=False)
        self._names_replaced = before
        if not isinstance(node, ast.Call) and isinstance(value, str):
            self._note(Form.called, value, node, call=CallSite(1, {}))
        return last_name(callee_of(node))

    def _lambda(self, node: ast.Lambda) -> Binding:
        path = f"{self._path}.<lambda {node.lineno}:{node.col_offset}>"
        scope = self._parameters(path, node.args, None)
        self._scopes.append(scope)
        self._classes.append(None)
        self._comprehensions += 1
        before_option = self._is_in_option
        self._is_in_option = before_option or id(node) in self._registered
        value = self._value(node.body)
        self._is_in_option = before_option
        self._comprehensions -= 1
        self._classes.pop()
        self._scopes.pop()
        self._facts.functions[path] = FunctionFact(parameter_names(node.args), value)
        return Symbol(path)

    def _enter_function(
        self, path: str, arguments: ast.arguments, body: Iterable[ast.stmt], receiver: Binding
    ) -> list[Binding]:
        scope = self._parameters(path, arguments, receiver)
        guards, self._guards = self._guards, ()
        is_in_option, self._is_in_option = self._is_in_option, False
        texts_by_parameter = dict(default_texts(arguments))
        self._default_texts.append(texts_by_parameter)
        flags, self._flags = self._flags, ()
        for parameter, default in defaults_of(arguments):
            self._set_flag(parameter.arg, default)
        outer_flags = self._own_flags
        if own_flags := {flag for _, flag in flags_of(arguments, is_method=self._classes[-1] is not None)}:
            self._own_flags = outer_flags | own_flags
            self._facts.off_flags |= own_flags
        if texts_by_parameter and not self._is_test_file:
            self._facts.on_flags.update(text_flag(*default) for default in texts_by_parameter.items())
        self._scopes.append(scope)
        self._classes.append(None)
        self._returns.append([])
        comprehensions, self._comprehensions = self._comprehensions, 0
        self._results.append(LocalResults())
        self._visit_all(body)
        for number in self._results.pop().moved_mentions():
            self.reading.mentions.change(number, lambda mention: mention._replace(goes_to_host=True))
        self._comprehensions = comprehensions
        self._scopes.pop()
        self._classes.pop()
        self._default_texts.pop()
        self._own_flags, self._flags = outer_flags, flags
        self._is_in_option = is_in_option
        self._guards = guards
        return self._returns.pop()

    def _parameters(self, path: str, arguments: ast.arguments, receiver: Binding) -> dict[str, Binding]:
        scope: dict[str, Binding] = {}
        for index, (argument, default) in enumerate(parameters_with_defaults(arguments)):
            default_value = self._value(default) if default is not None else None
            if index == 0 and receiver is not None:
                scope[argument.arg] = receiver
                continue
            parameter = f"{path}<{argument.arg}>"
            annotation = self._annotation(argument.annotation, is_passed=True)
            is_none = isinstance(default, ast.Constant) and default.value is None
            if isinstance(annotation, Symbol) and (isinstance(default_value, str) or _is_function(default_value)):
                # ``dot_general: DotGeneral = lax.dot_general`` is a function, whatever the name of its protocol is.
                scope[argument.arg] = Symbol(parameter)
                self._facts.defaults[parameter] = default_value
            elif annotation is not None and not (isinstance(annotation, Thing) and is_number(default)):
                scope[argument.arg] = self._facts.names[parameter] = annotation
            elif default is not None and not is_none and default_value is OTHER:
                scope[argument.arg] = self._facts.names[parameter] = OTHER
            else:
                scope[argument.arg] = Symbol(parameter)
                if default_value is not None and not is_none:
                    self._facts.defaults[parameter] = default_value
        if arguments.vararg is not None:
            scope[arguments.vararg.arg] = Elements(self._annotation(arguments.vararg.annotation))
        if arguments.kwarg is not None:
            scope[arguments.kwarg.arg] = OTHER
        return scope

    def _class(self, node: ast.ClassDef) -> None:
        path = f"{self._path}.{node.name}"
        self._bind(node.name, Symbol(path))
        for decorator in node.decorator_list:
            self._decorator(decorator)
        with self._quiet():
            self._facts.classes[path] = tuple(self._value(base, outer=False) for base in node.bases)
        self._visit_all(keyword.value for keyword in node.keywords)
        self._scopes.append({})
        self._classes.append(path)
        field_texts, self._field_texts = self._field_texts, {}
        with self._inside(node.name):
            self._visit_all(node.body)
        self._field_texts = field_texts
        self._classes.pop()
        for name, value in self._scopes.pop().items():
            self._define(f"{path}.{name}", value)


def read_file(content: bytes, path: str, module: str, *, is_package: bool, knowledge: Knowledge) -> FileReading:
    """Read one file. Raises the errors of ``ast.parse`` for an unreadable source."""
    reading = SiteResolver(path, module, is_package=is_package, knowledge=knowledge).read(ast.parse(content))
    if not content.isascii():
        encoding, _ = detect_encoding(BytesIO(content).readline)
        reading.mentions.change_all(_with_columns_in_characters(split_lines(content.decode(encoding))))
    return reading


def _with_columns_in_characters(lines: Sequence[str]) -> Callable[[Mention], Mention]:
    """A function that replaces a mention's column, which ``ast`` counts in bytes of UTF-8."""

    def with_column(mention: Mention) -> Mention:
        line = lines[mention.line - 1]
        if line.isascii():
            return mention
        before = line.encode()[: mention.column - 1]
        return mention._replace(column=len(before.decode(errors="replace")) + 1)

    return with_column


def _is_function(value: Binding) -> bool:
    """Whether the name of a value can be a user's function: ``promote_dtype``, ``dtypes.promote_dtype``."""
    return isinstance(value, Symbol) and value.is_plain_name and not is_class(value.path)


def _is_plain(value: Binding) -> bool:
    """Whether a value certainly does not come from a framework: a number, or a tuple of numbers."""
    match value:
        case Items(values):
            return bool(values) and all(map(_is_plain, values))
        case Elements(of):
            return of is OTHER
        case _:
            return value is OTHER


def _merge_names(one: Mapping[str, Binding], other: Mapping[str, Binding]) -> dict[str, Binding]:
    """The names and their values after two alternative branches of a source."""
    names = dict(one)
    for name, value in other.items():
        if name not in one or one[name] is not value:
            names[name] = either((one.get(name), value))
    return names
