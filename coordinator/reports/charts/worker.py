"""Draws what is asked on stdin and exits: ``python -m coordinator.reports.charts.worker``.

The only module that loads the drawing library. Each file appears only once it is whole; of each
that could not be made, a line on stdout says why.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import vl_convert

PNG_SCALE = 2
SCRIPTS = "window.vegaEmbed = vegaEmbed;"
"""What a page's own script finds of the bundle."""


def make(spec: dict[str, Any] | None, made: str) -> bytes:
    # Data stand in the specification: no address may be asked for any.
    match made:
        case "svg":
            return vl_convert.vegalite_to_svg(spec or {}, allowed_base_urls=[]).encode()
        case "png":
            return vl_convert.vegalite_to_png(spec or {}, scale=PNG_SCALE, allowed_base_urls=[])
        case _:
            return vl_convert.javascript_bundle(SCRIPTS).encode()


def main() -> None:
    for order in json.load(sys.stdin):
        path = Path(order["path"])
        part = path.with_name(f"{path.name}.{os.getpid()}")
        try:
            part.write_bytes(make(order["spec"], order["made"]))
            part.replace(path)
        except (ValueError, OSError) as error:
            print(json.dumps([order["path"], " ".join(str(error).split())[:300]]), flush=True)
        finally:
            part.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
