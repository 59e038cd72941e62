"""Inference: reads one file and infers its call sites, their arguments, and the values of its names. This module does
no I/O.

A name of the user's own code becomes a symbol with an unknown value, because a file may use a name before its
definition, or import the name from another file. ``linking`` determines the value later.
"""

from __future__ import annotations

import ast
import builtins
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, TypeGuard

from coordinator.assess.annotations import Annotations, is_alias_of_types
from coordinator.assess.arguments import (
    CASTS,
    DTYPE_NAMES,
    DTYPES,
    call_site,
    dtype_of,
    dtypes_of,
    index_dtypes,
    index_kind,
    parameter_names,
    parameters_with_defaults,
)
from coordinator.assess.flags import flags_of, flags_set, flags_under, flags_under_else, name_of, on_by_default
from coordinator.assess.guards import asks_for_device, guard_of, guard_of_else, guard_of_handlers, one_line
from coordinator.assess.harmless import is_test_file
from coordinator.assess.host_arrays import (
    anywhere,
    host_batch,
    is_host_call,
    is_host_operation,
    is_move_to_host,
    member_of_batch,
    on_host,
    takes_host_by_default,
)
from coordinator.assess.knowledge import Knowledge
from coordinator.assess.local_results import LocalResults
from coordinator.assess.mentions import GLOBAL, FileReading, Form, FunctionFact, MemberUse, Mention, Passed
from coordinator.assess.operators import HOST_VALUES
from coordinator.assess.sites import DeviceQuestion, Flag, Guard
from coordinator.assess.values import (
    CALLED,
    ELEMENT,
    LOOKUPS,
    SETTER,
    SUPER,
    Alternatives,
    Elements,
    HostBatch,
    Items,
    Method,
    Symbol,
    Thing,
    Wrapped,
    array,
    either,
    element_of,
    item_of,
)
from coordinator.catalogue.surfaces import ARRAYS, ROOTS
from coordinator.catalogue.usage.resolver import OTHER, Binding, Resolver, Value, is_class
from coordinator.results.conditions import CallSite

_FOREIGN = sys.stdlib_module_names | {"numpy", "scipy", "pandas", "PIL", "cv2", "matplotlib", "pytest", "tqdm"}
"""Packages of other authors whose members never come from a framework."""
_NUMPY = frozenset({"numpy", "scipy"})
"""Packages whose arrays have some of the methods that arrays of frameworks have."""
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
_SAME_ELEMENTS = frozenset({"list", "tuple", "reversed", "sorted", "set", "iter", "deepcopy"})
_UNKNOWN_RESULTS = frozenset({"max", "min", "next", "map", "filter", "vars", "object", "property"})
_MADE_AT_RUN_TIME = frozenset({"getattr", "eval", "exec", "__import__"})
"""Functions that take a text, which is a name or code, and use it at run time."""
_OTHER_BUILTINS = frozenset({"super", "abs", "sum", "zip", "enumerate", "staticmethod"})
_KIND_QUESTIONS = frozenset({"isinstance", "issubclass", "hasattr", "callable", "type", "id", "repr", "str", "print"})
_LAYER_LISTS = frozenset(
    {"torch.nn.ModuleList", "torch.nn.Sequential", "torch.nn.ParameterList", "torch.nn.ModuleDict"}
)
_TO_PYTHON = frozenset({"cpu", "item", "numpy", "tolist"})
"""Methods that move an array to the host."""
_TAKES_TO_PYTHON = frozenset({"print", *HOST_VALUES})
"""Python functions that move an array to the host."""
_LOGGER = re.compile(r"_*log(?:ger|ging)?_*", re.IGNORECASE)
_LOG_LEVELS = frozenset({"critical", "debug", "error", "exception", "info", "warning"})
_SUMMARIES = re.compile(r"add_(?:audio|figure|histogram|image|images|scalar|scalars|video)")
"""Matches the methods of TensorBoard's writer, which writes values into a file."""
_PARTS = frozenset({"values", "indices", "data"})
"""Attributes of a function's result that are a part of the result or the whole result, as in ``x.max(0).values``."""
_VIEWS = frozenset({"detach", "flatten", "ravel", "reshape", "squeeze", "unsqueeze", "view"})
"""Methods that return the same values in another shape."""
_NO_GRADIENT = frozenset({"no_grad", "inference_mode"})
"""Contexts and decorators in which PyTorch computes no gradients."""
_KEEPS_FUNCTION = re.compile(r"cache|memoi|deprecat")
"""Matches the names of decorators that only run before or around a function: ``@lru_cache``, ``@deprecated``."""
_PROPERTIES = frozenset({"property", "cached_property"})
_SETTERS = frozenset({"setter", "deleter"})
"""The names of decorators of functions that set or delete a property: ``@scale.setter``."""
_REGISTRATIONS = (".register_buffer", ".register_parameter", ".register_module", ".add_module")


_MODULE_SCOPES = 2
"""The number of open scopes at the top of a file: one with Python's built-in names, one with the module's names."""


class Builtin(Value):
    """A Python function whose result type depends on its arguments."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


_BUILTINS: Mapping[str, Binding] = {
    **dict.fromkeys(dir(builtins), OTHER),
    **dict.fromkeys(_UNKNOWN_RESULTS),
    **{name: Builtin(name) for name in (*_SAME_ELEMENTS, *_MADE_AT_RUN_TIME, *_KIND_QUESTIONS, *_OTHER_BUILTINS)},
}
_STANDARD: Mapping[tuple[str, str], Binding] = {
    ("functools", "partial"): Builtin("partial"),
    ("functools", "reduce"): None,
    ("importlib", "import_module"): Builtin("__import__"),
    ("copy", "deepcopy"): Builtin("deepcopy"),
    ("copy", "copy"): Builtin("deepcopy"),
}
_MODULES: Mapping[str, Binding] = {name: Builtin(name) for name in ("functools", "copy", "importlib")}


class SiteResolver(Resolver):
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
        ast.Global: "_share",
        ast.Nonlocal: "_share",
        ast.match_case: "_case",
    }
    EXPRESSIONS: ClassVar[Mapping[type, str]] = {
        **Resolver.EXPRESSIONS,
        ast.Subscript: "_subscript",
        ast.UnaryOp: "_unary",
        ast.Compare: "_compare",
        ast.BoolOp: "_boolean",
        ast.IfExp: "_choice",
        ast.Tuple: "_items",
        ast.List: "_items",
        ast.Dict: "_mapping",
        ast.NamedExpr: "_walrus",
        ast.Starred: "_starred_element",
        ast.Await: "_await",
        ast.FormattedValue: "_format_value",
    }

    def __init__(self, path: str, module: str, *, is_package: bool, knowledge: Knowledge) -> None:
        super().__init__()
        self.reading = FileReading(path, module, is_package=is_package)
        self._facts = self.reading.facts
        self._knowledge = knowledge
        self._package = module if is_package else module.rpartition(".")[0]
        self._scopes = [dict(_BUILTINS), {}]
        self._annotations = Annotations(partial(self._value, outer=False), self._define_type, knowledge)
        self._within: list[str] = []
        self._member_uses: set[MemberUse] = set()
        self._function_name = ""
        self._shared: dict[str, Symbol] = {}
        """Symbols by path. Equal symbols share one object, because a file has many symbols and few different ones."""
        self._classes: list[str | None] = [None]
        """For each open scope, the path of the class if the scope is the body of a class, otherwise None."""
        self._returns: list[list[Binding]] = []
        self._guards: tuple[Guard, ...] = ()
        self._silent = 0
        self._overloads: dict[str, Binding] = {}
        """The declared return value of a function, by its path. It comes from the overloads (``@overload``) before the
        function's definition."""
        self._host_bound: set[int] = set()
        """The ids of the syntax nodes whose values are moved to the host immediately."""
        self._results: list[LocalResults] = []
        """The results that local names hold, for each open function."""
        self._assigned_mentions: dict[int, list[int]] = {}
        """For each syntax node whose value is being assigned, by its id: the numbers of its mentions."""
        self._comprehensions = 0
        """The number of open comprehensions and lambdas."""
        self._loop_expressions: set[int] = set()
        """The ids of the syntax nodes that loops run over."""
        self._options: set[int] = set()
        """The ids of the syntax nodes that are entries of a table, from which the program selects at run time."""
        self._is_in_option = False
        """Whether the current branch is an entry of a table in the form of conditions."""
        self._has_gradient = True
        """Whether gradients may be computed in the current block."""
        self._later_branches: set[int] = set()
        """The ids of the ``elif`` branches that compare the same name as the branch before."""
        self._default_texts: list[Mapping[str, str]] = [{}]
        """For each open function, its parameters whose defaults are texts."""
        self._own_flags: frozenset[Flag] = frozenset()
        """The parameters of the open functions that are off by default."""
        self._flags: tuple[Flag, ...] = ()
        """The flags that must be on in the current block."""
        self._is_test_file = is_test_file(path)
        self._loops = 0
        """The number of open loops outside of functions."""
        self._names_replaced = False
        """Whether names are arguments of a decorator, where they do not count as uses."""
        self._takes_calls_alone = False
        """Whether the current expression is an argument of ``isinstance`` or a similar function, where names do not
        count as uses."""

    def read(self, tree: ast.Module) -> FileReading:
        self.visit(tree)
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

    # Flags

    @contextmanager
    def _with_flags(self, flags: Iterable[Flag]) -> Iterator[None]:
        """Read a block that runs only if all these flags are on."""
        before = self._flags
        self._flags = tuple(dict.fromkeys((*before, *flags)))
        yield
        self._flags = before

    def _set_flag(self, name: str, value: ast.expr) -> None:
        """Record that a flag gets a value. Tests do not count, because they try all modes."""
        if not self._is_test_file:
            self._facts.on_flags.update(flags_set(name, value, self._own_flags))

    def _set_field(self, target: ast.expr, value: ast.expr) -> None:
        """Record the default of a field of a class, if it may be a flag: ``sparse: bool = False``."""
        if self._classes[-1] is not None and isinstance(target, ast.Name):
            if isinstance(value, ast.Constant) and value.value is False:
                self._facts.off_flags.add(Flag(name_of(target)))
            else:
                self._set_flag(target.id, value)

    # Recording uses

    @contextmanager
    def _quiet(self) -> Iterator[None]:
        """Record no uses inside this context, because an annotation only mentions names and does not use them."""
        self._silent += 1
        yield
        self._silent -= 1

    @contextmanager
    def _calls_alone(self) -> Iterator[None]:
        """Record only calls inside this context: ``isinstance(x, nn.Linear)`` mentions a layer and creates none, but
        ``print(x.sum())`` computes."""
        before, self._takes_calls_alone = self._takes_calls_alone, True
        yield
        self._takes_calls_alone = before

    @contextmanager
    def _inside(self, name: str) -> Iterator[None]:
        before = self._function_name
        self._within.append(name)
        self._function_name = ".".join(self._within)
        yield
        self._within.pop()
        self._function_name = before

    @contextmanager
    def _under(self, guard: Guard | None) -> Iterator[None]:
        before = self._guards
        if guard is not None:
            self._guards = (*before, guard)
        yield
        self._guards = before

    def _note(
        self,
        form: Form,
        value: Binding,
        node: ast.AST,
        *,
        call: CallSite | None = None,
        other: Binding = None,
        operator: str = "",
        dtypes: Iterable[str] = (),
        is_on_host: bool = False,
    ) -> None:
        if self._silent or (self._takes_calls_alone and form is Form.named):
            return
        line, column = node.lineno, node.col_offset + 1  # type: ignore[attr-defined]
        if form is Form.called and isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            # In a chain over several lines, the position of a call is that of its method's name.
            function = node.func
            line = function.end_lineno or line
            column = (function.end_col_offset or len(function.attr)) - len(function.attr.encode()) + 1
        if id(node) in self._assigned_mentions:
            self._assigned_mentions[id(node)].append(self.reading.mentions.added)
        self.reading.mentions.append(
            Mention(
                form,
                self._shared.setdefault(value.path, value) if isinstance(value, Symbol) else value,
                line,
                column,
                self._function_name,
                call,
                other,
                operator,
                self._guards,
                frozenset(dtypes),
                is_on_host,
                id(node) in self._host_bound,
                self._is_in_option or id(node) in self._options,
                self._results[-1].is_in_loop if self._results else self._loops > 0,
                self._has_gradient,
                self._flags,
            )
        )

    def _note_operation(self, form: Form, node: ast.AST, operator: str, left: Binding, right: Binding = None) -> None:
        if any(isinstance(side, (Thing, Symbol, Alternatives)) for side in (left, right)):
            is_indexing = form in (Form.indexed, Form.written)
            # The index may be on the host even if it selects from an array on a device.
            operands = (left,) if is_indexing else (left, right)
            self._note(
                form,
                left,
                node,
                other=right,
                operator=operator,
                dtypes=index_dtypes(operator, left, right) if is_indexing else dtypes_of((left, right)),
                is_on_host=is_host_operation(*operands),
            )

    def _note_member(self, owner: Binding, name: str) -> None:
        """Record the use of a member that may be a method of the user's own class."""
        match owner:
            case None:
                is_own = False
            case Symbol(path) if path.endswith(CALLED) and path.removesuffix(CALLED) in self._classes:
                is_own = True
            case Symbol(path) if not (path.endswith(SUPER) or owner.is_plain_name):
                is_own = False
            case _:
                return
        use = MemberUse(self._function_name, name, is_own)
        if use not in self._member_uses:
            self._member_uses.add(use)
            self.reading.members.append(use)

    def _send_to_host(self, node: ast.expr) -> None:
        """Record that the value of an expression is moved to the host immediately."""
        self._host_bound.update(map(id, _selections(node)))

    @contextmanager
    def _block(self, *, is_loop: bool = False) -> Iterator[None]:
        """Read a block that runs on a condition."""
        results = self._results[-1] if self._results else LocalResults()
        results.enter_block(is_loop=is_loop)
        is_outer_loop = is_loop and not self._results
        self._loops += is_outer_loop
        yield
        self._loops -= is_outer_loop
        results.leave_block(is_loop=is_loop)

    def _bind(self, name: str, binding: Binding) -> None:
        super()._bind(name, binding)
        if self._results:
            self._results[-1].bind(name, is_inner=self._comprehensions > 0)

    def _read_name(self, node: ast.Name) -> None:
        for results in self._results:
            results.read(node.id, is_move=id(node) in self._host_bound)

    def _share(self, node: ast.Global | ast.Nonlocal) -> None:
        if self._results:
            self._results[-1].share(node.names)

    def _case(self, node: ast.match_case) -> None:
        self.visit(node.pattern)
        if node.guard is not None:
            self._value(node.guard)
        with self._block():
            self._visit_all(node.body)

    def _note_name(self, name: str, node: ast.expr) -> None:
        if name.rpartition(".")[2] not in DTYPES and not self._names_replaced:
            self._note(Form.named, name, node)

    def _ask(self, node: ast.Attribute | ast.Call) -> None:
        if asks_for_device(node):
            self.reading.questions.append(DeviceQuestion(self.reading.path, node.lineno, one_line(node)))

    def _define(self, path: str, value: Binding) -> None:
        # A defined name has one value, but an import may bind one of several values.
        if value is not None and not (isinstance(value, Symbol) and value.path == path):
            self._facts.names[path] = either((self._facts.names.get(path), value))

    def _define_type(self, value: Value) -> Symbol:
        """Store a value that an annotation describes, and return a symbol for it."""
        type_name = Symbol(f"{self.reading.module}.@{len(self._facts.names)}")
        self._facts.names[type_name.path] = value
        return type_name

    @property
    def _path(self) -> str:
        return ".".join((self.reading.module, *self._within))

    # Names

    def _lookup(self, name: str) -> Binding:
        for scope in reversed(self._scopes):
            if name in scope:
                return scope[name]
        # The module may define the name further down, or import it by ``import *``.
        return Symbol(f"{self.reading.module}.{name}")

    def _import(self, node: ast.Import) -> None:
        super()._import(node)
        self.reading.imports_numpy |= any(alias.name.partition(".")[0] in _NUMPY for alias in node.names)
        self.reading.imports_pandas |= any(alias.name.partition(".")[0] == "pandas" for alias in node.names)
        for alias in node.names:
            root = alias.name.partition(".")[0]
            if root not in ROOTS:
                self._facts.imports.add(alias.name)
                self._bind(alias.asname or root, _imported_value(alias.name if alias.asname else root))

    def _import_from(self, node: ast.ImportFrom) -> None:
        if not node.level and (node.module or "").partition(".")[0] in ROOTS:
            super()._import_from(node)
            return
        module = self._absolute(node)
        self.reading.imports_numpy |= not node.level and module.partition(".")[0] in _NUMPY
        self.reading.imports_pandas |= not node.level and module.partition(".")[0] == "pandas"
        for alias in node.names:
            if alias.name == "*":
                self._facts.stars.setdefault(self.reading.module, []).append(module)
            else:
                self._facts.imports.add(f"{module}.{alias.name}")
                self._bind(alias.asname or alias.name, _imported_value(f"{module}.{alias.name}"))

    def _absolute(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        parts = self._package.split(".")
        parts = parts[: len(parts) - node.level + 1]
        return ".".join(filter(None, [*parts, node.module]))

    # Statements

    def _assign(self, node: ast.Assign) -> None:
        for target in node.targets:
            self._set_field(target, node.value)
        match node:
            case ast.Assign(targets=[ast.Name(id="__all__")], value=ast.List(elts=exports) | ast.Tuple(elts=exports)):
                self._facts.exports.update(f"{self.reading.module}.{name}" for name in _texts(exports))
        if len(self._scopes) == _MODULE_SCOPES and is_alias_of_types(node.value):
            self._bind_type(node.targets[0], node.value)
            return
        is_alias = isinstance(node.value, ast.Name | ast.Attribute) and not any(
            isinstance(target, ast.Subscript) for target in node.targets
        )
        names = _local_names(node.targets) if self._results else ()
        parts = [id(part) for part in _selections(node.value)] if names else ()
        self._assigned_mentions |= {part: [] for part in parts}
        value = self._value(node.value, outer=not is_alias)
        mentions = tuple(number for part in parts for number in self._assigned_mentions.pop(part))
        for target in node.targets:
            self._bind_target(target, value, node.value)
        if mentions:
            self._results[-1].hold(names, mentions)

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
                is_none = isinstance(source, ast.Constant) and source.value is None
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
                members = list(_with_text_keys(layers))
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

    def _return(self, node: ast.Return) -> None:
        value = self._value(node.value) if node.value is not None else None
        if self._returns:
            self._returns[-1].append(value)

    def _if(self, node: ast.If | ast.While) -> None:
        self._test(node.test)
        is_option, before_option = self._is_option_branch(node), self._is_in_option
        guard = guard_of(node.test)
        with self._under(guard):
            before = dict(self._scopes[-1])
            self._is_in_option = before_option or is_option
            flags = self._with_flags(flags_under(node.test, self._own_flags))
            with self._with_tested_class(node.test), flags, self._block(is_loop=isinstance(node, ast.While)):
                self._visit_all(node.body)
            self._is_in_option = before_option
            after_body = self._scopes[-1]
        self._scopes[-1] = before
        flags = self._with_flags(flags_under_else(node.test, self._own_flags))
        with self._under(guard_of_else(node.test, guard)), flags, self._block():
            self._visit_all(node.orelse)
        if not _leaves(node.body):
            self._scopes[-1] = after_body if _leaves(node.orelse) else _merge_names(after_body, self._scopes[-1])

    def _is_option_branch(self, node: ast.If | ast.While) -> bool:
        """Whether a branch is an entry of a table in the form of conditions: ``if pool == "max": … elif pool ==
        "mean": …``. The branch of a parameter's default is excluded, because most programs select it."""
        choice = _choice_of(node.test)
        if choice is None or isinstance(node, ast.While):
            return False
        name, texts = choice
        is_of_chain = id(node) in self._later_branches
        match node.orelse:
            case [ast.If(test=test) as branch] if (_choice_of(test) or ("", ()))[0] == name:
                self._later_branches.add(id(branch))
                is_of_chain = True
        return is_of_chain and self._default_texts[-1].get(name) not in texts

    def _test(self, node: ast.expr) -> None:
        """Read a condition. Python moves the value of an array to the host to decide the condition."""
        match node:
            case ast.BoolOp(values=parts):
                for part in parts:
                    self._test(part)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                self._test(operand)
            case _:
                value = self._value(node, outer=False)
                # ``if mask:`` may only test whether there is a mask.
                if isinstance(value, Thing) and value.is_array and (value.certain or value.dtype == "bool"):
                    self._note_operation(Form.unary, node, "bool", value)

    @contextmanager
    def _with_tested_class(self, test: ast.expr) -> Iterator[None]:
        """Read the code under ``isinstance(x, jax.Array)`` with ``x`` as an array."""
        name, value = self._tested_class(test)
        scope = self._scopes[-1]
        before = scope.get(name)
        if value is not None:
            scope[name] = value
        yield
        if value is not None and self._scopes[-1].get(name) is value:
            self._scopes[-1][name] = before if before is not None else self._lookup_outside(name)

    def _lookup_outside(self, name: str) -> Binding:
        """The value of a name in the scopes around the innermost scope."""
        return next((scope[name] for scope in reversed(self._scopes[:-1]) if name in scope), None)

    def _tested_class(self, test: ast.expr) -> tuple[str, Binding]:
        """Return the variable whose class a condition tests (``isinstance(x, Tensor)``), and its value.

        The value is what the variable has if the condition is true.
        """
        match test:
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                name, value = self._tested_class(operand)
                return name, OTHER if isinstance(value, Thing) and value.is_array else None
            case ast.BoolOp(op=ast.And(), values=[first, *_]):
                return self._tested_class(first)
            case ast.Call(func=ast.Name(id="isinstance"), args=[ast.Name(id=name), classes]):
                options = classes.elts if isinstance(classes, ast.Tuple) else [classes]
                return name, either(map(self._instance_of, options))
            case _:
                return "", None

    def _instance_of(self, node: ast.expr) -> Binding:
        """An instance of the class that an expression names. An instance of another package's class, such as
        ``np.ndarray``, is certainly no array of a framework."""
        value = self._annotation(node)
        return OTHER if value is None and self._silently(node) is OTHER else value

    def _with(self, node: ast.With | ast.AsyncWith) -> None:
        names = {_last_name(_callee_of(item.context_expr)) for item in node.items}
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

    def _for(self, node: ast.For | ast.AsyncFor) -> None:
        self._bind_target(node.target, self._loop_element(node.iter))
        with self._block(is_loop=True):
            self._visit_all(node.body)
        with self._block():
            self._visit_all(node.orelse)

    def _generator(self, node: ast.comprehension) -> None:
        self._bind_target(node.target, self._loop_element(node.iter))
        for condition in node.ifs:
            self._test(condition)

    def _try(self, node: ast.Try) -> None:
        before = dict(self._scopes[-1])
        with self._under(guard_of_handlers(node.handlers)), self._block():
            self._visit_all(node.body)
        after_body = dict(self._scopes[-1])
        for handler in node.handlers:
            self._scopes[-1] = dict(after_body)
            with self._block():
                self.visit(handler)
            after_body = after_body if _leaves(handler.body) else _merge_names(after_body, self._scopes[-1])
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

    # Definitions

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        owner = self._classes[-1]
        decorators = [self._decorator(decorator) for decorator in node.decorator_list]
        path = f"{self._path}.{node.name}"
        self._bind(node.name, Symbol(path))
        is_setter = any(map(_is_setter, node.decorator_list))
        name = f"{node.name}.{SETTER}" if is_setter else node.name
        is_static = "staticmethod" in decorators
        receiver: Binding = None
        if owner is not None and not is_static:
            is_of_class = "classmethod" in decorators or node.name in ("__new__", "__init_subclass__")
            receiver = Symbol(owner) if is_of_class else Symbol(owner + CALLED)
        annotation = self._annotation(node.returns)
        has_gradient = _NO_GRADIENT.isdisjoint(decorators)
        with self._inside(name), self._computing(gradients=has_gradient):
            returns = self._enter_function(path, node.args, node.body, receiver)
        callees = map(_callee_of, node.decorator_list)
        others = (callee for callee in callees if not _KEEPS_FUNCTION.search(_last_name(callee)))
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
        self._facts.functions[f"{path}.{SETTER}" if is_setter else path] = FunctionFact(
            parameters, result, is_property, owner or "", returns_numbers, device_parameter, has_gradient, flags
        )

    def _silently(self, node: ast.expr) -> Binding:
        with self._quiet():
            return self._value(node, outer=False)

    def _decorator(self, node: ast.expr) -> str:
        """Record the call that a decorator makes, and return the decorator's name after the last dot."""
        # ``@implements(torch.cholesky)`` says which function the decorated one replaces, and ``@partial(jax.jit, …)``
        # calls its argument.
        before, self._names_replaced = self._names_replaced, not _is_partial(node)
        value = self._value(node, outer=False)
        self._names_replaced = before
        if not isinstance(node, ast.Call) and isinstance(value, str):
            self._note(Form.called, value, node, call=CallSite(1, {}))
        return _last_name(_callee_of(node))

    def _lambda(self, node: ast.Lambda) -> Binding:
        path = f"{self._path}.<lambda {node.lineno}:{node.col_offset}>"
        scope = self._parameters(path, node.args, None)
        self._scopes.append(scope)
        self._classes.append(None)
        self._comprehensions += 1
        value = self._value(node.body)
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
        self._default_texts.append(dict(_default_texts(arguments)))
        flags, self._flags = self._flags, ()
        outer_flags = self._own_flags
        own_flags = {flag for _, flag in flags_of(arguments, is_method=self._classes[-1] is not None)}
        self._own_flags = outer_flags | own_flags
        self._facts.off_flags |= own_flags
        if not self._is_test_file:
            for name in on_by_default(arguments):
                self._facts.on_flags |= {Flag(name), Flag(name, is_none=True)}
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
            elif annotation is not None and not (isinstance(annotation, Thing) and _is_number(default)):
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
        with self._inside(node.name):
            self._visit_all(node.body)
        self._classes.pop()
        for name, value in self._scopes.pop().items():
            self._define(f"{path}.{name}", value)

    # Annotations

    def _annotation(self, node: ast.expr | None, *, is_passed: bool = False) -> Any:
        """The value that an annotation describes. ``is_passed`` is true for the annotation of a parameter."""
        if node is None:
            return None
        with self._quiet():
            return self._annotations.value_passed(node) if is_passed else self._annotations.value(node)

    # Expressions

    def _name(self, node: ast.Name, outer: bool) -> Binding:
        if not isinstance(node.ctx, ast.Load):
            self._bind(node.id, None)
            return None
        self._read_name(node)
        value = self._lookup(node.id)
        if outer and type(value) is str and "." in value:
            self._note_name(value, node)
        elif outer and isinstance(value, Symbol) and value.is_plain_name:
            self._note(Form.named, value, node)
        return value

    def _member(self, owner: Binding, node: ast.Attribute, outer: bool) -> Binding:
        self._ask(node)
        self._note_member(owner, node.attr)
        match owner:
            case Thing():
                member = self._knowledge.member(owner, node.attr)
                if owner.is_array and node.attr in self._knowledge.properties:
                    self._note(Form.read, owner, node, operator=node.attr, dtypes=dtypes_of((owner,)))
                elif outer:
                    self._note(Form.named, member, node)
                return member
            case Symbol():
                self._use_parameter(owner, node.attr, is_called=False)
                if node.attr in self._knowledge.properties:
                    self._note(Form.read, owner, node, operator=node.attr)
                return owner.extend(f".{node.attr}")
            case Method():
                # For ``x.at[index].set``, the surfaces list the members of ``at`` under the name of the array.
                return OTHER if owner.owner.is_array and owner.name != "at" else owner
            case HostBatch():
                return member_of_batch(owner, node.attr)
            case Elements() if node.attr in ("values", "indices"):
                return owner.of
            case Builtin():
                return _STANDARD.get((owner.name, node.attr), OTHER)
            case Alternatives():
                options = [self._member(option, node, outer) for option in owner.values]
                return either(options)
            case _:
                return super()._member(owner, node, outer)

    def _use_parameter(self, owner: Binding, member: str, *, is_called: bool) -> None:
        """Treat a parameter as an array if the function uses a member that only arrays have.

        A method counts only if it is called, because in an object of another class ``measurement.cov`` can be a number
        or an array.
        """
        if not (isinstance(owner, Symbol) and owner.is_parameter and len(self.frameworks) == 1):
            return
        (root,) = self.frameworks
        is_plain_property = member in ("shape", "dtype", "device", "ndim")
        is_used_so = is_called or member in self._knowledge.properties
        if is_plain_property or (is_used_so and self._knowledge.told_by_name(member, root)):
            self._facts.parameters.setdefault(owner.path, root)

    def _call(self, node: ast.Call) -> Binding:
        match node:
            case ast.Call(func=ast.Attribute(value=receiver, attr=name)) if name in _TO_PYTHON or _is_to_cpu(node):
                self._send_to_host(receiver)
            case ast.Call(args=arguments) if _writes_text(node.func):
                for argument in arguments:
                    self._send_to_host(argument)
            case ast.Call(func=ast.Name(id="dict"), keywords=entries):
                self._add_options([entry.value for entry in entries])
        if isinstance(node.func, ast.Attribute) and node.func.attr in LOOKUPS:
            self._select_from(node.func.value)
        callee = self._value(node.func, outer=False)
        self._ask(node)
        if isinstance(callee, Symbol):
            owner, _, member = callee.path.rpartition(".")
            self._use_parameter(Symbol(owner), member, is_called=True)
        if isinstance(callee, Builtin) and callee.name in _KIND_QUESTIONS:
            with self._calls_alone():
                self._arguments(node)
            return OTHER
        positional, keywords = self._arguments(node)
        if not isinstance(callee, str):
            for keyword in node.keywords:
                if keyword.arg is not None:
                    self._set_flag(keyword.arg, keyword.value)
        call = call_site(node, positional, keywords)
        if isinstance(node.func, ast.Name) and node.func.id == "range":
            self._count_by(node.args)
        if callee is OTHER and isinstance(node.func, ast.Name) and node.func.id == "dict" and keywords:
            named_values = (element_of(value) if name == "**" else value for name, value in keywords.items())
            return Elements(either([*named_values, *map(element_of, positional)]))
        if callee is OTHER and isinstance(node.func, ast.Name) and node.func.id in HOST_VALUES and positional:
            self._note_operation(Form.unary, node, node.func.id, positional[0])
        if isinstance(node.func, ast.Attribute) and node.func.attr in LOOKUPS:
            table = self._silently(node.func.value)
            if isinstance(table, Elements) and table.container is None:
                return either((element_of(table), *positional[1:2]))
        if isinstance(callee, Builtin):
            return self._built_in(callee.name, node, positional)
        if isinstance(callee, Wrapped):
            # The arguments of the inner function are unknown, because some of them may be in the wrapper: ``partial(f,
            # x)(y)``.
            call, callee = None, callee.function
        dtype = dtype_of(keywords.get("dtype")) or next(filter(None, map(dtype_of, positional)), None)
        dtypes = dtypes_of((*positional, *keywords.values(), callee.owner if isinstance(callee, Method) else None))
        if isinstance(callee, Items | Elements) and isinstance(node.func, ast.Attribute):
            self._grow(node.func, positional)
        is_of_global = self._is_of_global(node.func)
        if callee is None and self._is_told_by_name(node.func) and not is_of_global:
            self._note(Form.called, Symbol(f"?.{node.func.attr}"), node, call=call, dtypes=dtypes)
        is_on_host = is_host_call(callee, call, positional, keywords, is_cast=dtype is not None)
        if isinstance(callee, str | Method | Thing | Symbol | Alternatives | Elements):
            operator = GLOBAL if is_of_global else ""
            self._note(Form.called, callee, node, call=call, operator=operator, dtypes=dtypes, is_on_host=is_on_host)
        self._register(callee, node, positional)
        if not isinstance(callee, str) and (batch := host_batch(node)) is not None:
            return batch
        value = self._make(callee, positional, keywords, call, dtype)
        if isinstance(callee, Symbol) and self.frameworks == {"torch"} and is_move_to_host(callee, node):
            return array("torch", certain=False, dtype=dtype, is_on_host=True)
        return on_host(value) if is_on_host else value

    def _is_told_by_name(self, function: ast.expr) -> TypeGuard[ast.Attribute]:
        """Whether the function is a method whose name alone shows that the object of the method is an array."""
        return isinstance(function, ast.Attribute) and any(
            self._knowledge.told_by_name(function.attr, root) for root in self.frameworks
        )

    def _is_of_global(self, function: ast.expr) -> bool:
        """Whether a call goes through a global name that may hold a module: ``cp.unique(x)`` after an import of ``cp``
        that may fail, or ``lib.unique(x)`` after ``lib = cp``."""
        if not (self._within and self._is_told_by_name(function)):
            return False
        owner = function.value
        if not isinstance(owner, ast.Name):
            return False
        if not any(owner.id in scope for scope in self._scopes[_MODULE_SCOPES:]):
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
        if isinstance(callee, Symbol) and callee.path.endswith(".append") and positional:
            self._define(callee.path.removesuffix(".append") + ELEMENT, positional[0])
        if isinstance(callee, Symbol) and callee.path.endswith(_REGISTRATIONS) and len(positional) >= 2:
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
        keywords = {keyword.arg or "**": self._value(keyword.value) for keyword in node.keywords}
        return positional, keywords

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
            case _ if name in _SAME_ELEMENTS:
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
        along = any(name in keywords for name in ("dim", "descending")) or (
            positional[-1:] == [OTHER] and len(positional) > (0 if isinstance(callee, Method) else 1)
        )
        match callee:
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
            case Symbol():
                if any(value is not None and value is not OTHER for value in (*positional, *keywords.values())):
                    self._facts.passed.append(Passed(callee, tuple(positional), dict(keywords)))
                if self._keeps_arrays(callee):
                    return Symbol(callee.path.rpartition(".")[0])
                return callee.extend(CALLED)
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
        if isinstance(first, Symbol) and first.is_parameter and self._knowledge.computes(callee):
            self._facts.parameters.setdefault(first.path, callee.partition(".")[0])
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
        owner, _, name = callee.path.rpartition(".")
        is_made = owner.endswith(CALLED) and not self._knowledge.is_class(owner[: -len(CALLED)])
        if not (is_made or owner.endswith((">", "]"))) or len(self.frameworks) != 1:
            return False
        (root,) = self.frameworks
        if name not in self._knowledge.methods[root]:
            return False
        method = Method(array(root, certain=False), name)
        return isinstance(self._knowledge.result_of_method(method, None, None), Thing)

    def _operation(self, node: ast.BinOp) -> Binding:
        if isinstance(node.op, ast.Mod) and _is_text(node.left):
            for part in node.right.elts if isinstance(node.right, ast.Tuple) else (node.right,):
                self._send_to_host(part)
        left, right = self._value(node.left), self._value(node.right)
        self._note_operation(Form.binary, node, type(node.op).__name__, left, right)
        if isinstance(node.op, ast.Add | ast.Mult) and isinstance(left, Items | Elements):
            return Elements(either((element_of(left), element_of(right))))
        return self._operator_result(left, right)

    def _operator_result(self, left: Binding, right: Binding) -> Binding:
        """The value of an operator. It is an array if one operand is an array."""
        for side, other in ((left, right), (right, left)):
            if isinstance(side, Thing) and side.is_array:
                dtype = side.dtype if other is OTHER or getattr(other, "dtype", None) == side.dtype else None
                is_on_host = is_host_operation(left, right)
                return Thing(ARRAYS[side.of.partition(".")[0]], side.certain, dtype, is_on_host=is_on_host)
        if left is OTHER and right is OTHER:
            return OTHER
        return either(side for side in (left, right) if isinstance(side, Symbol | Alternatives))

    def _unary(self, node: ast.UnaryOp) -> Binding:
        value = self._value(node.operand)
        if isinstance(node.op, ast.Not):
            return OTHER
        self._note_operation(Form.unary, node, type(node.op).__name__, value)
        return self._operator_result(value, OTHER)

    def _compare(self, node: ast.Compare) -> Binding:
        left, result = self._value(node.left, outer=False), OTHER
        comparison: Binding = result
        for operator, comparator in zip(node.ops, node.comparators, strict=True):
            right = self._value(comparator, outer=False)
            asks_array = not isinstance(operator, ast.Is | ast.IsNot | ast.In | ast.NotIn)
            if asks_array and not any(map(_is_text, (node.left, comparator))):
                self._note_operation(Form.binary, node, type(operator).__name__, left, right)
                comparison = self._operator_result(left, right)
            left = right
        return replace(comparison, dtype="bool") if isinstance(comparison, Thing) else comparison

    def _boolean(self, node: ast.BoolOp) -> Binding:
        return either([self._value(value, outer=False) for value in node.values])

    def _choice(self, node: ast.IfExp) -> Binding:
        self._test(node.test)
        guard = guard_of(node.test)
        flags = self._with_flags(flags_under(node.test, self._own_flags))
        with self._under(guard), self._with_tested_class(node.test), flags:
            value = self._value(node.body)
        flags = self._with_flags(flags_under_else(node.test, self._own_flags))
        with self._under(guard_of_else(node.test, guard)), flags:
            return either([value, self._value(node.orelse)])

    def _items(self, node: ast.Tuple | ast.List) -> Binding:
        if id(node) not in self._loop_expressions:
            self._add_options(node.elts)
        values = [self._value(part) for part in node.elts]
        if any(isinstance(part, ast.Starred) for part in node.elts):
            return Elements(either(values))
        return Items(tuple(values)) if isinstance(node, ast.Tuple) or len(values) <= 4 else Elements(either(values))

    def _mapping(self, node: ast.Dict) -> Binding:
        for key, value in zip(node.keys, node.values, strict=True):
            if key is not None:
                # ``{nn.ReLU: count_relu}`` finds an entry for a layer and creates no layer.
                with self._calls_alone():
                    self._value(key)
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                self._set_flag(key.value, value)
        self._add_options(node.values)
        return Elements(either([self._value(value) for value in node.values]))

    def _select_from(self, node: ast.expr) -> None:
        """Record that the program uses only one entry of a table: ``{"max": nn.MaxPool1d(2), "mean": None}[name]``."""
        if isinstance(node, ast.Dict) and len(node.values) > 1:
            self._options.update(map(id, node.values))

    def _add_options(self, entries: Sequence[ast.expr]) -> None:
        """Record the entries of a table of functions or classes: ``{"max": nn.MaxPool1d, "mean": nn.AvgPool1d}``."""
        if len(entries) > 1:
            self._options.update(id(entry) for entry in entries if isinstance(entry, ast.Name | ast.Attribute))

    def _loop_element(self, node: ast.expr) -> Binding:
        """The value of an element of the expression that a loop runs over. The loop uses all entries of a table."""
        self._loop_expressions.add(id(node))
        return element_of(self._value(node, outer=False))

    def _walrus(self, node: ast.NamedExpr) -> Binding:
        value = self._value(node.value)
        self._bind(node.target.id, value)
        return value

    def _starred_element(self, node: ast.Starred) -> Binding:
        return element_of(self._value(node.value))

    def _await(self, node: ast.Await) -> Binding:
        self._value(node.value)
        return None

    def _format_value(self, node: ast.FormattedValue) -> Binding:
        self._send_to_host(node.value)
        self._value(node.value)
        if node.format_spec is not None:
            self._value(node.format_spec)
        return OTHER

    def _comprehension(self, node: Any) -> Binding:
        self._scopes.append({})
        self._classes.append(None)
        self._comprehensions += 1
        self._visit_all(node.generators)
        values = [self._value(getattr(node, name)) for name in ("key", "value", "elt") if hasattr(node, name)]
        self._comprehensions -= 1
        self._classes.pop()
        self._scopes.pop()
        return Elements(values[-1])

    def _subscript(self, node: ast.Subscript) -> Binding:
        self._select_from(node.value)
        owner, index = self._value(node.value, outer=False), self._value(node.slice)
        return self._index(owner, node, index)

    def _index(self, owner: Binding, node: ast.Subscript, index: Binding) -> Binding:
        """Record that a value is indexed, and return the indexed part."""
        if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
            if isinstance(owner, Symbol):
                self._facts.batches.add(owner.path)
            return member_of_batch(owner, node.slice.value) if isinstance(owner, HostBatch) else element_of(owner)
        self._note_operation(Form.indexed, node, index_kind(node.slice, index), owner, index)
        if isinstance(owner, Method | str):
            return owner
        if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, int):
            return item_of(owner, node.slice.value)
        if isinstance(node.slice, ast.UnaryOp) and isinstance(node.slice.operand, ast.Constant):
            number = node.slice.operand.value
            return item_of(owner, -number) if isinstance(number, int) else None
        if isinstance(node.slice, ast.Slice | ast.Tuple):
            # A part of a list or an array is again a list or an array.
            return Elements(element_of(owner)) if isinstance(owner, Items) else owner
        return element_of(owner)


def read_file(content: bytes, path: str, module: str, *, is_package: bool, knowledge: Knowledge) -> FileReading:
    """Read one file. Raises the errors of ``ast.parse`` for an unreadable source."""
    return SiteResolver(path, module, is_package=is_package, knowledge=knowledge).read(ast.parse(content))


def _imported_value(name: str) -> Binding:
    module, _, member = name.rpartition(".")
    if (module, member) in _STANDARD:
        return _STANDARD[module, member]
    if name in _MODULES:
        return _MODULES[name]
    return OTHER if name.partition(".")[0] in _FOREIGN else Symbol(name)


def _with_text_keys(node: ast.Dict) -> Iterator[tuple[str, ast.expr]]:
    for key, value in zip(node.keys, node.values, strict=True):
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            yield key.value, value


def _is_function(value: Binding) -> bool:
    """Whether the name of a value can be a user's function: ``promote_dtype``, ``dtypes.promote_dtype``."""
    return isinstance(value, Symbol) and value.is_plain_name and not is_class(value.path)


def _is_number(node: ast.expr | None) -> bool:
    """Whether a node is a literal number. A parameter like ``b1: ArrayLike = 0.9`` accepts an array but hardly ever
    gets one."""
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


def _choice_of(test: ast.expr) -> tuple[str, Sequence[str]] | None:
    """The source of the value that a condition compares with texts, and these texts: ``pool`` and ``max`` for ``pool ==
    "max"`` and ``pool in ("max",)``. None if the condition depends on the device, or on something else."""
    match test:
        case ast.Compare(
            left=ast.Name() | ast.Attribute() as value, ops=[ast.Eq()], comparators=[ast.Constant(value=str(text))]
        ) if guard_of(test) is None:
            return ast.unparse(value), (text,)
        case ast.Compare(
            left=ast.Name() | ast.Attribute() as value,
            ops=[ast.In()],
            comparators=[ast.Set(elts=options) | ast.Tuple(elts=options) | ast.List(elts=options)],
        ) if options and all(map(_is_text, options)) and guard_of(test) is None:
            return ast.unparse(value), list(_texts(options))
        case _:
            return None


def _default_texts(arguments: ast.arguments) -> Iterator[tuple[str, str]]:
    """The parameters whose defaults are texts, with their defaults."""
    for parameter, default in parameters_with_defaults(arguments):
        if isinstance(default, ast.Constant) and isinstance(default.value, str):
            yield parameter.arg, default.value


def _is_text(node: ast.expr) -> bool:
    """Whether a node is a literal text. A value that is compared with a text (``label == "muon"``) is not an array."""
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _texts(nodes: Iterable[ast.expr]) -> Iterator[str]:
    """The literal texts among some nodes."""
    for node in nodes:
        match node:
            case ast.Constant(value=str(text)):
                yield text


def _callee_of(decorator: ast.expr) -> ast.expr:
    """The function of a decorator with arguments, or the decorator itself."""
    return decorator.func if isinstance(decorator, ast.Call) else decorator


def _last_name(node: ast.expr) -> str:
    """The last part of a dotted name; empty for other expressions."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _selections(node: ast.expr) -> Iterator[ast.expr]:
    """An expression, and the values of which it is a part or a view: ``x.max(0)`` in ``x.max(0).values.detach()``."""
    while True:
        yield node
        match node:
            case ast.Attribute(value=value, attr=name) if name in _PARTS:
                node = value
            case ast.Subscript(value=value, slice=ast.Constant() | ast.UnaryOp(operand=ast.Constant())):
                node = value
            case ast.Call(func=ast.Attribute(value=value, attr=name)) if name in _VIEWS:
                node = value
            case _:
                return


def _local_names(targets: Sequence[ast.expr]) -> Sequence[str]:
    """The names that an assignment binds; empty if it also assigns to something else."""
    match targets:
        case [ast.Name(id=name)]:
            return (name,)
        case [ast.Tuple(elts=parts) | ast.List(elts=parts)]:
            names = [part.id for part in parts if isinstance(part, ast.Name)]
            return names if len(names) == len(parts) else ()
        case _:
            return ()


def _writes_text(function: ast.expr) -> bool:
    """Whether a function takes values to Python or writes them as text: ``float``, ``print``, ``logger.info``,
    ``"{}".format``, ``writer.add_scalar``."""
    match function:
        case ast.Name(id=name):
            return name in _TAKES_TO_PYTHON
        case ast.Attribute(value=ast.Constant(value=str()), attr="format"):
            return True
        case ast.Attribute(value=ast.Name(id=owner) | ast.Attribute(attr=owner), attr=name) if name in _LOG_LEVELS:
            return _LOGGER.fullmatch(owner) is not None
        case ast.Attribute(attr=name):
            return _SUMMARIES.fullmatch(name) is not None
        case _:
            return False


def _is_to_cpu(node: ast.Call) -> bool:
    """Whether a call is ``x.to("cpu")`` or ``x.to(device="cpu")``."""
    match node:
        case ast.Call(func=ast.Attribute(attr="to"), args=[ast.Constant(value="cpu"), *_]):
            return True
        case ast.Call(func=ast.Attribute(attr="to"), args=[], keywords=[ast.keyword("device", ast.Constant("cpu"))]):
            return True
        case _:
            return False


def _is_setter(decorator: ast.expr) -> bool:
    """Whether a decorator has the form ``@scale.setter``."""
    return isinstance(decorator, ast.Attribute) and decorator.attr in _SETTERS


def _is_partial(decorator: ast.expr) -> bool:
    """Whether a decorator has the form ``@partial(function, …)``."""
    callee = _callee_of(decorator)
    return (callee.id if isinstance(callee, ast.Name) else getattr(callee, "attr", "")) == "partial"


def _is_plain(value: Binding) -> bool:
    """Whether a value certainly does not come from a framework: a number, or a tuple of numbers."""
    match value:
        case Items(values):
            return bool(values) and all(map(_is_plain, values))
        case Elements(of):
            return of is OTHER
        case _:
            return value is OTHER


def _leaves(body: Sequence[ast.stmt]) -> bool:
    return bool(body) and isinstance(body[-1], ast.Return | ast.Raise | ast.Continue | ast.Break)


def _merge_names(one: Mapping[str, Binding], other: Mapping[str, Binding]) -> dict[str, Binding]:
    """The names and their values after two alternative branches of a source."""
    names = dict(one)
    for name, value in other.items():
        if name not in one or one[name] is not value:
            names[name] = either((one.get(name), value))
    return names
