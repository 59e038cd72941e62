"""Every regular expression takes a time proportional to the length of its text, wherever the text comes from.

The expressions are read from the code, each with the methods that are called on it. For each expression, the test makes
an example that it matches. Texts that repeat the beginning of the example are slow for an expression that starts a new
search at every position.
"""

from __future__ import annotations

import ast
import re
import time
from collections.abc import Iterator
from pathlib import Path
from re import _constants as opcodes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).parents[3]
METHODS = {"search", "match", "fullmatch", "sub", "split", "findall", "finditer"}
SHORT, LONG = 50_000, 1_000_000
SECONDS_OF_CPU = {SHORT: 0.5, LONG: 10.0}
"""Seconds of a slow search. A linear expression takes about 20 ms for the long text. A quadratic one takes over 1 s for
the short text, and minutes for the long text."""
PIECES = 12


class Expression(NamedTuple):
    where: str
    pattern: str | bytes
    flags: int
    method: str


def modules() -> Iterator[Path]:
    for package in ("coordinator", "protocol", "runners"):
        yield from sorted((ROOT / package).rglob("*.py"))


def expressions() -> Iterator[Expression]:
    for path in modules():
        tree = ast.parse(path.read_text())
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)]
        methods = {name: set() for name in assignments(tree)}  # type: dict[str, set[str]]
        for call in calls:
            if isinstance(call.func.value, ast.Name) and call.func.value.id in methods and call.func.attr in METHODS:
                methods[call.func.value.id].add(call.func.attr)
        names = {id(node): name for name, node in assignments(tree).items()}
        for call in calls:
            if not (isinstance(call.func.value, ast.Name) and call.func.value.id == "re" and call.args):
                continue
            pattern = constant(call.args[0])
            if pattern is None or call.func.attr not in METHODS | {"compile"}:
                continue
            used_methods = (
                methods.get(names.get(id(call), ""), set()) if call.func.attr == "compile" else {call.func.attr}
            )
            where = f"{path.relative_to(ROOT)}:{call.lineno}"
            for method in sorted(used_methods or {"search"}):
                yield Expression(where, pattern, flags(call), method)


def assignments(tree: ast.Module) -> dict[str, ast.Call]:
    """Names in the module for expressions, with the call that compiles each."""
    return {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def constant(node: ast.expr) -> str | bytes | None:
    """The pattern, if it is in the code. A part that is inserted at run time counts as one character."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) else "x" for part in node.values)
    return None


def flags(call: ast.Call) -> int:
    arguments = call.args[1:] + [keyword.value for keyword in call.keywords]
    nodes = [node for argument in arguments for node in ast.walk(argument)]
    flag_names = [node.attr for node in nodes if isinstance(node, ast.Attribute)]
    return sum(int(getattr(re, name)) for name in flag_names if isinstance(getattr(re, name, None), re.RegexFlag))


def example(items: Any, groups: dict[int, str]) -> str:
    """A text that these parsed items match, except for lookarounds. Each repetition occurs as rarely as allowed, or
    once."""
    text = ""
    for operation, argument in items:
        match operation:
            case opcodes.LITERAL:
                text += chr(argument)
            case opcodes.NOT_LITERAL:
                text += "a" if argument != ord("a") else "b"
            case opcodes.ANY:
                text += "a"
            case opcodes.IN:
                text += member(argument)
            case opcodes.BRANCH:
                text += example(argument[1][0], groups)
            case opcodes.MAX_REPEAT | opcodes.MIN_REPEAT | opcodes.POSSESSIVE_REPEAT:
                least, most, part = argument
                text += example(part, groups) * min(max(least, 1), most)
            case opcodes.SUBPATTERN:
                groups[argument[0]] = example(argument[3], groups)
                text += groups[argument[0]]
            case opcodes.ATOMIC_GROUP:
                text += example(argument, groups)
            case opcodes.GROUPREF:
                text += groups[argument]
    return text


def member(choices: Any) -> str:
    """A character of a set. For a negated set, the first character that it does not exclude."""
    candidates = [chr(code) for code in range(33, 127)] + [" ", "\n"]
    source = "".join(candidates)
    is_negated = choices[0][0] is opcodes.NEGATE
    for operation, argument in choices:
        match operation:
            case opcodes.LITERAL:
                hits = {chr(argument)}
            case opcodes.RANGE:
                hits = {chr(code) for code in range(argument[0], argument[1] + 1)}
            case opcodes.CATEGORY:
                hits = set(re.findall(CATEGORIES[argument], source))
            case _:
                continue
        if not is_negated:
            return min(hits)
        candidates = [letter for letter in candidates if letter not in hits]
    return candidates[0]


CATEGORIES = {
    opcodes.CATEGORY_DIGIT: r"\d",
    opcodes.CATEGORY_NOT_DIGIT: r"\D",
    opcodes.CATEGORY_SPACE: r"\s",
    opcodes.CATEGORY_NOT_SPACE: r"\S",
    opcodes.CATEGORY_WORD: r"\w",
    opcodes.CATEGORY_NOT_WORD: r"\W",
}


def slow_texts(expression: Expression) -> Iterator[tuple[str, str]]:
    """Texts that begin like the example and then repeat the whole beginning, or its last character."""
    pattern = expression.pattern if isinstance(expression.pattern, str) else expression.pattern.decode("latin-1")
    whole = example(parser.parse(pattern, expression.flags), {})
    for length in range(1, len(whole) + 1, max(1, len(whole) // PIECES)):
        yield "", whole[:length]
        yield whole[:length], whole[length - 1]


ALL = list(expressions())


def test_the_expressions_are_found() -> None:
    assert len(ALL) > 60
    assert any("redaction" in expression.where for expression in ALL)


@pytest.mark.parametrize("expression", ALL, ids=lambda expression: f"{expression.where} {expression.method}")
def test_it_takes_time_in_proportion(expression: Expression) -> None:
    took_s = {texts: seconds_of_cpu(expression, *texts, SHORT) for texts in slow_texts(expression)}
    slowest = max(took_s, key=lambda texts: took_s[texts])
    assert took_s[slowest] < SECONDS_OF_CPU[SHORT], f"{SHORT} characters: {slowest[0]!r}, then {slowest[1]!r} repeated"
    assert seconds_of_cpu(expression, *slowest, LONG) < SECONDS_OF_CPU[LONG], f"{LONG} characters, as above: {slowest}"


def seconds_of_cpu(expression: Expression, begin: str, piece: str, length: int) -> float:
    """The smallest of several times, if the first is too long. A busy machine is slow sometimes, a slow expression
    always."""
    took_s = once(expression, begin, piece, length)
    for _ in range(2):
        if took_s >= SECONDS_OF_CPU[length]:
            took_s = min(took_s, once(expression, begin, piece, length))
    return took_s


def once(expression: Expression, begin: str, piece: str, length: int) -> float:
    run = getattr(re.compile(expression.pattern, expression.flags), expression.method)
    text: Any = begin + piece * (length // len(piece))
    if isinstance(expression.pattern, bytes):
        text = text.encode("latin-1")
    began = time.process_time()
    result = run("", text) if expression.method == "sub" else run(text)
    if expression.method == "finditer":
        list(result)
    return time.process_time() - began
