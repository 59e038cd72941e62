"""Draws one figure in the renderer's process. Only this module loads the drawing library."""

from __future__ import annotations

import re
import signal
from typing import Any, Literal

from coordinator.operating_system.exec_with_parent_death_signal import die_with

PNG_SCALE = 2
SCRIPTS = "window.vegaEmbed = vegaEmbed;"
"""A script that exports the names that a page's own script uses."""

Form = Literal["svg", "png", "js"]
"""A picture, or the JavaScript that makes figures interactive."""

_BEYOND = re.compile("[\U00010000-\U0010ffff]")


def prepare(parent: int) -> None:
    """End this process when its parent ends, and leave Ctrl-C to the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    die_with(parent, signal.SIGKILL)


def draw(spec: dict[str, Any] | None, form: Form) -> bytes:
    """Draw the figure. Its data must be inside the specification, so that nothing is fetched. Raises ``ValueError``."""
    try:
        return _draw(spec, form)
    except ValueError:
        # Vega truncates a long label at any code unit, even between the two halves of a character beyond U+FFFF, and
        # then cannot draw at all.
        if form == "js" or (plain := _within_one_plane(spec)) == spec:
            raise
        return _draw(plain, form)


def _within_one_plane(value: Any) -> Any:
    """The value with each character outside of the Basic Multilingual Plane replaced by its number, so that different
    names stay different."""
    match value:
        case str():
            return _BEYOND.sub(lambda found: f"[{ord(found[0]):X}]", value)
        case dict():
            return {_within_one_plane(name): _within_one_plane(member) for name, member in value.items()}
        case list():
            return [_within_one_plane(member) for member in value]
    return value


def _draw(spec: dict[str, Any] | None, form: Form) -> bytes:
    # Imported here, because the library takes a hundred megabytes, and the renderer imports this module.
    import vl_convert

    match form:
        case "svg":
            return vl_convert.vegalite_to_svg(spec or {}, allowed_base_urls=[]).encode()
        case "png":
            return vl_convert.vegalite_to_png(spec or {}, scale=PNG_SCALE, allowed_base_urls=[])
        case "js":
            return vl_convert.javascript_bundle(SCRIPTS).encode()
