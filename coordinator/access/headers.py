"""The headers of every response, and the content security policies for browsers."""

from __future__ import annotations

NOWHERE = "frame-ancestors 'none'; base-uri 'none'"
PAGE = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    f"form-action 'self'; {NOWHERE}"
)
"""The content security policy of pages. A page loads only files of this coordinator, and no text of a runner or a case
can run as a script."""
PICTURE = f"default-src 'none'; style-src 'unsafe-inline'; form-action 'none'; {NOWHERE}"
"""The policy for a drawing that is opened directly. Its marks have inline styles."""
DOCUMENT = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; base-uri 'none'"
"""The policy for a report, which runs no script and loads nothing, also as a file. Its drawings have ``style``
attributes, which a policy cannot allow by hash, so inline styles are allowed."""
REPORT = f"{DOCUMENT}; frame-ancestors 'none'"
"""The policy for the report over HTTP. Only a header can restrict framing."""

POLICY = "Content-Security-Policy"
HEADERS = {
    POLICY: PAGE,
    "Cross-Origin-Resource-Policy": "same-origin",
    # With no-referrer, browsers would also send forms without Origin.
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}
RAW = tuple((name.lower().encode(), value.encode()) for name, value in HEADERS.items())
