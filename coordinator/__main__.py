"""``python -m coordinator``: the same as ``portolan``."""

import sys


def main() -> int:
    try:
        # The process that draws figures imports its parent's main module again, but needs no command line.
        from coordinator.cli import main

        return main()
    except KeyboardInterrupt:
        # Ctrl-C came before the command line was imported, which otherwise handles it.
        return 130


if __name__ == "__main__":
    sys.exit(main())
