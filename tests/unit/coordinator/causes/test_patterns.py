"""Every pattern of a rule takes a time proportional to the length of a runner's text, whatever the text is.

A backtracking engine would need hours to years for the texts below. So the limits are generous: a busy machine stays
below them, and a quadratic pattern does not.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator

import pytest
import re2

from coordinator.causes.patterns import Eraser, PatternSet, require_linear
from coordinator.causes.rules import EVERY_LOWERED, Rule, classify, load, readable, shipped_rules
from coordinator.errors import PatternError, RulesError
from protocol.enums import Ending, Verdict
from protocol.outcomes import Evidence, Outcome

MILLION = 1_000_000
LIMIT_S = 120.0
LAST = '[[rule]]\nid = "unknown"\ncause = "unknown"\nsays = "No rule."\n'
PATTERNS = sorted(
    {pattern for rule in shipped_rules() for pattern in (*rule.message, *rule.log, *rule.mismatch, *rule.frames)}
)

QUOTING = [
    'File "',
    ' File "x", line 1, in f\n',
    'File "x", line 1, in f\n        ',
    'File "x", line 1',
    "in user code:\n",
    "op is created at",
    "Stack trace for op definition: \n",
    "{{function_node ",
    "{{function_node {{",
    "{{function_node x}} ",
    "frame #0",
    "Exception raised from",
    "\n",
    " \n",
    " ",
    "\t",
    "\ud800",
    "\0",
    "é𝄞",
]


def repeat(piece: str, size: int = MILLION) -> str:
    return (piece * (size // len(piece) + 1))[:size]


def literals(pattern: str) -> list[str]:
    """The words of a pattern as written in a rule."""
    return re.findall(r"[A-Za-z]['\w ]+", re.sub(r"\(\?\w|\\[A-Za-z]", "#", pattern)) or ["x"]


def near_matches(pattern: str) -> Iterator[str]:
    """Texts that begin to match at every position and never match completely, or only by chance."""
    words = literals(pattern)
    yield repeat("".join(word[:-1] for word in words) + "0")
    yield repeat(" ".join(words[:-1] or words) + " ")
    yield repeat(words[0]) + "\n"


def within_limit(work: Callable[[], object]) -> bool:
    began = time.monotonic()
    work()
    return time.monotonic() - began < LIMIT_S


def test_every_pattern_of_the_rules_takes_linear_time() -> None:
    def search_all() -> None:
        for pattern in PATTERNS:
            patterns = PatternSet([pattern])
            for text in near_matches(pattern):
                patterns.found_in(text)

    assert within_limit(search_all)


def test_every_rule_takes_linear_time() -> None:
    def outcome(rule: Rule, text: str) -> Outcome:
        # Longer than any message may be: no rule leans on the limits of the border.
        evidence = Evidence.model_construct(exception=text, message=text, mismatch=text, frames=[text, text])
        ending = Ending.raised if Ending.raised in rule.ending or not rule.ending else Ending(min(rule.ending))
        verdict = Verdict.failed
        return Outcome.model_construct(verdict=verdict, ending=ending, duration_s=1, evidence=evidence, log_tail=text)

    def classify_all() -> None:
        for rule in shipped_rules():
            pattern = min(rule.message | rule.log | rule.mismatch | rule.frames | rule.exception, default="x")
            device = "tpu-lowered" if EVERY_LOWERED in rule.device else "cuda"
            for text in near_matches(pattern):
                for framework in ("torch", "tensorflow", "jax"):
                    assert classify(outcome(rule, text), framework=framework, device=device).rule

    assert within_limit(classify_all)


def test_a_message_is_made_readable_in_linear_time() -> None:
    def read_all() -> None:
        for piece in QUOTING:
            for text in (repeat(piece), 'File "' + repeat(piece), repeat(piece) + 'File "x", line 1, in f'):
                assert len(readable(text)) <= 2_001

    assert within_limit(read_all)


@pytest.mark.parametrize(
    "pattern", ["(a+)+$", "(a|a)*b", "a*a*a*a*a*b", r"[^\n]*x[^\n]*y", r"\n*[ \t]*b", "(.*)(.*)(.*)c"]
)
def test_no_pattern_that_is_accepted_backtracks(pattern: str) -> None:
    text = repeat("a", MILLION // 2) + repeat(" \n", MILLION // 2)
    assert within_limit(lambda: PatternSet([pattern]).found_in(text))
    assert within_limit(lambda: Eraser(pattern).erase(text))


@pytest.mark.parametrize("pattern", [r"(a)\1", "a(?=b)", "a(?!b)", "(?<=a)b", "(?<!a)b", "(?P<x>a)(?P=x)", "(?>a+)b"])
def test_a_pattern_that_needs_backtracking_is_refused(pattern: str) -> None:
    with pytest.raises(PatternError):
        require_linear(pattern)
    rule = f"[[rule]]\nid = 'a'\ncause = 'type'\nsays = 'A sentence.'\nmessage = '{pattern}'\n"
    with pytest.raises(RulesError, match=r"'a': message .*RE2's syntax.*look-around"):
        load(rule + LAST)


def test_a_pattern_that_is_refused_is_said_by_its_error_alone(capfd: pytest.CaptureFixture[str]) -> None:
    for refused in (require_linear, Eraser):
        with pytest.raises((PatternError, re2.error)):
            refused("(a")
    assert capfd.readouterr() == ("", "")


def test_one_pass_finds_what_the_patterns_find_one_by_one() -> None:
    patterns = PatternSet(["a.c", "b", "^c", "x"])
    assert patterns.found_in("abc") == {"a.c", "b"}
    assert patterns.found_in("") == frozenset()
    assert PatternSet(["a.c", "ab"], whole=True).found_in("abc") == {"a.c"}
    assert PatternSet([]).found_in("abc") == frozenset()


def test_text_that_is_no_unicode_is_searched_and_read() -> None:
    assert PatternSet(["bad"]).found_in("\ud800bad\0") == {"bad"}
    assert readable('\udfff bad\n  File "x", line 1, in f') == "? bad"


def test_a_pattern_matches_a_part_of_a_text_unless_it_is_of_the_whole() -> None:
    assert PatternSet(["b", "a.c"]).found_in("abcd") == {"b", "a.c"}
    assert PatternSet(["b", "a.c"], whole=True).found_in("abc") == {"a.c"}
