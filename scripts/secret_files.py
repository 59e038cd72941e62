"""Makes the secrets that ``compose.yaml`` gives its services as files, each once. ``make images`` calls it too.

Only their folder protects them on this machine: a file comes into a container with its owner and mode, and
there another user must read it.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path

NAMES = ("database", "enrolment")


def folder() -> Path:
    """``$PORTOLAN_SECRETS``, as in ``compose.yaml``, or ``secrets`` in the checkout."""
    return Path(os.environ.get("PORTOLAN_SECRETS") or Path(__file__).resolve().parent.parent / "secrets")


def make(folder: Path) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.chmod(0o700)
    for name in NAMES:
        file = folder / name
        if file.exists() and file.read_text().strip():
            continue
        draft = folder / f".{name}.part"
        draft.unlink(missing_ok=True)
        draft.write_text(secrets.token_urlsafe(32))
        draft.chmod(0o444)
        draft.replace(file)
        print(f"secrets: made {file}")


if __name__ == "__main__":
    make(folder())
