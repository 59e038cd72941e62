"""Removes secrets from text: values that are registered as secret, and texts that look like secrets.

Both sides pass their logs through ``redact``. The output of a case passes only through ``mask``: rules search it for
the cause of a failure, so text that merely looks like a secret must stay. Does no I/O, standard library only. An
attacker can bring any line into a log. So a line is truncated first, and the time that a regular expression takes is
proportional to the length of the line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

MASK = "***"
LONGEST_LINE = 256 * 1024
"""The maximum length of a log line in characters. A longer line is truncated before it is searched."""
SHORTEST = 8
"""The minimum length of a secret value. Shorter values occur too often in harmless text."""
_SECRET_NAME = re.compile(r"TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|(^|_)KEY($|_)|APIKEY", re.IGNORECASE)
_PLACE = re.compile(r"[/~.][^\s]*")
"""Matches a value that is the path of a file. The content of this file is secret; its path is not."""
_OWN = re.compile(r"PORTOLAN_(DATABASE_.*|ENROLMENT_.*|.*(SECRET|TOKEN|PASSWORD).*)")
"""Portolan's own variables that contain a secret or the path of one."""

_FORMS: tuple[tuple[re.Pattern[str], str], ...] = (
    # user:password@ of a URL or DSN
    (re.compile(r"(\b\w+://[^\s/:@\"'\\]*):[^\s/@\"'\\]+@"), rf"\1:{MASK}@"),
    # the header of every call to a runner
    (re.compile(r"\b(Bearer|Basic)\s+(?!\*)[\w.~+/=-]{6,}", re.IGNORECASE), rf"\1 {MASK}"),
    # a token of Portolan's own
    (re.compile(r"\bportolan_([a-z0-9]+)_[A-Za-z0-9_-]{6,}"), rf"portolan_\1_{MASK}"),
    # a token with which a runner enrolls
    (re.compile(r"(\bportolan-enrol~[^~\s]+~[^~\s]+~)[A-Za-z0-9_-]{6,}"), rf"\1{MASK}"),
    # secret='…', "password": "…", and the same within a string of JSON
    (
        re.compile(
            r"((?:secret|password|passwd|token|authorization)\\*[\"']?\s*[=:]\s*)"
            r"(\\{0,7}[\"'])(?!\*\*\*)(?:(?!\2).)+\2",
            re.IGNORECASE,
        ),
        rf"\1\2{MASK}\2",
    ),
    # secret=…, without quotes
    (
        re.compile(r"((?:secret|password|passwd|token)=)(?!\*\*\*)[^\s,;&)}\]\"'\\]+", re.IGNORECASE),
        rf"\1{MASK}",
    ),
)
_END = r"(?=\\n|\n|\\?\"|'|$)"
_BETWEEN: tuple[tuple[str, re.Pattern[str]], ...] = (
    # what pydantic was given
    ("input_value=", re.compile(", input_type=")),
    # a row that PostgreSQL refused, and the parameters of a statement
    ("Failing row contains (", re.compile(rf"\)\.{_END}")),
    ("[parameters: ", re.compile(rf"\]{_END}")),
)
"""Pairs of texts that stand before and after a secret. If the second text is missing, everything after the first is
secret."""


def mask(text: str, secrets: Iterable[str]) -> str:
    """The text with each of these values removed."""
    for secret in secrets:
        if secret in text:
            text = text.replace(secret, MASK)
    return text


def mask_tail(text: str, secrets: Iterable[str]) -> str:
    """Return ``text``, the end of a longer text, without these secrets. If ``text`` begins in the middle of a secret,
    the rest of the secret is removed too."""
    for secret in secrets:
        # Three letters or fewer reveal little, and would match by chance too often.
        rest = next((n for n in range(len(secret) - 1, 3, -1) if text.startswith(secret[-n:])), 0)
        if rest:
            text = MASK + text[rest:]
    return mask(text, secrets)


def redact(line: str, secrets: Iterable[str] = ()) -> str:
    """A log line from which these values, and everything that looks like a secret, are removed."""
    line = mask(cut(line, LONGEST_LINE), secrets)
    for form, without in _FORMS:
        line = form.sub(without, line)
    for begin, end in _BETWEEN:
        line = _without_between(line, begin, end)
    return line


def cut(text: str, longest: int) -> str:
    """The text or, if it is too long, its beginning with the number of omitted characters."""
    if len(text) <= longest:
        return text
    return f"{text[:longest]}… ({len(text) - longest} characters left out)"


def _without_between(text: str, begin: str, end: re.Pattern[str]) -> str:
    pieces, at = [], 0
    while (begin_at := text.find(begin, at)) >= 0:
        secret_start = begin_at + len(begin)
        # the end of the field was already handled, and is not the end of this text
        if text.startswith(MASK, secret_start):
            pieces.append(text[at:secret_start])
            at = secret_start
            continue
        match = end.search(text, secret_start)
        pieces += [text[at:secret_start], MASK]
        at = match.start() if match else len(text)
    return "".join([*pieces, text[at:]])


def secret_values(variables: Mapping[str, str]) -> frozenset[str]:
    """The values of variables whose names say that they are secrets. Paths of files are not included."""
    return frozenset(
        value
        for name, value in variables.items()
        if len(value) >= SHORTEST and _SECRET_NAME.search(name) and not _PLACE.fullmatch(value)
    )


def without_own_secrets(variables: Mapping[str, str]) -> dict[str, str]:
    """The environment for the processes of cases. It does not contain Portolan's secrets."""
    return {name: value for name, value in variables.items() if _OWN.fullmatch(name) is None}
