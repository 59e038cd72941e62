"""Addresses of the atlas: one rule turns a name into a path. This module does no I/O.

Every publication uses the same rule, so that links to published pages stay valid. Some file systems do not distinguish
``torch.nn.Softmax`` from ``torch.nn.softmax``, so a capital letter becomes ``~`` and the lowercase letter. Any other
special character becomes its hexadecimal code between equals signs: ``AMD EPYC`` becomes ``~a~m~d=20=~e~p~y~c``.
"""

from __future__ import annotations

import hashlib
import re
import sys
from urllib.parse import quote

_NOT_PLAIN = re.compile(r"^\.|[^a-z0-9._-]")
_ESCAPED = re.compile(r"~([a-z])|=([0-9a-f]{1,8})=")
LONGEST = 180
"""The maximum number of characters of a file name. File systems allow 255 bytes."""


def file_name(name: str) -> str:
    """The file name for a name. Different names have different file names, even if upper and lower case are not
    distinguished. A file name contains no slash."""
    plain = _NOT_PLAIN.sub(_escape, name)
    if len(plain) <= LONGEST:
        return plain
    return f"{plain[:LONGEST]}={hashlib.sha256(name.encode(errors='surrogatepass')).hexdigest()[:16]}"


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    return f"~{character.lower()}" if "A" <= character <= "Z" else f"={ord(character):x}="


def name_of(file: str) -> str | None:
    """The name from which ``file_name`` makes this file name; None if there is no such name, or if the file name is too
    long."""
    name = _ESCAPED.sub(_unescape, file)
    return name if file_name(name) == file else None


def _unescape(match: re.Match[str]) -> str:
    capital, number = match.groups()
    return capital.upper() if capital else chr(min(int(number, 16), sys.maxunicode))


def function_path(name: str) -> str:
    return f"functions/{file_name(name)}.html"


def framework_path(name: str) -> str:
    return f"frameworks/{file_name(name)}.html"


def module_path(name: str) -> str:
    return f"modules/{file_name(name)}.html"


def operation_path(framework: str, operation: str) -> str:
    return f"operations/{file_name(framework)}-{file_name(operation)}.html"


def target_path(target: str, hardware: str) -> str:
    """The path of a target's page. ``target`` has the form ``torch@2.9.0/xla``."""
    return f"targets/{file_name(target.replace('@', '-').replace('/', '-'))}-{file_name(hardware)}.html"


def as_link(path: str) -> str:
    """The path in the form of a link."""
    return quote(path, safe="/~=")
