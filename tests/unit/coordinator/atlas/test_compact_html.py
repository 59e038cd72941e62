"""A published page is smaller than its template, and a browser reads the same page from it."""

from __future__ import annotations

import pytest

from coordinator.atlas.compact_html import compact_html


@pytest.mark.parametrize(
    ("html", "compact"),
    [
        ('<a class="home" href="../index.html">', "<a class=home href=../index.html>"),
        ('<rect class="works" height="18"/>', '<rect class=works height="18"/>'),
        ('<a href="../">', '<a href="../">'),
        ('<img alt="" src="a.svg">', '<img alt="" src=a.svg>'),
        ('<span class="mark works">', '<span class="mark works">'),
        ('<a href="?a=b">', '<a href="?a=b">'),
        ("<p>one</p>\n<p>two</p>\n<ul><li>a</li>\n<li>b</li></ul>", "<p>one\n<p>two\n<ul><li>a<li>b</ul>"),
        ("<p>one</p> and", "<p>one</p> and"),
        ("<p>one</p><span>two</span>", "<p>one</p><span>two</span>"),
        ("<p>one</p>\n<svg>", "<p>one</p>\n<svg>"),
        ('<tr><th scope="row">int8</th><td>1</td></tr>', "<tr><th>int8<td>1"),
        (
            "<html>\n<head>\n<title>a</title>\n</head>\n<body>\n<a>b</a>\n</body>\n</html>",
            "<html>\n<title>a</title>\n<a>b</a>\n",
        ),
    ],
)
def test_what_html_allows_to_omit_is_omitted(html: str, compact: str) -> None:
    assert compact_html(html) == compact


def test_text_of_other_people_is_kept_because_templates_escape_it() -> None:
    text = "<li>&lt;/td&gt; class=&#34;note&#34; &gt;</li>"
    assert compact_html(text) == text.removesuffix("</li>")
