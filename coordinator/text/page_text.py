"""Text of others on a page: no character of it is invisible, or turns the order of writing of what stands around it.

Markup is escaped by the templates. What they let through is text that shows as another than it is: an escape sequence
that hides in a name, a mark after which a line reads from right to left. Each such character is shown as ``\\u202e``.
"""

from __future__ import annotations

import re
from typing import Any

from markupsafe import Markup, escape

_MISLEADING = re.compile(
    "["
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"  # controls; tabs and ends of lines are what a log is made of
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # the order of writing
    "\u2028\u2029"
    "\ud800-\udfff"
    "]"
)


def page_text(text: str) -> str:
    """The text with every such character shown."""
    if text.isascii() and text.isprintable():
        return text
    return _MISLEADING.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def breakable(name: str) -> Markup:
    """A dotted name that a narrow column breaks after its points and other signs, and not within a word."""
    return Markup(re.sub(r"([._:@/])(?=\w)", r"\1<wbr>", str(escape(page_text(name)))))


def finalize(value: Any) -> Any:
    """A value on its way into a template: the ``finalize`` of an environment of Jinja's."""
    return page_text(value) if isinstance(value, str) and not isinstance(value, Markup) else value
