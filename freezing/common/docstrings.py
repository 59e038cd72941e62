"""Read the examples of docstrings: each statement with its documented output. Pure.

Python's ``doctest`` finds the prompts. If it rejects a docstring, each block between empty lines is read separately.
A statement that is spread over several prompts (``>>> def f():`` and ``>>>     return 1``) is joined.
"""

from __future__ import annotations

import ast
import codeop
import doctest
import inspect
import re
import textwrap
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from runners.suite.examples import Statement

_CONTINUES = re.compile(r"\s|(?:else|elif|except|finally)\b")
_DIRECTIVE = re.compile(r"#\s*x?doctest:.*$", re.MULTILINE)
_NUMBER = re.compile(
    r"(?<![\w.])(?:[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|inf|nan)|True|False)(?!\w)"
)
_PRINTED_MARKS = re.compile(r"\bshape=\([\d, ]*\)|\bnp\.(?=(?:True|False)_)|(?<=True)_\b|(?<=False)_\b")
"""Parts of a printed value that depend on how it is printed: ``shape=(…)`` beside an array's values, and the ``np.`` or
``_`` of a NumPy boolean."""
_ABRIDGED = "..."
NEAR, NEAR_ZERO = 6e-3, 1e-3
"""The relative and the absolute tolerance of a number compared with a printed number, which is rounded."""


@dataclass(frozen=True)
class Docstring:
    """The statements of a docstring's example, and the documented output of each."""

    statements: tuple[Statement, ...]
    printed: tuple[str, ...]
    unread: tuple[tuple[int, str], ...] = field(default=())
    """The places of statements that are not valid Python, each with the error."""


@dataclass
class _Prompt:
    source: str
    want: str


def read(text: str) -> Docstring:
    """Read the statements and outputs of a docstring's example."""
    statements: list[Statement] = []
    outputs: list[str] = []
    unread: list[tuple[int, str]] = []
    for prompt in _join(_prompts(inspect.cleandoc(text))):
        place = len(statements) + len(unread) + 1
        try:
            parts = _statements(prompt.source)
        except (SyntaxError, ValueError) as error:
            unread.append((place, f"{type(error).__name__}: {prompt.source.splitlines()[0][:80]}"))
            continue
        for number, source in enumerate(parts):
            statements.append(Statement(place + number, source))
            outputs.append(prompt.want if number == len(parts) - 1 else "")
    return Docstring(tuple(statements), tuple(outputs), tuple(unread))


def _prompts(text: str) -> list[_Prompt]:
    try:
        return _find_prompts(text)
    except ValueError:
        pass
    prompts: list[_Prompt] = []
    for block in re.split(r"\n[ \t]*\n", text):
        try:
            prompts += _find_prompts(block)
        except ValueError as error:
            # Keep a prompt that is not valid Python, so that the block is listed among the unread statements.
            prompts.append(_Prompt(f"?{error}".splitlines()[0], ""))
    return prompts


def _find_prompts(text: str) -> list[_Prompt]:
    return [_Prompt(example.source, example.want) for example in doctest.DocTestParser().get_examples(text)]


def _join(prompts: Sequence[_Prompt]) -> Iterator[_Prompt]:
    """Join each prompt with the prompts that continue its statement."""
    current: _Prompt | None = None
    for prompt in map(_complete, prompts):
        if current is not None and not current.want and _continues(current.source, prompt.source):
            current = _Prompt(current.source + prompt.source, prompt.want)
            continue
        if current is not None:
            yield current
        current = prompt
    if current is not None:
        yield current


def _complete(prompt: _Prompt) -> _Prompt:
    """Join to a prompt the following lines that have no prompt but belong to its statement. ``doctest`` mistakes these
    lines for output."""
    whole = prompt.source + prompt.want
    return _Prompt(whole, "") if prompt.want and _is_open(prompt.source) and _is_whole(whole) else prompt


def _continues(source: str, further: str) -> bool:
    if _is_open(source):
        return True
    if not _CONTINUES.match(further):
        return False
    # An indented prompt may also be a statement by itself.
    return _is_open(source + further) or _is_whole(source + further)


def _is_whole(source: str) -> bool:
    try:
        ast.parse(source)
    except (SyntaxError, ValueError):
        return False
    return True


def _is_open(source: str) -> bool:
    """Whether a statement is incomplete: it ends after a header, after a decorator or within brackets."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return codeop.compile_command(source, symbol="exec") is None
    except (SyntaxError, ValueError, OverflowError):
        return False


def _statements(source: str) -> list[str]:
    """Split a source into statements, without comments such as ``# doctest: +SKIP``."""
    text = textwrap.dedent(_DIRECTIVE.sub("", source)).strip()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        nodes = ast.parse(text).body
    lines = text.splitlines()
    parts = []
    for node in nodes:
        first = min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", ()))])
        # ``alone`` separates statements on one line that semicolons divide.
        alone = first == node.lineno and ast.get_source_segment(text, node)
        parts.append(alone or "\n".join(lines[first - 1 : node.end_lineno]))
    return parts


def agrees(documented: str, output: str) -> bool | None:
    """Whether an output has the numbers of the documented one; ``None`` if that has no numbers or abridges them."""
    if _ABRIDGED in documented or "Traceback" in documented:
        return None
    documented_numbers, numbers = (_NUMBER.findall(_PRINTED_MARKS.sub("", text)) for text in (documented, output))
    if not documented_numbers:
        return None
    if documented.count("[") > documented.count("]"):
        # ``doctest`` ends the documented output at an empty line within an array.
        numbers = numbers[: len(documented_numbers)]
    return len(documented_numbers) == len(numbers) and all(map(_near, documented_numbers, numbers))


def _near(documented: str, word: str) -> bool:
    words = {"True", "False"}
    if documented in words or word in words:
        return documented == word
    one, other = float(documented), float(word)
    if one != one or other != other:
        return one != one and other != other
    return one == other or abs(one - other) <= NEAR_ZERO + NEAR * abs(one)
