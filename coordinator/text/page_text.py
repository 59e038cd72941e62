"""Makes text from unknown sources safe to read on a page: no character is invisible, and none changes the direction of
the text around it.

Templates escape markup. They do not handle text that looks different from what it is, such as an escape sequence hidden
in a name, or a mark that reverses the direction of writing. Each such character is shown as an escape such as
``\u202e``.
"""

from __future__ import annotations

import re
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


def page_text(text: str) -> str:
    """The text with each character that is invisible or changes the direction replaced by a visible escape."""
    if text.isascii() and text.isprintable():
        return text
    return _MISLEADING.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def breakable(name: str) -> Markup:
    """A dotted name that can be wrapped after dots and other signs in a narrow column, but not within a word."""
    return Markup(re.sub(r"([._:@/])(?=\w)", r"\1<wbr>", str(escape(page_text(name)))))


def finalize(value: Any) -> Any:
    """Prepare a value for a template. Jinja environments use it as ``finalize``."""
    return page_text(value) if isinstance(value, str) and not isinstance(value, Markup) else value
