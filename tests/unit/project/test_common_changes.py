"""Each common change of CONTRIBUTING.md, made in a copy of the project, works and changes only as many files as the
page says."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.checkout import Checkout, copy_project, files_of

FIXTURES = "tests/unit/coordinator/causes/fixtures"
HAZARDS = "tests/hazards/hazards"
SCHEDULER = '''\
"""A scheduler of one container, which has a log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from coordinator.fleet.scheduler import Capability, Container


class OneContainer:
    capabilities: frozenset[Capability] = frozenset()

    def __init__(self, fleet: str) -> None:
        self.fleet = fleet

    def list(self, *, usage: bool = False) -> Sequence[Container]:
        return [Container("1", "first", "torch/cpu", "http://127.0.0.1:1", "running", "healthy", None)]

    def logs(self, container: Container, *, follow: bool = False, tail: int | None = None) -> Iterator[bytes]:
        yield f"the log of {container.name}".encode()
'''


@pytest.fixture
def checkout(tmp_path: Path) -> Iterator[Checkout]:
    with copy_project(tmp_path) as copy:
        yield copy


def test_a_counting_rule(checkout: Checkout) -> None:
    row = 'CountingRule("odd", "odd", "only cases of odd runs count", cases="run % 2 = 1")'
    checkout.replace(
        "coordinator/figures/counting.py", "VERDICTS, *CLASS_RULES)\n", f"VERDICTS, *CLASS_RULES, {row})\n"
    )
    checkout.run("-m", "scripts.docs")
    shown = "from coordinator.database.views import VIEWS; print(*(view.query for view in VIEWS))"
    assert "run % 2 = 1" in checkout.run("-c", shown)
    page = "docs/explanation/verdicts.md"
    assert "| `odd` | only cases of odd runs count |" in (checkout.root / page).read_text()
    generated_pages = {page, "docs/reference/command-line.md"}
    assert len(checkout.changes() - generated_pages) == files_of("A counting rule")


def test_a_rule_for_a_cause(checkout: Checkout) -> None:
    rule = '[[rule]]\nid = "tired"\ncause = "environment"\nsays = "The device was tired."\nmessage = "is tired"\n\n'
    checkout.replace("coordinator/causes/rules.toml", '[[rule]]\nid = "lowered"\n', f'{rule}[[rule]]\nid = "lowered"\n')
    tests = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/unit/coordinator/causes/test_causes.py")
    drawn_tests = ("-k", "test_every_rule_has_a_real_failure or test_a_real_failure_gets_its_cause and complex_lt")
    with pytest.raises(AssertionError, match="tired"):
        checkout.run(*tests, "-k", "test_every_rule_has_a_real_failure")
    failure = json.loads((checkout.root / FIXTURES / "cpu_complex_lt.json").read_text())
    failure["outcome"]["evidence"]["message"] = "the device is tired"
    fixture = {**failure, "cause": "environment", "rule": "tired"}
    (checkout.root / FIXTURES / "cpu_complex_lt_tired.json").write_text(json.dumps(fixture))
    assert " passed" in checkout.run(*tests, *drawn_tests)
    changes = checkout.changes()
    assert f"{FIXTURES}/cpu_complex_lt_tired.json" in changes
    assert len(changes) - 1 == files_of("A rule for a cause")


def test_a_suite(checkout: Checkout) -> None:
    suite = checkout.root / "runners/jax/suites/whole_numbers.py"
    suite.write_text(
        '"""The suite ``whole_numbers``."""\n\n'
        "from runners.suite.cases import Function\n\n"
        'total = Function("jax.numpy.sum", lambda values: values.sum(), given=lambda values: values.sum())\n'
        'total.value("row", lambda inputs: [inputs.normal(4)], dtype="float64")\n\n'
        "FUNCTIONS = [total]\n"
        'TIMING = "off"\n'
    )
    suites = (
        "from runners.jax import FRAMEWORK; from runners.suite.suites import load_suite; name = 'whole_numbers'; "
        "suite = load_suite(name, FRAMEWORK.suites[name]); print(suite.timing, *(case.id for case in suite.cases))"
    )
    assert checkout.run("-c", suites).split() == ["off", "jax.numpy.sum/row"]
    assert len(checkout.changes()) == files_of("A suite")


def test_another_way_to_sign_in(checkout: Checkout) -> None:
    request = (
        "import asyncio; from tests.unit.coordinator.access.test_middleware import CHANGE, Application, ask; "
        "application = Application(); headers = [(b'x-remote-user', b'ada')]; "
        "status, _ = asyncio.run(ask(application, 'POST', CHANGE, headers=headers)); "
        "print(status, *(caller.name for caller in application.callers))"
    )
    assert checkout.run("-c", request).split() == ["401"]
    credentials = "        bearer, session = _credentials(headers, cookie)\n"
    checkout.replace(
        "coordinator/access/identifier.py",
        credentials,
        '        if (user := dict(headers).get(b"x-remote-user")) is not None:\n'
        '            return Caller(user.decode(), Role.submitter, "token")\n'
        f"{credentials}",
    )
    assert checkout.run("-c", request).split() == ["200", "ada"]
    assert len(checkout.changes()) == files_of("Another way to sign in")


def test_a_framework_in_portolan(checkout: Checkout) -> None:
    """The hazards become a framework of Portolan, with the files that CONTRIBUTING.md names."""
    declaration = checkout.root / "runners/hazards/__init__.py"
    for name, target in (
        ("__init__.py", declaration),
        ("device.py", declaration.with_name("devices.py")),
        ("functions.py", declaration.with_name("functions.py")),
        ("cases/__init__.py", declaration.parent / "suites/hazards.py"),
    ):
        target.parent.mkdir(parents=True, exist_ok=True)
        text = (checkout.root / HAZARDS / name).read_text()
        target.write_text(text.replace("hazards.functions", "runners.hazards.functions"))
    declaration.write_text(
        declaration.read_text()
        .replace('"hazards.device:', '"runners.hazards.devices:')
        .replace('{"hazards": "hazards.cases"}', '{"hazards": "runners.hazards.suites.hazards"}')
    )
    frameworks = "runners/frameworks.py"
    checkout.replace(
        frameworks,
        "from runners.jax import",
        "from runners.hazards import FRAMEWORK as HAZARDS\nfrom runners.jax import",
    )
    checkout.replace(frameworks, "for framework in (JAX, ", "for framework in (HAZARDS, JAX, ")

    assert "hazards/cpu" in checkout.run("-m", "runners", "targets").split()
    case = ("run", "hazards", "cpu", "hazards.add/0", "--suite", "hazards", "--python", sys.executable)
    assert checkout.run("-m", "runners", *case).startswith("passed (returned)")
    changes = {name for name in checkout.changes() if not name.startswith("runners/hazards/")}
    assert len(changes) == files_of("A framework in Portolan")


def test_a_scheduler(checkout: Checkout) -> None:
    (checkout.root / "coordinator/fleet/one_container.py").write_text(SCHEDULER)
    checkout.replace(
        "coordinator/cli/fleet_commands.py",
        "    try:\n        # Imported by",
        "    from coordinator.fleet.one_container import OneContainer\n\n"
        "    yield OneContainer(name)\n    return\n    try:\n        # Imported by",
    )
    logs = ("-m", "coordinator", "fleet", "logs", "torch/cpu")
    assert checkout.run(*logs) == "the log of first"
    with pytest.raises(AssertionError, match="cannot follow a log while it is written: omit --follow"):
        checkout.run(*logs, "--follow")
    assert len(checkout.changes()) == files_of("A scheduler")
