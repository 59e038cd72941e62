"""The search index in the front page: every name and mark, small enough to be searched while the reader types. This
module does no I/O."""

from __future__ import annotations

import re
from typing import Any

from coordinator.atlas.addresses import as_link, function_path
from coordinator.atlas.overview import Atlas, FrameworkOverview
from coordinator.text.page_text import page_text

_CAPITAL = re.compile("[A-Z]")
_BLANK = re.compile(r"[\t\n\r %]")


def index_of(atlas: Atlas) -> dict[str, Any]:
    """The index: for each framework its functions, the most used function first, and for each target one letter per
    function."""
    return {framework.name: _index(framework) for framework in atlas.frameworks}


def _index(framework: FrameworkOverview) -> dict[str, Any]:
    modules = {module: number for number, module in enumerate(framework.modules)}
    words: list[str] = []
    for name in framework.functions:
        module, _, last = name.rpartition(".")
        words += [_word(page_text(last)), str(modules[module])]
    return {
        "modules": list(map(page_text, modules)),
        # Each function is written as the last part of its name, followed by the number of its module. All functions are
        # in one text, because the quotes and commas of a list would take an eighth of the page.
        "names": " ".join(words),
        "columns": [
            {
                "target": page_text(column.target),
                "hardware": page_text(column.evidence.hardware),
                "letters": column.letters(framework.functions),
                **({"lowered": True} if column.evidence.is_lowered else {}),
            }
            for column in framework.newest
        ],
        # The index contains no addresses of usual names, because the page's script computes these addresses.
        "addresses": {
            page_text(name): as_link(function_path(name))
            for name in framework.functions
            if as_link(function_path(name)) != usual_address(name)
        },
    }


def _word(text: str) -> str:
    """The text with white space and ``%`` escaped as in an address, so that it is one word in the index."""
    return _BLANK.sub(lambda blank: f"%{ord(blank[0]):02X}", text)


def usual_address(name: str) -> str:
    """The address of a function whose name has only letters, digits, dots and underscores. The page's script follows
    the same rule."""
    return f"functions/{_CAPITAL.sub(lambda letter: f'~{letter[0].lower()}', name)}.html"
