"""Names and messages can wrap at sensible places, and markup in them is shown as text."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from coordinator.text.page_text import LONGEST_PIECE, LONGEST_WORD, breakable, breakable_text, breakable_words


@pytest.mark.parametrize(
    ("name", "html"),
    [
        ("torch.nn.SmoothL1Loss", "torch.<wbr>nn.<wbr>SmoothL1Loss"),
        ("aten::_to_copy", "aten::<wbr>_<wbr>to_<wbr>copy"),
        ("torch@2.9.0/xla", "torch@<wbr>2.9.0/<wbr>xla"),
        ("a.<b>", "a.&lt;b&gt;"),
        ("torch.<img src=x onerror=alert(1)>", "torch.&lt;img src=x onerror=alert(1)&gt;"),
        ("a.\u202eb", "a.\\u202eb"),
    ],
)
def test_a_name_breaks_between_its_words(name: str, html: str) -> None:
    assert breakable(name) == html


@pytest.mark.parametrize(
    ("name", "html"),
    [
        ("KeyValueTensorInitializer", "Key<wbr>Value<wbr>Tensor<wbr>Initializer"),
        ("nn.SmoothL1Loss", "nn.<wbr>Smooth<wbr>L1<wbr>Loss"),
        ("LSTMCell", "LSTM<wbr>Cell"),
        ("LPPool2d", "LP<wbr>Pool2d"),
        ("dense_to_ragged_batch", "dense_<wbr>to_<wbr>ragged_<wbr>batch"),
        ("randperm", "randperm"),
        ("x" * 40, f"{'x' * LONGEST_WORD}<wbr>{'x' * LONGEST_WORD}<wbr>xxxx"),
    ],
)
def test_a_name_in_a_narrow_column_breaks_between_the_words_of_camel_case(name: str, html: str) -> None:
    assert breakable_words(name) == html


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("no kernel for aten::isin", "no kernel for aten::isin"),
        ("see aten::upsample_bicubic2d.out here", "see aten::<wbr>upsample_<wbr>bicubic2d.<wbr>out here"),
        ("at /usr/lib/python3/lib/site.py", "at /<wbr>usr/<wbr>lib/<wbr>python3/<wbr>lib/<wbr>site.<wbr>py"),
        (
            "got\n  [10,20,30,40,50,60,70,80,90]",
            "got\n  [<wbr>10,<wbr>20,<wbr>30,<wbr>40,<wbr>50,<wbr>60,<wbr>70,<wbr>80,<wbr>90]",
        ),
        ("<b>no.kernel.for.this.function", "&lt;b&gt;no.<wbr>kernel.<wbr>for.<wbr>this.<wbr>function"),
        ("bold <b> and \u202e", "bold &lt;b&gt; and \\u202e"),
        ("", ""),
    ],
)
def test_a_message_breaks_between_words_and_in_long_ones_after_signs(text: str, html: str) -> None:
    assert breakable_text(text) == html


@pytest.mark.parametrize("broken", [breakable, breakable_text])
def test_a_word_without_signs_breaks_after_a_number_of_letters(broken: Callable[[str], str]) -> None:
    assert [len(piece) for piece in broken("x" * 70).split("<wbr>")] == [LONGEST_PIECE, LONGEST_PIECE, 6]
    assert broken("&" * 40) == f"{'&amp;' * LONGEST_PIECE}<wbr>{'&amp;' * 8}"
