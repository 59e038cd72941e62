"""Per device: refusals that documentation asks of the CPU alone, or that it leaves open.

``torch.fmod`` says that a division of integers by zero raises on the CPU, and that a GPU may return any value;
``tf.gather_nd`` that the CPU refuses an index out of range, and that a GPU stores 0; ``tf.raw_ops.MatrixInverse`` that
there is no guarantee what it does of a matrix that is not invertible. A device that accepts such a call does nothing
wrong, so its case has the tag ``documented-per-device``. Pure.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from protocol.enums import DOCUMENTED_PER_DEVICE

MOST_REFERENCES = 3
"""``Tensor.fmod_`` refers to ``Tensor.fmod``, and that to ``torch.fmod``."""
_CPU = re.compile(r"\bcpus?\b", re.IGNORECASE)
_OTHER_DEVICE = re.compile(r"\b(gpus?|cuda|tpus?|xla|accelerators?)\b", re.IGNORECASE)
_REFUSAL = re.compile(r"\b(rais|throw|error|exception)", re.IGNORECASE)
_OPEN = re.compile(r"\bno guarantee\b|\bgarbage\b", re.IGNORECASE)
_INDEX = r"\b(index|indices|\w*ids?|bounds?|range)\b"
_NUMBERS = r"\b(singular|invertible|definite|nan|not a number)\b"
_TOPICS: Mapping[str, str] = {
    **dict.fromkeys(("index-far", "index-negative", "index-below"), _INDEX),
    **dict.fromkeys(("not-a-number", "zeros", "below-zero"), _NUMBERS),
    "zero": r"\bzero\b",
    "overlapping-write": r"\boverlap",
}
"""By the end of a case's name, which says how its call was changed: what a sentence about that speaks of."""
_SENTENCE_END = re.compile(r"(?<=[.!])\s+(?=[A-Z*])|\n\s*\n")
_REFERENCE = re.compile(
    r"^(?:See|Alias (?:for|of)|In-place version of)\s+:(?:func|meth|class):`~?([\w.]+)", re.MULTILINE
)
MOST_OF_A_REFERENCE = 300
"""Characters of documentation that says no more than where to read; in longer ones, a reference is to a relative."""

Docstring = Callable[[str], str]
"""The documentation of a function by its public name; empty if there is none."""


class Refusal(NamedTuple):
    """An error of the CPU's, and the operation within the call that raised it, by its public name."""

    operation: str
    message: str


def docstring_of(lookup: Callable[[str], Any]) -> Docstring:
    """Read documentation through a framework's own lookup."""

    def docstring(name: str) -> str:
        try:
            return inspect.getdoc(lookup(name)) or ""
        except LookupError:
            return ""

    return docstring


def statement(function: str, name: str, docstring: Docstring) -> str | None:
    """The sentences that leave to each device whether the call of a refused case is refused; None without any."""
    topic = next((topic for end, topic in _TOPICS.items() if name.endswith(f"-{end}")), None)
    return None if topic is None else _find_statement(function, topic, docstring)


def statement_of_operation(refusal: Refusal, docstring: Docstring) -> str | None:
    """The same of the operation that refused: its own documentation, of what its error is about."""
    for topic in dict.fromkeys(_TOPICS.values()):
        if re.search(topic, refusal.message, re.IGNORECASE):
            sentences = _find_statement(refusal.operation, topic, docstring)
            if sentences is not None:
                return sentences
    return None


def tags(function: str, name: str, docstring: Docstring, refusal: Refusal | None = None) -> list[str]:
    """The tags that a refused case has for what documentation says of it."""
    is_left_open = statement(function, name, docstring) or (refusal and statement_of_operation(refusal, docstring))
    return [DOCUMENTED_PER_DEVICE] if is_left_open else []


def _find_statement(function: str, topic: str, docstring: Docstring) -> str | None:
    for text in _documentation(function, docstring):
        for sentences in _passages(text):
            if _leaves_open(sentences) and re.search(topic, " ".join(sentences), re.IGNORECASE):
                return " ".join(sentences)
    return None


def _documentation(function: str, docstring: Docstring) -> Iterator[str]:
    """A function's documentation, and that of the functions to which it refers one after the other."""
    root = function.partition(".")[0]
    text = docstring(function)
    for _ in range(MOST_REFERENCES):
        yield text
        reference = _REFERENCE.search(text)
        if reference is None or len(text) > MOST_OF_A_REFERENCE:
            return
        target = reference.group(1)
        text = docstring(target if target.startswith(f"{root}.") else f"{root}.{target}")
    yield text


def _passages(text: str) -> Iterator[tuple[str, ...]]:
    """Each sentence, then each with the one that follows it: one may speak of the CPU, the next of the others."""
    sentences = [" ".join(sentence.split()) for sentence in _SENTENCE_END.split(text)]
    yield from zip(sentences)
    yield from zip(sentences, sentences[1:])


def _leaves_open(sentences: Sequence[str]) -> bool:
    """Whether nothing is promised; or one of the sentences has the CPU refuse something, and any has other devices."""
    if any(map(_OPEN.search, sentences)):
        return True
    is_refused_on_cpu = any(_CPU.search(sentence) and _REFUSAL.search(sentence) for sentence in sentences)
    return is_refused_on_cpu and any(map(_OTHER_DEVICE.search, sentences))
