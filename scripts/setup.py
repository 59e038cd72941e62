"""Makes ``.venv`` with the coordinator and the development tools in it. ``make setup`` calls it.

Standard library only, and plain enough for an old Python to read as far as the line that
says so. An interrupted set-up heals with the next call: the stamp is written last.
"""

import os
import shutil
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VENV = os.path.join(ROOT, ".venv")
PYTHON = os.path.join(VENV, "bin", "python")
CONSTRAINTS = os.path.join("coordinator", "constraints.txt")


def main(stamp):
    # Both sides of torch-xla and TensorFlow: nothing older can import them, nothing newer has wheels.
    if not (3, 11) <= sys.version_info[:2] <= (3, 13):
        sys.exit(
            f"Portolan needs Python 3.11, 3.12 or 3.13, and {sys.executable} is "
            f"{sys.version_info[0]}.{sys.version_info[1]}: name another, such as make PYTHON=python3.12"
        )
    began = time.time()
    os.chdir(ROOT)
    if not works():
        say(f"making .venv with Python {sys.version_info[0]}.{sys.version_info[1]}")
        shutil.rmtree(VENV, ignore_errors=True)
        call([sys.executable, "-m", "venv", VENV], os.environ, "on Debian and Ubuntu, install python3-venv first")
    sys.path.insert(0, ROOT)
    from runners.cli.environments import index_variables

    again = "see above; then call make again, it goes on from here"
    say("installing uv")
    call([PYTHON, "-m", "pip", "install", "--quiet", "uv", "-c", CONSTRAINTS], os.environ, again)
    say("installing the coordinator and the development tools")
    uv = [os.path.join(VENV, "bin", "uv"), "pip", "install", "--python", PYTHON, "--compile-bytecode"]
    call([*uv, "-e", ".[coordinator,dev]", "-c", CONSTRAINTS], index_variables(os.environ), again)
    with open(stamp, "w"):
        pass
    say(f"ready after {time.time() - began:.0f} s")


def works():
    """Whether .venv is there, of this Python, and has its pip."""
    own = f"import sys, pip; sys.exit(sys.version_info[:2] != {sys.version_info[:2]})"
    try:
        return subprocess.call([PYTHON, "-c", own], stderr=subprocess.DEVNULL) == 0
    except OSError:
        return False


def call(command, variables, advice):
    if subprocess.call(command, env=variables) != 0:
        sys.exit(f"set-up failed at `{' '.join(command)}`: {advice}")


def say(line):
    print("set-up: " + line)
    sys.stdout.flush()


if __name__ == "__main__":
    try:
        main(sys.argv[1])
    except KeyboardInterrupt:
        sys.exit("set-up interrupted: call make again, it goes on from here")
