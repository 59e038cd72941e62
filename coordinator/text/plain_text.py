"""Makes text storable in a database column."""

from __future__ import annotations

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_UNTEXTUAL = dict.fromkeys((0, *range(0xD800, 0xE000)), REPLACEMENT)


def plain_text(value: str) -> str:
    """Return ``value`` in a form that a text column can store: NUL and lone surrogates become U+FFFD."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.translate(_UNTEXTUAL)
    return value.replace("\0", REPLACEMENT) if "\0" in value else value
