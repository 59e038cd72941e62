"""Builds the command that runs one case once more from the runner's template. It does no I/O.

REST, pages, reports, files and the command line show the command, and users copy it into a shell, although its words
come from a runner. So the template is split into words first, and every word is quoted. Whatever a runner sends, the
result is one command with arguments. It contains no second command, no expansion and no redirection.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from protocol.runner import CASE_PLACE, RUN_PLACE
from protocol.terminal import terminal_text

KNOWN = frozenset({"torch", "tensorflow", "jax"})
"""Frameworks of Portolan's own runners. Fingerprints from releases before ``Fingerprint.repeat`` use their command."""
_LATER_RUNS_ONLY = re.compile(r"\[([^\[\]]*)\]")
_PLACES = re.compile("|".join(map(re.escape, (CASE_PLACE, RUN_PLACE))))


def repeat_command(framework: str, device: str, case: str, run: int, fingerprint: Mapping[str, Any] | None) -> str:
    """The command to type on the machine where the runner is installed. If no safe command can be built, a sentence
    that says so."""
    body = fingerprint or {}
    runner = f"the runner on {body['host']}" if body.get("host") else "the runner"
    template = body.get("repeat")
    if template is not None:
        words = _words(str(template), run != 1)
    elif framework in KNOWN and (fingerprint is None or body.get("python")):
        words = ("portolan-runner", "run", framework, device, CASE_PLACE, *(("--run", RUN_PLACE) if run != 1 else ()))
    else:
        return f"{runner} does not report how to repeat a case: ask its operator"
    if words is None:
        return f"the repeat command that {runner} reports is not a valid shell command: ask its operator"
    values = {CASE_PLACE: case, RUN_PLACE: str(run)}
    command = [_PLACES.sub(lambda found: values[found[0]], word) for word in words]
    if case.startswith("-") or any(terminal_text(word) != word or "\n" in word for word in command):
        return f"the name of this case cannot be passed to a shell: ask the operator of {runner}"
    return shlex.join(command)


# Cached, because an export has hundreds of thousands of rows but one template per target.
@lru_cache(maxsize=64)
def _words(template: str, is_later_run: bool) -> tuple[str, ...] | None:
    """The words of the template, or None if a quote or bracket is not closed. The part in brackets is for runs after
    the first."""
    try:
        return tuple(shlex.split(_LATER_RUNS_ONLY.sub(r"\1" if is_later_run else "", template)))
    except ValueError:
        return None
