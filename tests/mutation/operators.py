"""Operators: small errors that are made in a module, each by replacing some bytes of its source.

The syntax tree gives the position. The rest of the file does not change, so that a mutant's line is easy to recognize.
Code that only describes (docstrings, messages, logs, annotations, assertions) is not changed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

COMPARISONS: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
}
EXTREMES = {"min": "max", "max": "min"}
OFF_BY_ONE_UP_TO = 16
"""Numbers above this are limits and lengths, for which one more or less is no error. They are doubled."""
SILENT_CALLS = re.compile(r"(log|metrics|logging|warnings)\.|(warn|log|get_logger|field|TypeVar)$")
"""Calls that only report or declare, and decide nothing."""
SILENT_KEYWORDS = frozenset({"repr", "strict", "slots", "frozen", "exclude_none", "maxsize"})
SILENT_FUNCTIONS = frozenset({"__repr__", "__str__"})


@dataclass(frozen=True)
class Change:
    """A change of a source: its bytes, their replacement, and its operator."""

    line: int
    start: int
    end: int
    replacement: bytes
    operator: str

    def apply(self, source: bytes) -> bytes:
        return source[: self.start] + self.replacement + source[self.end :]

    def makes_a_program(self, source: bytes) -> bool:
        """Whether the result can be compiled and is a different program."""
        try:
            return ast.dump(ast.parse(self.apply(source))) != ast.dump(ast.parse(source))
        except SyntaxError:
            return False


def changes(source: bytes, functions: Sequence[str] = ()) -> list[Change]:
    """All changes of the source, or of these functions only if functions are named."""
    tree = ast.parse(source)
    finder = _Finder(source)
    for node in tree.body:
        if not functions or getattr(node, "name", None) in functions:
            finder.visit(node)
    return finder.changes


class _Finder(ast.NodeVisitor):
    def __init__(self, source: bytes) -> None:
        self.changes: list[Change] = []
        self._source = source
        self._lines = [0, *(match.end() for match in re.finditer(rb"\n", source))]

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        if node.name in SILENT_FUNCTIONS:
            return
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None:
                self.visit(default)
        self._visit_all(node.body)

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._visit_all(node.body)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_Assert(self, node: ast.Assert) -> None:
        """Skip assertions, because they check the code and decide nothing."""

    def visit_Raise(self, node: ast.Raise) -> None:
        """Skip error messages. Whether an error is raised is changed in ``visit_If``."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Skip the text of messages."""

    def visit_match_case(self, node: ast.match_case) -> None:
        if node.guard is not None:
            self.visit(node.guard)
        self._visit_all(node.body)

    def visit_If(self, node: ast.If) -> None:
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return
        last = node.body[-1]
        if isinstance(last, ast.Return | ast.Raise | ast.Continue):
            kind = type(last).__name__.lower()
            self._add(last, *self._span(last), b"pass", f"early {kind} removed")
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        if SILENT_CALLS.match(ast.unparse(node.func)):
            return
        if isinstance(node.func, ast.Name) and node.func.id in EXTREMES:
            other = EXTREMES[node.func.id]
            self._add(node, *self._span(node.func), other.encode(), f"{node.func.id} becomes {other}")
        if ast.unparse(node.func) == "frozenset" and node.args and isinstance(node.args[0], ast.Tuple | ast.List):
            self._drop_elements(node.args[0])
        self.visit(node.func)
        self._visit_all(node.args)
        self._visit_all([keyword.value for keyword in node.keywords if keyword.arg not in SILENT_KEYWORDS])

    def visit_Set(self, node: ast.Set) -> None:
        self._drop_elements(node)
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        for left, operator, right in zip((node.left, *node.comparators), node.ops, node.comparators, strict=False):
            word, other = COMPARISONS[type(operator)]
            self._replace_between(left, right, word, other)
            if isinstance(operator, ast.In | ast.NotIn) and isinstance(right, ast.Tuple | ast.List):
                self._drop_elements(right)
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        word, other = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in pairwise(node.values):
            self._replace_between(left, right, word, other)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not):
            start = self._span(node)[0]
            # Keep the space after ``not``, which separates the operand from the word before it.
            self._add(node, start, start + len(b"not"), b"", "not dropped")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        value = node.value
        if isinstance(value, bool):
            self._add(node, *self._span(node), str(not value).encode(), f"{value} becomes {not value}")
        elif isinstance(value, int | float):
            is_small = isinstance(value, int) and value <= OFF_BY_ONE_UP_TO
            other = value + 1 if is_small or not value else 2 * value
            self._add(node, *self._span(node), repr(other).encode(), f"{value!r} becomes {other!r}")

    def _visit_all(self, nodes: Sequence[ast.AST]) -> None:
        for node in nodes:
            self.visit(node)

    def _drop_elements(self, node: ast.Set | ast.Tuple | ast.List) -> None:
        if len(node.elts) < 2:
            return
        texts = [self._source[slice(*self._span(element))] for element in node.elts]
        start, end = self._span(node.elts[0])[0], self._span(node.elts[-1])[1]
        for place, element in enumerate(node.elts):
            rest = b", ".join(text for other, text in enumerate(texts) if other != place)
            # A tuple with one element needs its comma.
            self._add(element, start, end, rest + b",", f"{texts[place].decode()} dropped")

    def _replace_between(self, left: ast.expr, right: ast.expr, word: str, other: str) -> None:
        start, end = self._span(left)[1], self._span(right)[0]
        pattern = r"\s+".join(map(re.escape, word.split()))
        whole_word = rf"\b{pattern}\b" if word[0].isalpha() else pattern
        match = re.search(whole_word.encode(), self._source[start:end])
        if match is not None and b"#" not in self._source[start:end]:
            self._add(left, start + match.start(), start + match.end(), other.encode(), f"{word} becomes {other}")

    def _span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or 0
        return self._lines[node.lineno - 1] + node.col_offset, self._lines[end_line - 1] + end_column

    def _add(self, node: ast.expr | ast.stmt, start: int, end: int, replacement: bytes, operator: str) -> None:
        line = self._source.count(b"\n", 0, start) + 1
        self.changes.append(Change(line, start, end, replacement, operator))
