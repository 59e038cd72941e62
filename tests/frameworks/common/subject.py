"""A subject is one framework as its tests know it: what makes its functions wrong, and its known exceptions.

Each framework declares its own as ``SUBJECT`` in ``subject.py`` of its folder. A list of exceptions names cases or
functions, with the reason of each; the claims hold every name to be needed.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain

from runners.suite.device import Device
from runners.suite.framework import Framework
from tests.frameworks.common.host_work import Operations
from tests.frameworks.common.keywords import Reading
from tests.frameworks.common.mutants import Arrays, Wrapper
from tests.frameworks.common.operators import Dialect

Reasons = Mapping[str, str]


@dataclass(frozen=True)
class Subject:
    framework: Framework
    arrays: Arrays
    dialect: Dialect
    wrapper_of: Wrapper
    reading: Reading

    doubling: str = ""
    """The function that calls which double an array on the framework's XLA device are charted as."""
    operations: Callable[[Device], Operations] | None = None
    """The framework's ways to do the work of those calls on that device."""
    brought: tuple[str, ...] = ()
    """Packages that the framework brings, and that its frozen suites are read without."""
    # At level 1 one in so many is asked. Where each case is compiled, fewer can be.
    mutants_share: int = 4
    """Of the value cases, with wrong functions."""
    library_share: int = 4
    """Of the cases of the suite ``library``."""
    docs_share: int = 8
    """Of the examples of the suite ``docs``."""
    library_mutants_share: int = 150
    """Of the value cases of the suite ``library``, with wrong functions."""

    gone: Reasons = field(default_factory=dict)
    """Names as the paper printed them that this version does not have, and what stands for them today."""
    raising: Reasons = field(default_factory=dict)
    """Functions whose calls run as written and must fail on a machine without their accelerator."""
    needing_spared: Reasons = field(default_factory=dict)
    """Cases that import a package without which an environment for the CPU is made, and which."""
    faulty: Reasons = field(default_factory=dict)
    """Cases that this version gets wrong on the CPU too, and how."""
    by_processor: Reasons = field(default_factory=dict)
    """Cases that are wrong on some processors only, and their mismatch there."""
    by_processor_in_library: re.Pattern[str] | None = None
    """Matches the functions of ``library`` that some processors compute with kernels of their own."""
    ended_by_some: Reasons = field(default_factory=dict)
    """Cases in which some processors' kernels end the process, so that no test runs them in its own, and why."""
    refused_by_some: Reasons = field(default_factory=dict)
    """Cases that have no kernel on some processors, and why."""
    now_and_then: Reasons = field(default_factory=dict)
    """Cases that are once in a while no better than a narrower float type, and why."""

    without_mutants: Reasons = field(default_factory=dict)
    """Value cases on which no mutant can come to bear, and why."""
    of_part: Reasons = field(default_factory=dict)
    """Value cases that use some of what their function returns, and what that is; another mutant they must notice."""
    written_over_unseen: Reasons = field(default_factory=dict)
    """Functions and cases that do not notice when the array that they are given is written over, and why."""
    right_once_unseen: Reasons = field(default_factory=dict)
    """Cases that do not notice zeros in place of a later result, and why."""

    without_value: Reasons = field(default_factory=dict)
    """Keywords that decide no value, wherever they stand."""
    unused: Mapping[str, Reasons] = field(default_factory=dict)
    """Keywords that could decide values and that no case of the function gives, and why."""
    not_fed: Reasons = field(default_factory=dict)
    """Functions on floats that no case feeds NaN, and why."""

    errors: tuple[Callable[[], Exception], ...] = ()
    """Errors of the framework's own that a case may expect, besides Python's."""
    refused_later: Reasons = field(default_factory=dict)
    """Refusals whose function returns and whose error is no Python's own, and where it comes from."""

    def exceptions(self) -> Iterator[str]:
        """Every case and function that a list names."""
        yield from chain(
            self.gone,
            self.raising,
            self.needing_spared,
            self.faulty,
            self.by_processor,
            self.ended_by_some,
            self.refused_by_some,
            self.now_and_then,
            self.without_mutants,
            self.of_part,
            self.written_over_unseen,
            self.right_once_unseen,
            self.unused,
            self.not_fed,
            self.refused_later,
        )


def subject_of(framework: str) -> Subject:
    """The subject of one of our frameworks, in whose environment this runs."""
    subject: Subject = importlib.import_module(f"tests.frameworks.{framework}.subject").SUBJECT
    return subject
