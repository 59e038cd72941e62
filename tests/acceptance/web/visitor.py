"""A visitor who reads pages without JavaScript: requests pages, sends forms, and reads text."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from typing import Any

import httpx

from tests.admin import AS_ADMIN
from tests.coordinator_process import CoordinatorProcess


class Visitor:
    def __init__(self, coordinator: CoordinatorProcess) -> None:
        self.http = httpx.Client(
            base_url=f"http://127.0.0.1:{coordinator.port}", headers={"Accept": "text/html", **AS_ADMIN}, timeout=120.0
        )

    def read(self, path: str, status: int = 200) -> str:
        """The page's source."""
        answer = self.http.get(path)
        assert answer.status_code == status, answer.text
        assert answer.headers["content-type"].startswith("text/html")
        return answer.text

    def data(self, path: str, **query: Any) -> Any:
        answer = self.http.get(httpx.URL(path).copy_merge_params({"as": "json", **query}))
        assert answer.status_code == 200, answer.text
        return answer.json()

    def send(self, path: str, fields: Mapping[str, str | Sequence[str]], **headers: str) -> httpx.Response:
        """Send a form, like a browser that shows a page of this site."""
        own = {"form_token": form_token(self.http)}
        return self.http.post(path, data={**own, **fields}, headers={"Sec-Fetch-Site": "same-origin", **headers})


def form_token(reader: httpx.Client) -> str:
    """The token in this visitor's forms, and the cookie that belongs to it."""
    page = reader.get("/login", headers={"Accept": "text/html"}).text
    match = re.search(r'name="form_token" value="([0-9a-f]+)"', page)
    assert match, page
    return match[1]


def text(page: str) -> str:
    """The text that a visitor sees, with each run of spaces as one space."""
    without_breaks = page.replace("<wbr>", "")
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", without_breaks)).split())


def beside(page: str, field: str) -> str:
    """The error messages beside a field."""
    match = re.search(rf'id="wrong-{field}">(.*?)</p>', page, re.DOTALL)
    return html.unescape(match[1]) if match else ""
