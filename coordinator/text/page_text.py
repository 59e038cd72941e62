"""Makes text from unknown sources safe to read on a page: no character is invisible, and none changes the direction of
the text around it.

Templates escape markup. They do not handle text that looks different from what it is, such as an escape sequence hidden
in a name, or a mark that reverses the direction of writing. Each such character is shown as a backslash, ``u`` and four
hexadecimal digits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from markupsafe import Markup, escape

_MISLEADING = re.compile(
    "["
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"  # control characters, except tabs and line ends, which logs contain
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # characters that change the direction of writing
    "\u2028\u2029"
    "\ud800-\udfff"
    "]"
)

LONGEST_PIECE = 32
"""The number of characters after which a word can be wrapped anywhere."""
LONGEST_WORD = 18
"""The same for a name that can also be wrapped between the words of CamelCase."""
# No break after a dot before a digit: it is a part of a number or version.
_IN_NAME = re.compile(r"[_:@/](?=\w)|\.(?=[^\W\d])")
_IN_TEXT = re.compile(r"[_:@/,;=(\[](?=\w)|\.(?=[^\W\d])")
_IN_CAMEL_CASE = re.compile(rf"{_IN_NAME.pattern}|(?<=[a-z\d])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_LONG_WORD = re.compile(r"(\S{25,})")
_MARK = "\0"
_LONG_PIECE, _LONG_PIECE_IN_WORD = (
    re.compile(rf"[^\s{_MARK}]{{{most}}}(?=[^\s{_MARK}])") for most in (LONGEST_PIECE, LONGEST_WORD)
)


def page_text(text: str) -> str:
    """The text with each character that is invisible or changes the direction replaced by a visible escape."""
    if text.isascii() and text.isprintable():
        return text
    return _MISLEADING.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def breakable(name: str) -> Markup:
    """A dotted name that can be wrapped after dots and other signs in a narrow column, but not within a word."""
    return _with_breaks(page_text(name), _IN_NAME)


def breakable_words(name: str) -> Markup:
    """A name that can also be wrapped between the words of CamelCase, for a column next to many others."""
    return _with_breaks(page_text(name), _IN_CAMEL_CASE, _LONG_PIECE_IN_WORD)


def breakable_text(text: str) -> Markup:
    """A message that is wrapped between its words. Only a word that is too long for a narrow column, such as a path,
    can also be wrapped after its dots and other signs."""
    words = _LONG_WORD.split(page_text(text))
    return Markup("").join(
        _with_breaks(word, _IN_TEXT) if place % 2 else escape(word) for place, word in enumerate(words)
    )


FILTERS: Mapping[str, Callable[[str], Markup]] = {
    "breakable": breakable,
    "breakable_text": breakable_text,
    "breakable_words": breakable_words,
}
"""The filters of every template that shows names and messages."""


def _with_breaks(word: str, sign: re.Pattern[str], long_piece: re.Pattern[str] = _LONG_PIECE) -> Markup:
    # Columns of tables are as wide as their longest piece, so a piece without a sign must end somewhere. The mark is
    # not in the word, because page_text has replaced it.
    word_with_marks = sign.sub(rf"\g<0>{_MARK}", word)
    pieces = long_piece.sub(rf"\g<0>{_MARK}", word_with_marks).split(_MARK)
    return Markup("<wbr>").join(pieces)


def finalize(value: Any) -> Any:
    """Prepare a value for a template. Jinja environments use it as ``finalize``."""
    return page_text(value) if isinstance(value, str) and not isinstance(value, Markup) else value
