"""The child process that imports the framework, walks its public surface, and sends entries through a pipe."""

from __future__ import annotations

import json
import os
import platform
import sys
import tempfile
import warnings
from collections.abc import Mapping
from importlib import metadata
from typing import Any

from runners import frameworks
from runners.surface.imports import ModuleImporter, public_modules
from runners.surface.walk import entries


def main(arguments: list[str]) -> None:
    """Walk the framework's surface, and then end the process without running exit handlers of the framework's
    modules."""
    pipe, framework = arguments
    reasons = json.load(sys.stdin)
    # The file stays open, because its size shows how much a module has printed.
    output = tempfile.TemporaryFile()  # noqa: SIM115
    for stream in (1, 2):
        os.dup2(output.fileno(), stream)
    with os.fdopen(int(pipe), "w", encoding="utf-8") as sink:

        def say(message: Mapping[str, Any]) -> None:
            sink.write(json.dumps(message, sort_keys=True) + "\n")
            sink.flush()

        walk(framework, reasons, say)
    os._exit(0)


def walk(framework: str, reasons: Mapping[str, str], say: Any) -> None:
    warnings.simplefilter("ignore")
    surface = frameworks.load(framework).surface
    if surface is None:
        say({"type": "broken", "reason": f"{framework} does not declare its public surface"})
        return
    importer = ModuleImporter(say, reasons)
    root = importer.load(framework)
    if root is None:
        say({"type": "broken", "reason": f"{framework} cannot be imported"})
        return
    modules = public_modules(root, surface, importer)
    say({"walking": len(modules)})
    for entry in entries(modules, surface):
        say({"entry": entry})
    say(
        {
            "end": {
                "version": _version(framework, root),
                "python": platform.python_version(),
                "modules": len(modules),
                "excluded": dict(sorted(surface.excluded.items())),
            }
        }
    )


def _version(framework: str, root: object) -> str:
    """Return the public version. The build suffix after a plus is removed, because it does not change the surface."""
    version = getattr(root, "__version__", None)
    text = version if isinstance(version, str) else metadata.version(framework)
    return text.partition("+")[0]
