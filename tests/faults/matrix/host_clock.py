"""The host's wall clock as coordinator and PostgreSQL see it. It can step while they run."""

from __future__ import annotations

import shutil
import struct
import subprocess
import tempfile
from pathlib import Path

SOURCE = Path(__file__).with_name("clock.c")
VARIABLE = "PORTOLAN_TEST_CLOCK"


class HostClock:
    """A library that processes preload, and the file from which it reads the error of the clock."""

    def __init__(self) -> None:
        """Build the library. Raises ``OSError`` if there is no C compiler."""
        # Not in memory: such file systems often let nothing be executed.
        self.folder = Path(tempfile.mkdtemp(prefix="portolan-clock-"))
        self.folder.chmod(0o755)
        self._file = self.folder / "seconds"
        self.step(0.0)
        library = self.folder / "clock.so"
        command = ["cc", "-shared", "-fPIC", "-O1", "-o", str(library), str(SOURCE), "-ldl"]
        if subprocess.run(command, capture_output=True, check=False).returncode != 0:
            raise OSError("the compiler refuses the library")
        self.variables = {"LD_PRELOAD": str(library), VARIABLE: str(self._file)}

    def step(self, seconds: float) -> None:
        """Set the error of the clock from now on."""
        with open(self._file, "r+b" if self._file.exists() else "wb") as file:
            file.write(struct.pack("d", seconds))
        self._file.chmod(0o644)

    def close(self) -> None:
        shutil.rmtree(self.folder)


def host_clock() -> HostClock | None:
    """The clock; None if it cannot be made here."""
    try:
        return HostClock()
    except OSError:
        return None
