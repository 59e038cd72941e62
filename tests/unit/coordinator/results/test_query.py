"""The query language of the matrix: the meaning of its words, and the position in the message for a wrong word."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coordinator.errors import QueryError
from coordinator.results.query import (
    EXAMPLES,
    KEYS,
    VERDICTS,
    CauseTerm,
    CountTerm,
    NameTerm,
    Query,
    RatioTerm,
    Term,
    VerdictTerm,
    check_targets,
    matching_ids,
    parse,
)
from coordinator.targets.selectors import Selector, TargetName
from protocol.enums import Cause

TARGETS = [
    TargetName(1, "torch", "2.9.0", "cpu"),
    TargetName(2, "torch", "2.9.0", "xla"),
    TargetName(3, "jax", "0.10.2", "cpu"),
]
XLA = Selector("*", None, "xla")

plain = st.text("abcdefgnrt_0123456789", min_size=1, max_size=8)
selectors = st.none() | st.builds(
    Selector, plain | st.just("*"), st.none() | st.sampled_from(["2.9", "2.13.0+cpu"]), plain
)
names = st.builds(
    NameTerm,
    st.text("abcxyz.*?_%\\", min_size=1, max_size=12),
    st.sampled_from(["function", "module"]),
    st.booleans(),
)
verdicts = st.builds(
    VerdictTerm,
    selectors,
    st.sampled_from([("partial", "complete"), *((verdict,) for verdict in VERDICTS)]),
    st.booleans(),
)
causes = st.builds(CauseTerm, selectors, st.sampled_from([str(cause) for cause in Cause]), st.booleans())
counted = st.builds(CountTerm, selectors, st.sampled_from(["flaky", "fell_back", "unknown_placement"]), st.booleans())
slower = st.builds(
    RatioTerm, selectors, st.floats(1e-6, 1e6, allow_nan=False, exclude_min=True), st.booleans(), st.booleans()
)
queries = st.lists(names | verdicts | causes | counted | slower, max_size=8).map(tuple)


def query_text(query: Query) -> str:
    return " ".join(map(_term_text, query))


def _term_text(term: Term) -> str:
    minus = "-" if term.excluded else ""
    match term:
        case NameTerm(glob, of):
            return f"{minus}{of}:{glob}"
        case VerdictTerm(target, (word,)):
            return f"{minus}{word if word != 'success' else 'passes'}:{_target_text(target)}"
        case VerdictTerm(target):
            return f"{minus}fails:{_target_text(target)}"
        case CauseTerm(target, word):
            return f"{minus}cause:{_target_text(target) + '=' if target else ''}{word}"
        case CountTerm(target, column):
            key = {"fell_back": "falls-back", "unknown_placement": "unproven", "flaky": "flaky"}[column]
            return f"{minus}{key}:{_target_text(target)}"
        case RatioTerm(target, than, over):
            return f"{minus}slower:{_target_text(target)}{'>' if over else '<'}{than!r}"


def _target_text(target: Selector | None) -> str:
    if target is None:
        return ""
    version = "" if target.version is None else f"@{target.version}"
    return f"{target.framework}{version}/{target.device}"


@settings(deadline=None)
@given(queries)
def test_a_query_that_is_written_and_read_again_is_the_same(query: Query) -> None:
    assert parse(query_text(query)) == query


@settings(deadline=None)
@given(st.text(max_size=60))
def test_any_text_is_read_or_refused_with_a_place_within_it(text: str) -> None:
    refusal = None
    try:
        parse(text)
    except QueryError as error:
        refusal = error
    if refusal is not None:
        assert 0 <= refusal.at <= len(text)
        assert str(refusal)


@pytest.mark.parametrize("example", [query for query, _ in EXAMPLES])
def test_the_examples_on_the_page_can_be_read(example: str) -> None:
    assert parse(example)


def test_every_word_of_the_language_is_in_an_example_or_reads_like_one() -> None:
    for key in KEYS:
        value = {"cause": "type", "verdict": "partial", "slower": "xla>2", "module": "torch.nn"}.get(key, "xla")
        assert len(parse(f"{key}:{value}")) == 1


def test_words_mean_what_they_say() -> None:
    assert parse("torch.* -torch.nn.* fails:xla passes:cpu cause:type") == (
        NameTerm("torch.*"),
        NameTerm("torch.nn.*", excluded=True),
        VerdictTerm(XLA, ("partial", "complete")),
        VerdictTerm(Selector("*", None, "cpu"), ("success",)),
        CauseTerm(None, "type"),
    )
    assert parse("slower:torch@2.9/xla>10 falls-back:xla unproven:xla flaky: cause:xla=memory") == (
        RatioTerm(Selector("torch", "2.9", "xla"), 10.0),
        CountTerm(XLA, "fell_back"),
        CountTerm(XLA, "unknown_placement"),
        CountTerm(None, "flaky"),
        CauseTerm(XLA, "memory"),
    )


def test_a_word_speaks_of_every_target_that_its_selector_matches() -> None:
    (cpu,) = parse("fails:cpu")
    (one,) = parse("fails:torch@2.9/cpu")
    (any_,) = parse("flaky:")
    assert not isinstance(cpu, NameTerm)
    assert not isinstance(one, NameTerm)
    assert not isinstance(any_, NameTerm)
    assert (matching_ids(cpu, TARGETS), matching_ids(one, TARGETS), matching_ids(any_, TARGETS)) == (
        [1, 3],
        [1],
        [1, 2, 3],
    )


@pytest.mark.parametrize(
    ("query", "at", "words"),
    [
        ("torch.* fals:xla", 8, "did you mean fails"),
        ("cause:typo", 6, "did you mean type"),
        ("verdict:xla=passed", 12, "choose one of: success, partial, complete, unknown"),
        ("relu -", 5, "a minus needs a word"),
        ("fails:a/b/c", 6, "names no target"),
        ("slower:xla", 7, "slower:xla>10"),
        ("slower:xla>nan", 7, "slower:xla>10"),
        ("slower:xla>-3", 7, "slower:xla>10"),
        ("module:", 7, "module: needs a name"),
        (" ".join(["a"] * 51), 100, "has 51 words, and the limit is 50"),
    ],
)
def test_a_wrong_query_says_where_it_is_wrong(query: str, at: int, words: str) -> None:
    with pytest.raises(QueryError) as excinfo:
        parse(query)
    assert words in str(excinfo.value)
    assert excinfo.value.at == at


def test_a_target_that_the_campaign_does_not_have_is_named_with_those_it_has() -> None:
    text = "torch.* fails:tpu"
    with pytest.raises(QueryError, match=r"name one of: torch@2\.9\.0/cpu") as excinfo:
        check_targets(parse(text), TARGETS, text)
    assert excinfo.value.at == 8
    check_targets(parse("fails:xla -passes:jax/cpu"), TARGETS, "fails:xla -passes:jax/cpu")
