"""A dotted name can wrap between its words, and markup in it is shown as text."""

from __future__ import annotations

import pytest

from coordinator.text.page_text import breakable


@pytest.mark.parametrize(
    ("name", "html"),
    [
        ("torch.nn.SmoothL1Loss", "torch.<wbr>nn.<wbr>SmoothL1Loss"),
        ("aten::_to_copy", "aten::<wbr>_<wbr>to_<wbr>copy"),
        ("torch@2.9.0/xla", "torch@<wbr>2.<wbr>9.<wbr>0/<wbr>xla"),
        ("a.<b>", "a.&lt;b&gt;"),
        ("a.\u202eb", "a.\\u202eb"),
    ],
)
def test_a_name_breaks_between_its_words(name: str, html: str) -> None:
    assert breakable(name) == html
