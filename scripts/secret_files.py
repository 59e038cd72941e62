"""Creates the secrets that ``compose.yaml`` passes to its services as files. Existing secrets are not changed.
``make images`` also calls it.

``secret_files.py [SERVICE=FRAMEWORK/DEVICE]…`` also creates tokens for runners that are not in ``compose.yaml``.
Standard library only. On this machine, only the folder's mode protects the files. The files themselves are readable by
everybody, because a file keeps its owner and mode in a container, and there another user must read it.
"""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from protocol.enrolment_tokens import EnrolmentToken  # noqa: E402 - a manager of a swarm has nothing installed

RANDOM = ("database", "portolan_migration", "portolan_application", "portolan_reading", "enrolment-key", "admin")
"""The random secrets: the passwords of PostgreSQL's superuser and of each role, the enrollment key, the admin token."""
RUNNERS = {
    "jax-cpu": "jax/cpu",
    "tensorflow-cpu": "tensorflow/cpu",
    "tensorflow-xla": "tensorflow/xla",
    "torch-cpu": "torch/cpu",
    "torch-xla": "torch/xla",
    "torch-cpu-older": "torch/cpu",
    "torch-cuda": "torch/cuda",
    "tensorflow-gpu": "tensorflow/gpu",
    "jax-cuda": "jax/cuda",
    "torch-tpu": "torch/tpu",
    "tensorflow-tpu": "tensorflow/tpu",
    "jax-tpu": "jax/tpu",
}
"""The targets of the runner services."""
SLOTS = {"torch-cpu-older": "older"}
"""The beginning of host names in ``docker/stack.yaml``, for replicas whose host names do not begin with ``replica``."""


def folder() -> Path:
    """The folder of the secrets: ``$PORTOLAN_SECRETS`` if it is set, as in ``compose.yaml``, otherwise ``secrets`` in
    the checkout."""
    return Path(os.environ.get("PORTOLAN_SECRETS") or ROOT / "secrets")


def make(folder: Path, runners: Mapping[str, str] = RUNNERS) -> None:
    """Create the missing random secrets. Tokens are computed from the key."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.chmod(0o700)
    for name in RANDOM:
        if not _content(folder / name):
            _write(folder / name, _prefix(name) + secrets.token_urlsafe(32))
    key = _content(folder / "enrolment-key")
    for service, target in runners.items():
        replicas = f"{SLOTS.get(service, 'replica')}-+-{target.replace('/', '-')}"
        for file, name in ((f"enrolment-{service}", service), (f"replicas-{service}", replicas)):
            token = str(EnrolmentToken.make(key, name, target))
            if _content(folder / file) != token:
                _write(folder / file, token)


def _content(file: Path) -> str:
    return file.read_text().strip() if file.exists() else ""


def _write(file: Path, content: str) -> None:
    draft = file.with_name(f".{file.name}.part")
    draft.unlink(missing_ok=True)
    draft.write_text(content)
    draft.chmod(0o444)
    draft.replace(file)
    print(f"secrets: made {file}")


def _prefix(name: str) -> str:
    """The prefix of the admin token. Other tokens have the same prefix, so that secret scanners recognize them all."""
    return f"portolan_{secrets.token_hex(4)}_" if name == "admin" else ""


if __name__ == "__main__":
    more = dict(argument.partition("=")[::2] for argument in sys.argv[1:])
    make(folder(), RUNNERS | more)
