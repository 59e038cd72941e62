"""Find refusals that the documentation demands only of the CPU, or leaves open. Pure.

Three examples: ``torch.fmod`` says that the CPU raises if an integer is divided by zero, and that a GPU may return any
value. ``tf.gather_nd`` says that the CPU raises for an index out of range, and that a GPU stores 0.
``tf.raw_ops.MatrixInverse`` guarantees nothing for a matrix that is not invertible. A device that accepts such a call
does nothing wrong, so the case has the tag ``documented-per-device``.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from protocol.enums import DOCUMENTED_PER_DEVICE

MOST_REFERENCES = 3
"""The maximum number of references to follow. ``Tensor.fmod_`` has two: to ``Tensor.fmod``, then to ``torch.fmod``."""
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
"""Maps the end of a case's name, which says how its call was changed, to the words of a sentence about this change."""
_SENTENCE_END = re.compile(r"(?<=[.!])\s+(?=[A-Z*])|\n\s*\n")
_REFERENCE = re.compile(
    r"^(?:See|Alias (?:for|of)|In-place version of)\s+:(?:func|meth|class):`~?([\w.]+)", re.MULTILINE
)
MOST_OF_A_REFERENCE = 300
"""The maximum length of a docstring that only refers to another. In longer docstrings, a reference is to a related
function."""

Docstring = Callable[[str], str]
"""Returns the documentation of a function by its public name; an empty text if it has none."""


class Refusal(NamedTuple):
    """The public name of an operation that raised an error on the CPU, and the error's message."""

    operation: str
    message: str


def docstring_of(lookup: Callable[[str], Any]) -> Docstring:
    """Return a function that reads documentation, from a framework's lookup of public names."""

    def docstring(name: str) -> str:
        try:
            return inspect.getdoc(lookup(name)) or ""
        except LookupError:
            return ""

    return docstring


def statement(function: str, name: str, docstring: Docstring) -> str | None:
    """Return the sentences of the documentation that let each device refuse or accept the call; None without any."""
    topic = next((topic for end, topic in _TOPICS.items() if name.endswith(f"-{end}")), None)
    return None if topic is None else _find_statement(function, topic, docstring)


def statement_of_operation(refusal: Refusal, docstring: Docstring) -> str | None:
    """Like ``statement``, but search the documentation of the operation that raised, for the topics of its error."""
    for topic in dict.fromkeys(_TOPICS.values()):
        if re.search(topic, refusal.message, re.IGNORECASE):
            sentences = _find_statement(refusal.operation, topic, docstring)
            if sentences is not None:
                return sentences
    return None


def tags(function: str, name: str, docstring: Docstring, refusal: Refusal | None = None) -> list[str]:
    """Return the tag ``documented-per-device`` if the documentation leaves the refusal to each device, else nothing."""
    is_left_open = statement(function, name, docstring) or (refusal and statement_of_operation(refusal, docstring))
    return [DOCUMENTED_PER_DEVICE] if is_left_open else []


def _find_statement(function: str, topic: str, docstring: Docstring) -> str | None:
    for text in _documentation(function, docstring):
        for sentences in _passages(text):
            if _leaves_open(sentences) and re.search(topic, " ".join(sentences), re.IGNORECASE):
                return " ".join(sentences)
    return None


def _documentation(function: str, docstring: Docstring) -> Iterator[str]:
    """Yield a function's documentation, then the documentation that it refers to, and so on."""
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
    """Yield each sentence, then each pair of adjacent sentences: one may be about the CPU, the next about GPUs."""
    sentences = [" ".join(sentence.split()) for sentence in _SENTENCE_END.split(text)]
    yield from zip(sentences)
    yield from zip(sentences, sentences[1:])


def _leaves_open(sentences: Sequence[str]) -> bool:
    """Whether the sentences guarantee nothing, or say that the CPU refuses something and also mention other devices."""
    if any(map(_OPEN.search, sentences)):
        return True
    is_refused_on_cpu = any(_CPU.search(sentence) and _REFUSAL.search(sentence) for sentence in sentences)
    return is_refused_on_cpu and any(map(_OTHER_DEVICE.search, sentences))
