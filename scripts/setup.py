"""Creates ``.venv`` with the coordinator and the development tools. ``make setup`` calls it.

Standard library only. An old Python can parse the file, so that it can report that it is too old. An interrupted set-up
is repaired by the next call, because the stamp is written last.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VENV = os.path.join(ROOT, ".venv")
PYTHON = os.path.join(VENV, "bin", "python")
LOCK = os.path.join("coordinator", "lock.txt")


def main(stamp):
    # Both limits come from torch-xla and TensorFlow: older versions cannot import them, and newer versions have no
    # wheels.
    if not (3, 11) <= sys.version_info[:2] <= (3, 13):
        sys.exit(
            f"Portolan needs Python 3.11, 3.12 or 3.13, and {sys.executable} is "
            f"{sys.version_info[0]}.{sys.version_info[1]}: name another Python, such as make PYTHON=python3.12"
        )
    require_cache(os.environ)
    began = time.time()
    os.chdir(ROOT)
    if not works():
        say(f"making .venv with Python {sys.version_info[0]}.{sys.version_info[1]}")
        shutil.rmtree(VENV, ignore_errors=True)
        call([sys.executable, "-m", "venv", VENV], os.environ, "on Debian and Ubuntu, install python3-venv first")
    sys.path.insert(0, ROOT)
    from runners.cli.indexes import any_build, index_variables

    again = (
        "correct the error above, then call make again to continue "
        "(if a certificate is not trusted: set SSL_CERT_FILE to the path of your certificate file)"
    )
    say("installing uv")
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as own:
        own.write(lock_of("uv", any_build(os.environ)))
        own.flush()
        call([PYTHON, "-m", "pip", "install", "--quiet", "--no-deps", "-r", own.name], os.environ, again)
    say("installing the coordinator and the development tools")
    uv = [os.path.join(VENV, "bin", "uv"), "pip"]
    into = ["--python", PYTHON, "--compile-bytecode"]
    hashes = "--no-verify-hashes" if any_build(os.environ) else "--require-hashes"
    call([*uv, "sync", *into, hashes, LOCK], index_variables(os.environ), again)
    call([*uv, "install", *into, "--no-deps", "-e", "."], index_variables(os.environ), again)
    with open(stamp, "w"):
        pass
    say(f"ready after {time.time() - began:.0f} s")


def require_cache(variables):
    """Exit with advice if the cache folder for packages cannot be written, for example because the user has no home
    folder."""
    set_names = [name for name in ("UV_CACHE_DIR", "XDG_CACHE_HOME") if variables.get(name)]
    home = os.path.expanduser("~")
    folder = variables[set_names[0]] if set_names else os.path.join(home, ".cache")
    there = folder
    while not os.path.exists(there):
        there = os.path.dirname(there) or "."
    # A missing home folder is not created for a cache.
    if os.access(there, os.W_OK | os.X_OK) and (set_names or there in (folder, home)):
        return
    sys.exit(
        f"set-up keeps packages in {folder}, which is not writable: name another folder, "
        "such as XDG_CACHE_HOME=/var/tmp/cache make setup"
    )


def lock_of(package, any_build):
    """The lines of the lock for one package. They have no hashes if any build of its version is accepted."""
    with open(LOCK) as file:
        block = re.search(f"^{package}==.*\n(?:    .*\n)*", file.read(), re.MULTILINE)[0]
    return block.split()[0] if any_build else block


def works():
    """Whether .venv exists, has this Python version, and has the locked pip."""
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
        sys.exit("set-up interrupted: call make again to continue")
