"""Enrollment: the request by which a runner registers itself (``POST /api/v1/runners/enrol``), and its response."""

import re
from urllib.parse import urlsplit

from pydantic import BaseModel, Field, field_validator

from protocol.model import Message

PATH = "/api/v1/runners/enrol"
NAME = r"^[A-Za-z0-9_.-]{1,64}$"
MAX_URL = 500
SECRET = r"^[!-~]{1,500}$"
"""Characters that are safe in a header: printable ASCII without a space."""


def web_address(url: str) -> str:
    """The address without a slash at its end. Raises ``ValueError`` if the text is not an HTTP address."""
    if not re.fullmatch("https?://[!-~]+", url) or not urlsplit(url).hostname:
        raise ValueError("must begin with http:// or https:// and name a host")
    _ = urlsplit(url).port  # raises for an invalid port
    return url.rstrip("/")


class Enrolment(Message):
    """A runner's request to be registered."""

    name: str = Field(max_length=64, pattern=NAME, description="the runner's own, and the same over all its restarts")
    url: str = Field(max_length=MAX_URL, description="where the coordinator reaches the runner, http or https")
    secret: str = Field(
        max_length=500, pattern=SECRET, description="a provisional one, which the runner made for this request"
    )

    @field_validator("url")
    @classmethod
    def _reachable_by_http(cls, url: str) -> str:
        return web_address(url)


class Enrolled(BaseModel):
    """The response: the runner's new secret. The REST API adds members that describe the runner."""

    secret: str = Field(pattern=SECRET)
