"""``python -m coordinator``: the same as ``portolan``."""

import sys


def main() -> int:
    # The process that draws figures imports its parent's main module again, and needs no command line.
    from coordinator.cli import main

    return main()


if __name__ == "__main__":
    sys.exit(main())
