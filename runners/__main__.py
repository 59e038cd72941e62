"""``python -m runners``: the same as ``portolan-runner``."""

import sys

from runners.cli import main

if __name__ == "__main__":
    sys.exit(main())
