"""Stops the build of an image whose labels would say of its framework what is not so.

Reads the build arguments FRAMEWORK and VERSION; what is not given is not checked.
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
            return f"{distribution} {installed} is installed, and the label would say {wanted}"
    return None


if __name__ == "__main__":
    sys.exit(main())
