"""The command by which a person runs one case once more, as its runner words it. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Any

from protocol.runner import CASE_PLACE, RUN_PLACE

KNOWN = frozenset({"torch", "tensorflow", "jax"})
"""Of Portolan's own runners: what is older than ``Fingerprint.repeat`` is repeated as these are."""
_OWN = "portolan-runner run {framework} {device} {case}[ --run {run}]"
_LATER_RUNS_ONLY = re.compile(r"\[([^\[\]]*)\]")


def repeat_command(framework: str, device: str, case: str, run: int, fingerprint: Mapping[str, Any] | None) -> str:
    """The command to type where the runner is installed, or a sentence if its fingerprint has none."""
    body = fingerprint or {}
    template = body.get("repeat")
    if template is None and framework in KNOWN and (fingerprint is None or body.get("python")):
        template = _OWN.replace("{framework}", framework).replace("{device}", device)
    if template is None:
        host = body.get("host") or "the runner"
        return f"ask whoever runs {host}: this runner does not say how a case is repeated"
    return _filled(str(template), case, run)


def _filled(template: str, case: str, run: int) -> str:
    """The template with its places filled; what stands in brackets is for the runs after the first."""
    command = _LATER_RUNS_ONLY.sub(r"\1" if run != 1 else "", template)
    values = {CASE_PLACE: shlex.quote(case), RUN_PLACE: str(run)}
    return re.sub("|".join(map(re.escape, values)), lambda found: values[found[0]], command)
