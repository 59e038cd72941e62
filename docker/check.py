"""Stops the build of an image if a label names another framework version than the image contains.

Reads the build arguments FRAMEWORK and VERSION, and checks nothing if they are absent.
"""

from __future__ import annotations

import os
import sys
from importlib.metadata import packages_distributions, version


def main() -> str | None:
    framework, wanted = (os.environ.get(name, "") for name in ("FRAMEWORK", "VERSION"))
    if wanted:
        distribution = packages_distributions()[framework][0]
        installed = version(distribution).partition("+")[0]
        if installed != wanted:
            return f"{distribution} {installed} is installed, not {wanted} as in the label: correct VERSION"
    return None


if __name__ == "__main__":
    sys.exit(main())
