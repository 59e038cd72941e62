"""Expressions: infers the values of the expressions of one file, except calls. This module does no I/O."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

from coordinator.assess.arguments import dtypes_of, index_kind
from coordinator.assess.flags import LONGEST_MODE, flags_under, flags_under_else, text_flag
from coordinator.assess.guards import DEVICE_MEMBERS, guard_of, guard_of_else
from coordinator.assess.host_arrays import is_host_operation, member_of_batch
from coordinator.assess.mentions import Form
from coordinator.assess.python_values import STANDARD_LIBRARY, Builtin
from coordinator.assess.recorder import MentionRecorder
from coordinator.assess.sites import Flag
from coordinator.assess.syntax import choice_of, is_text
from coordinator.assess.values import (
    MASK,
    SUPER,
    Alternatives,
    Elements,
    HostBatch,
    Items,
    Method,
    Symbol,
    Thing,
    either,
    element_of,
    item_of,
    mask_of,
)
from coordinator.catalogue.surfaces import ARRAYS
from coordinator.catalogue.usage.resolver import OTHER, Binding, Resolver


class ExpressionReader(MentionRecorder):
    """Reads expressions, and returns their values."""

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

    # Names

    def _lookup(self, name: str) -> Binding:
        for scope in reversed(self._scopes):
            if name in scope:
                return scope[name]
        # The module may define the name further down, or import it by ``import *``.
        return Symbol(f"{self.reading.module}.{name}")

    def _lookup_outside(self, name: str) -> Binding:
        """The value of a name in the scopes around the innermost scope."""
        return next((scope[name] for scope in reversed(self._scopes[:-1]) if name in scope), None)

    def _name(self, node: ast.Name, outer: bool) -> Binding:
        if type(node.ctx) is not ast.Load:
            self._bind(node.id, None)
            return None
        if self._results:
            self._read_name(node)
        value = self._lookup(node.id)
        if outer:
            if type(value) is str and "." in value:
                self._note_name(value, node)
            elif type(value) is Symbol and value.is_plain_name:
                self._note(Form.named, value, node)
        return value

    def _member(self, owner: Binding, node: ast.Attribute, outer: bool) -> Binding:
        if node.attr in DEVICE_MEMBERS:
            self._ask(node)
        self._note_member(owner, node.attr)
        match owner:
            case Symbol(path):
                self._use_parameter(path, node.attr, is_called=False)
                if node.attr in self._knowledge.properties:
                    self._note(Form.read, owner, node, operator=node.attr)
                return owner.extend(f".{node.attr}")
            case Thing():
                member = self._knowledge.member(owner, node.attr)
                if owner.is_array and node.attr in self._knowledge.properties:
                    self._note(Form.read, owner, node, operator=node.attr, dtypes=dtypes_of((owner,)))
                elif outer:
                    self._note(Form.named, member, node)
                return member
            case Method():
                # For ``x.at[index].set``, the surfaces list the members of ``at`` under the name of the array.
                return OTHER if owner.owner.is_array and owner.name != "at" else owner
            case HostBatch():
                return member_of_batch(owner, node.attr)
            case Elements() if node.attr in ("values", "indices"):
                return owner.of
            case Builtin():
                return STANDARD_LIBRARY.get((owner.name, node.attr), OTHER)
            case Alternatives():
                options = [self._member(option, node, outer) for option in owner.values]
                return either(options)
            case _:
                return super()._member(owner, node, outer)

    def _use_parameter(self, path: str, member: str, *, is_called: bool) -> None:
        """Treat a parameter as an array if the function uses a member that only arrays have. ``path`` is the symbol of
        the member's owner, which may be another value.

        A method counts only if it is called, because in an object of another class ``measurement.cov`` can be a number
        or an array.
        """
        path = path.removesuffix(MASK)
        if not path.endswith(">") or path.endswith(SUPER) or len(self.frameworks) != 1:
            return
        (root,) = self.frameworks
        is_plain_property = member in ("shape", "dtype", "device", "ndim")
        is_used_so = is_called or member in self._knowledge.properties
        if is_plain_property or (is_used_so and self._knowledge.told_by_name(member, root)):
            self._facts.parameters.setdefault(path, root)

    # Annotations

    def _annotation(self, node: ast.expr | None, *, is_passed: bool = False) -> Any:
        """The value that an annotation describes. ``is_passed`` is true for the annotation of a parameter."""
        if node is None:
            return None
        self._silent += 1
        value = self._annotations.value_passed(node) if is_passed else self._annotations.value(node)
        self._silent -= 1
        return value

    def _silently(self, node: ast.expr) -> Binding:
        self._silent += 1
        value = self._value(node, outer=False)
        self._silent -= 1
        return value

    # Conditions

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

    def _compare(self, node: ast.Compare) -> Binding:
        left, result = self._value(node.left, outer=False), OTHER
        comparison: Binding = result
        for operator, comparator in zip(node.ops, node.comparators, strict=True):
            right = self._value(comparator, outer=False)
            asks_array = not isinstance(operator, ast.Is | ast.IsNot | ast.In | ast.NotIn)
            if asks_array and not any(map(is_text, (node.left, comparator))):
                self._note_operation(Form.binary, node, type(operator).__name__, left, right)
                comparison = self._operator_result(left, right)
            left = right
        return mask_of(comparison)

    def _boolean(self, node: ast.BoolOp) -> Binding:
        return either([self._value(value, outer=False) for value in node.values])

    def _choice(self, node: ast.IfExp) -> Binding:
        self._test(node.test)
        guard = guard_of(node.test)
        before_option = self._is_in_option
        is_option, is_option_else = self._option_branches(node)
        self._is_in_option = before_option or is_option
        flags = self._with_flags((*flags_under(node.test, self._own_flags), *self._text_flags(node.test)))
        with self._under(guard), self._with_tested_class(node.test), flags:
            value = self._value(node.body)
        self._is_in_option = before_option or is_option_else
        flags = self._with_flags(flags_under_else(node.test, self._own_flags))
        with self._under(guard_of_else(node.test, guard)), flags:
            values = [value, self._value(node.orelse)]
        self._is_in_option = before_option
        return either(values)

    def _option_branches(self, node: ast.If | ast.While | ast.IfExp) -> tuple[bool, bool]:
        """Whether the body and the ``else`` of a condition are entries of a table in the form of conditions: ``if pool
        == "max": … elif pool == "mean": …``. The branch of the default is excluded, because most programs select it."""
        choice = choice_of(node.test)
        if choice is None or isinstance(node, ast.While):
            return False, False
        earlier_texts = self._later_branches.pop(id(node), ())
        texts_so_far = (*earlier_texts, *choice.texts)
        has_next = False
        match node.orelse:
            case [ast.If(test=test) as branch] | (ast.IfExp(test=test) as branch) if (
                other := choice_of(test)
            ) and other.value == choice.value:
                self._later_branches[id(branch)] = texts_so_far
                has_next = True
        default = self._default_text(choice.value)
        if not choice.is_equal:
            return default in choice.texts, False
        if not earlier_texts and not has_next:
            return False, default in choice.texts
        return default not in choice.texts, not has_next and (default is None or default in texts_so_far)

    def _default_text(self, value: str) -> str | None:
        """The text that a parameter or an attribute has by default, as far as the source shows."""
        return self._default_texts[-1].get(value) or self._field_texts.get(value)

    def _text_flags(self, test: ast.expr) -> Iterator[Flag]:
        """The flag for a text that a condition requires, if the default is another text: ``pool="max"``."""
        choice = choice_of(test)
        if choice is None or not choice.is_equal or len(choice.texts) > 1 or len(choice.texts[0]) > LONGEST_MODE:
            return
        default = self._default_text(choice.value)
        if default is not None and default not in choice.texts:
            flag = text_flag(choice.value.rpartition(".")[2], choice.texts[0])
            self._facts.off_flags.add(flag)
            yield flag

    # Operators

    def _operation(self, node: ast.BinOp) -> Binding:
        if isinstance(node.op, ast.Mod) and is_text(node.left):
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

    # Collections

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
                self._set_entry(key.value, value)
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

    # Other expressions

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
