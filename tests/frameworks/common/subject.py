"""A subject: one framework's data for its tests, with the functions that make it wrong and its known exceptions.

Each framework declares its own as ``SUBJECT`` in ``subject.py`` of its folder. A list of exceptions has cases or
functions, each with a reason. The tests fail if an exception is not needed.
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
    """The function under whose name calls that double an array on the framework's XLA device are charted."""
    operations: Callable[[Device], Operations] | None = None
    """The framework's operations for these calls on this device."""
    brought: tuple[str, ...] = ()
    """Packages that are installed with the framework. Its frozen suites must be readable without them."""
    # At level 1 one in so many is asked. Where each case is compiled, fewer can be.
    mutants_share: int = 4
    """The share of value cases that is tested with wrong functions."""
    library_share: int = 4
    """The share of the cases of the suite ``library`` that is tested."""
    docs_share: int = 8
    """The share of the examples of the suite ``docs`` that is tested."""
    library_mutants_share: int = 150
    """The share of the value cases of the suite ``library`` that is tested with wrong functions."""

    gone: Reasons = field(default_factory=dict)
    """Names in the paper that this version does not have, each with its current replacement."""
    raising: Reasons = field(default_factory=dict)
    """Functions whose calls run as written and must fail on a machine without their accelerator."""
    needing_spared: Reasons = field(default_factory=dict)
    """Cases that import a package that the environment for the CPU may lack, each with this package."""
    faulty: Reasons = field(default_factory=dict)
    """Cases that this version also gets wrong on the CPU, each with its error."""
    by_processor: Reasons = field(default_factory=dict)
    """Cases that are wrong on some processors only, each with its mismatch there."""
    by_processor_in_library: re.Pattern[str] | None = None
    """Matches the functions of ``library`` for which some processors have special kernels."""
    ended_by_some: Reasons = field(default_factory=dict)
    """Cases in which kernels of some processors end the process, each with the reason. No test runs them in its own
    process."""
    refused_by_some: Reasons = field(default_factory=dict)
    """Cases that have no kernel on some processors, each with the reason."""
    now_and_then: Reasons = field(default_factory=dict)
    """Cases whose result is sometimes only as exact as a narrower float type, each with the reason."""

    without_mutants: Reasons = field(default_factory=dict)
    """Value cases that no mutant can affect, each with the reason."""
    of_part: Reasons = field(default_factory=dict)
    """Value cases that use only a part of their function's result, each with this part. They must detect mutants that
    change this part."""
    written_over_unseen: Reasons = field(default_factory=dict)
    """Functions and cases that do not detect an overwritten array argument, each with the reason."""
    right_once_unseen: Reasons = field(default_factory=dict)
    """Cases that do not detect zeros in a later result, each with the reason."""

    without_value: Reasons = field(default_factory=dict)
    """Keywords that affect no value in any function."""
    unused: Mapping[str, Reasons] = field(default_factory=dict)
    """Keywords that could affect values but are passed in no case of the function, each with the reason."""
    not_fed: Reasons = field(default_factory=dict)
    """Functions of floats for which no case has NaN, each with the reason."""

    errors: tuple[Callable[[], Exception], ...] = ()
    """Error types of the framework, in addition to Python's, that a case may expect."""
    refused_later: Reasons = field(default_factory=dict)
    """Refusals whose function returns and whose error is not one of Python's, each with the origin of the error."""

    def exceptions(self) -> Iterator[str]:
        """Every case and function in a list."""
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
    """The subject of one of Portolan's frameworks, in the framework's environment."""
    subject: Subject = importlib.import_module(f"tests.frameworks.{framework}.subject").SUBJECT
    return subject
