"""Draws one figure: the work of the renderer's process, and the only module that loads the drawing library."""

from __future__ import annotations

import signal
from typing import Any, Literal

from coordinator.exec_with_parent_death_signal import die_with

PNG_SCALE = 2
SCRIPTS = "window.vegaEmbed = vegaEmbed;"
"""The names in the bundle that a page's own script can use."""

Form = Literal["svg", "png", "js"]
"""A picture, or the scripts that make figures interactive."""


def prepare(parent: int) -> None:
    """Tie this process to its parent's life, and leave the keyboard's interrupt to the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    die_with(parent, signal.SIGKILL)


def draw(spec: dict[str, Any] | None, form: Form) -> bytes:
    """Data stand in the specification, so that no address need be fetched. Raises ``ValueError``."""
    # It holds a hundred megabytes, and the renderer imports this module.
    import vl_convert

    match form:
        case "svg":
            return vl_convert.vegalite_to_svg(spec or {}, allowed_base_urls=[]).encode()
        case "png":
            return vl_convert.vegalite_to_png(spec or {}, scale=PNG_SCALE, allowed_base_urls=[])
        case "js":
            return vl_convert.javascript_bundle(SCRIPTS).encode()
