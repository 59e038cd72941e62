"""Prints what an image installs: the project's own requirements, with those of extras.

``requirements.py [--extra NAME]… [--without NAME]… [--also REQUIREMENT]…``, beside pyproject.toml.
A file of its own, because only what it prints decides whether an image must install anew.
"""

from __future__ import annotations

import argparse
import re
import tomllib
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--extra", nargs="*", default=[])
    parser.add_argument("--without", nargs="*", default=[])
    parser.add_argument("--also", nargs="*", default=[])
    options = parser.parse_args()
    project = tomllib.loads((Path(__file__).parent / "pyproject.toml").read_text())["project"]
    wanted = list(project["dependencies"])
    for extra in options.extra:
        wanted += project["optional-dependencies"][extra]
    left_out = {name(each) for each in options.without}
    print("\n".join([*(each for each in wanted if name(each) not in left_out), *options.also]))


def name(requirement: str) -> str:
    """``torch-xla`` of ``torch_xla[tpu]>=2.9; sys_platform == 'linux'``."""
    match = re.match(r"[\w.-]+", requirement)
    assert match is not None, requirement
    return re.sub(r"[-_.]+", "-", match[0]).lower()


if __name__ == "__main__":
    main()
