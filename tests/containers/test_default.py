"""One command starts everything that ``compose.yaml`` starts by default, and a campaign runs on every target."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.containers.composed import Composed
from tests.containers.inspection import look_inside, shortcomings

RUNNERS = {
    "jax-cpu": "jax@0.10.2/cpu",
    "tensorflow-cpu": "tensorflow@2.21.0/cpu",
    "tensorflow-xla": "tensorflow@2.21.0/xla",
    "torch-cpu": "torch@2.13.0/cpu",
    "torch-xla": "torch@2.9.0/xla",
}
pytestmark = pytest.mark.level(2)

SAMPLES = {"jax": "jax.numpy.compress", "tensorflow": "tf.math.reduce_mean", "torch": "torch.nn.Linear"}


@pytest.fixture(scope="module")
def project(docker: list[str], default_images: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Composed]:
    with Composed(docker, tmp_path_factory.mktemp("default"), "-default", ("compose.yaml",)) as stack:
        stack.up()
        yield stack


def test_every_runner_has_enrolled_with_the_digest_of_its_image(project: Composed) -> None:
    project.wait_online(*RUNNERS)
    runners = {name: project.runner(name) or {} for name in RUNNERS}
    # Of a CPU build, the version goes on after a plus sign.
    versions = {name: runner["version"].partition("+")[0] for name, runner in runners.items()}
    targets = {name: f"{runner['framework']}@{versions[name]}/{runner['device']}" for name, runner in runners.items()}
    assert targets == RUNNERS
    for name, runner in runners.items():
        assert runner["fingerprint"]["image"] == project.inspect(name)["Image"]


def test_every_runner_is_held_in(project: Composed) -> None:
    database = f"{project.address('postgres')}:5432"
    lacking = {name: shortcomings(look_inside(project.docker, project.container(name), database)) for name in RUNNERS}
    # Engines before 28 leave a route to where the bridge would be; what can be reached is tried elsewhere.
    assert {name: [reason for reason in of if reason != "there is a way out"] for name, of in lacking.items()} == {
        name: [] for name in RUNNERS
    }


@pytest.mark.parametrize("framework", SAMPLES)
def test_a_campaign_runs_on_every_target(project: Composed, framework: str) -> None:
    project.wait_online(*RUNNERS)
    campaign = project.submit(functions=[SAMPLES[framework]], runs=1, timing="steady", targets=[f"{framework}/*"])
    after_end = project.wait_ended(campaign)
    assert (after_end["state"], after_end["counters"]["incomplete"]) == ("done", 0)
    passed_by_target = {line["target"]: line["counters"]["passed"] for line in after_end["by_target"]}
    assert len(passed_by_target) == len([name for name in RUNNERS if name.startswith(framework)])
    assert all(passed_by_target.values())
