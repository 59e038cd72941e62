"""Recorder: collects the mentions and definitions of one file while a subclass reads it. This module does no I/O."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial

from coordinator.assess.annotations import Annotations
from coordinator.assess.arguments import DTYPES, dtypes_of, index_dtypes
from coordinator.assess.flags import flags_set, name_of
from coordinator.assess.guards import asks_for_device, one_line
from coordinator.assess.harmless import is_test_file
from coordinator.assess.host_arrays import is_host_operation
from coordinator.assess.knowledge import Knowledge
from coordinator.assess.local_results import LocalResults
from coordinator.assess.mentions import FileReading, Form, MemberUse, Mention
from coordinator.assess.python_values import BUILTINS
from coordinator.assess.sites import DeviceQuestion, Flag, Guard
from coordinator.assess.syntax import selections
from coordinator.assess.values import CALLED, SUPER, Alternatives, Symbol, Thing, either
from coordinator.catalogue.usage.resolver import Binding, Resolver, Value
from coordinator.results.conditions import CallSite

_MAY_BE_ARRAYS = (Thing, Symbol, Alternatives)
"""The kinds of values that may be arrays."""
MODULE_SCOPES = 2
"""The number of open scopes at the top of a file: one with Python's built-in names, one with the module's names."""


class MentionRecorder(Resolver):
    """Records the uses of functions (mentions) and the definitions (facts) of one file."""

    def __init__(self, path: str, module: str, *, is_package: bool, knowledge: Knowledge) -> None:
        super().__init__()
        self.reading = FileReading(path, module, is_package=is_package)
        self._facts = self.reading.facts
        self._knowledge = knowledge
        self._package = module if is_package else module.rpartition(".")[0]
        self._scopes = [dict(BUILTINS), {}]
        self._annotations = Annotations(partial(self._value, outer=False), self._define_type, knowledge)
        self._within: list[str] = []
        self._member_uses: set[tuple[str, str, bool]] = set()
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
        self._registered: set[int] = set()
        """The ids of the lambdas that a call stores in a table under a text: ``register("elu", lambda: nn.ELU())``."""
        self._is_in_option = False
        """Whether the current branch is an entry of a table in the form of conditions."""
        self._has_gradient = True
        """Whether gradients may be computed in the current block."""
        self._later_branches: dict[int, tuple[str, ...]] = {}
        """The ``elif`` branches that compare the same value as the branch before, by their ids, and the texts that the
        earlier branches compare with."""
        self._default_texts: list[Mapping[str, str]] = [{}]
        """For each open function, its parameters whose defaults are texts."""
        self._field_texts: dict[str, str | None] = {}
        """The attributes of an object of the current class that have a text by default, with this text. None for an
        attribute that gets several values."""
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

    def _set_entry(self, name: str, value: ast.expr) -> None:
        """Record the value of an entry of a dictionary, which may be a configuration: ``{"sparse": False}``."""
        if isinstance(value, ast.Constant) and value.value is False:
            self._facts.off_flags.add(Flag(name.lstrip("_")))
        else:
            self._set_flag(name, value)

    def _set_field(self, target: ast.expr, value: ast.expr) -> None:
        """Record the default of a field of a class, if it is a text or may be a flag: ``sparse: bool = False``."""
        if self._classes[-1] is not None and isinstance(target, ast.Name):
            self._keep_text(target.id, value)
            if isinstance(value, ast.Constant) and value.value is False:
                self._facts.off_flags.add(Flag(name_of(target)))
            else:
                self._set_flag(target.id, value)

    def _keep_text(self, field: str, value: ast.expr) -> None:
        """Record the text that an attribute of an object of the current class has by default."""
        match value:
            case ast.Constant(value=str(text)):
                default: str | None = text
            case ast.Name(id=name):
                default = self._default_texts[-1].get(name)
            case _:
                default = None
        name = f"self.{field}"
        # An attribute that the code sets to several values has no default.
        self._field_texts[name] = default if self._field_texts.get(name, default) == default else None

    # Uses

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
        if type(node) is ast.Call and type(node.func) is ast.Attribute and form is Form.called:
            # In a chain over several lines, the position of a call is that of its method's name.
            function = node.func
            line = function.end_lineno or line
            column = (function.end_col_offset or len(function.attr)) - len(function.attr.encode()) + 1
        node_id = id(node)
        if node_id in self._assigned_mentions:
            self._assigned_mentions[node_id].append(self.reading.mentions.added)
        self.reading.mentions.append(
            Mention(
                form,
                self._shared.setdefault(value.path, value) if type(value) is Symbol else value,
                line,
                column,
                self._function_name,
                call,
                other,
                operator,
                self._guards,
                frozenset(dtypes),
                is_on_host,
                node_id in self._host_bound,
                self._is_in_option or node_id in self._options,
                self._results[-1].is_in_loop if self._results else self._loops > 0,
                self._has_gradient,
                self._flags,
            )
        )

    def _note_operation(self, form: Form, node: ast.AST, operator: str, left: Binding, right: Binding = None) -> None:
        if isinstance(left, _MAY_BE_ARRAYS) or isinstance(right, _MAY_BE_ARRAYS):
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
        if owner is None:
            is_own = False
        elif type(owner) is not Symbol:
            return
        elif owner.path.endswith(CALLED):
            is_own = owner.path[: -len(CALLED)] in self._classes
        elif owner.path.endswith(SUPER) or owner.is_plain_name:
            return
        else:
            is_own = False
        use = (self._function_name, name, is_own)
        if use not in self._member_uses:
            self._member_uses.add(use)
            self.reading.members.append(MemberUse(*use))

    def _note_name(self, name: str, node: ast.expr) -> None:
        if name.rpartition(".")[2] not in DTYPES and not self._names_replaced:
            self._note(Form.named, name, node)

    def _send_to_host(self, node: ast.expr) -> None:
        """Record that the value of an expression is moved to the host immediately."""
        self._host_bound.update(map(id, selections(node)))

    def _ask(self, node: ast.Attribute | ast.Call) -> None:
        if asks_for_device(node):
            self.reading.questions.append(DeviceQuestion(self.reading.path, node.lineno, one_line(node)))

    # Blocks and local names

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
        self._scopes[-1][name] = binding
        if self._results:
            self._results[-1].bind(name, is_inner=self._comprehensions > 0)

    def _read_name(self, node: ast.Name) -> None:
        is_move = id(node) in self._host_bound
        for results in self._results:
            results.read(node.id, is_move=is_move)

    def _share(self, node: ast.Global | ast.Nonlocal) -> None:
        if self._results:
            self._results[-1].share(node.names)

    # Definitions

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
