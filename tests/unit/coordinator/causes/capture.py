"""Makes fixtures of real failures: runs snippets in a framework's own environment, through the harness.

From the repository's root, and again whenever a snippet is added:

    PYTHONPATH=. $ENVIRONMENT/bin/python -m tests.unit.coordinator.causes.capture jax cpu [NAME ...]

Cause and rule come from ``snippets.toml``, where a person wrote them; the evidence comes from the run.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

from protocol.enums import TimingPolicy, Verdict
from protocol.outcomes import Outcome
from runners.isolation.explanation import add_explanation
from runners.isolation.harness import _ROOT, FreeTimingLock, run_case
from runners.isolation.observations import as_message
from runners.suite.cases import Context, Function

HERE = Path(__file__).parent
VALUES = [[2.0, 0.5, 0.25], [0.5, 3.0, 0.125], [0.25, 0.125, 4.0]]


def tensorflow_names() -> dict[str, Any]:
    import tensorflow as tf

    tf.config.set_logical_device_configuration(
        tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
    )
    matrix, text = tf.constant(VALUES), tf.constant(["a"])
    with tf.device("/device:CPU:1"):
        elsewhere = tf.constant(VALUES)

    def place_on(kind: str, call: Any) -> Any:
        with tf.device(f"/device:{kind}"):
            return call()

    def gradient(call: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(matrix)
            result = call()
        return tape.gradient(result, matrix)

    return {"tf": tf, "matrix": matrix, "text": text, "elsewhere": elsewhere, "placed": place_on, "gradient": gradient}


def jax_names() -> dict[str, Any]:
    import jax
    import jax.extend.core
    import jax.numpy as jnp
    import numpy as np
    from jax.experimental import pallas, sparse

    def pallas_add(array: Any) -> Any:
        def kernel(array_ref: Any, out: Any) -> None:
            out[...] = array_ref[...] + 1

        return pallas.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(array.shape, array.dtype))(array)

    here, there = jax.devices()
    matrix = jax.device_put(jnp.asarray(VALUES), here)
    elsewhere = jax.device_put(jnp.asarray(VALUES), there)
    modules = {"jax": jax, "jnp": jnp, "np": np, "sparse": sparse}
    return {**modules, "matrix": matrix, "elsewhere": elsewhere, "pallas_add": pallas_add}


NAMES = {"tensorflow": tensorflow_names, "jax": jax_names}


def run(framework: str, device_name: str, snippet_names: list[str]) -> None:
    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
    device = importlib.import_module(f"runners.{framework}").FRAMEWORK.load_device(device_name)
    names = NAMES[framework]()
    device.prime()
    for snippet in tomllib.loads((HERE / "snippets.toml").read_text())["snippet"]:
        if f"{framework}/{device_name}" not in snippet["on"] or (
            snippet_names and snippet["name"] not in snippet_names
        ):
            continue

        def prepare(context: Context, code: str = snippet["call"]) -> Any:
            return lambda: eval(code, {**names, "on": context})

        # Given and not looked up: the host, on which a failure is repeated, knows no such name either.
        function = Function("snippet", given=prepare)
        dtype = snippet.get("dtype", "float32")
        function.behaviour(snippet["name"], lambda inputs: [], lambda result: None, dtype=dtype, prepare=prepare)
        outcome = run_case(device, function.cases[0], TimingPolicy.off, FreeTimingLock(), position=0, init_ms=0.0)
        if snippet.get("explained"):
            outcome = add_explanation(device, function.cases[0], outcome)
        if outcome.verdict is Verdict.passed:
            print(f"{snippet['name']}: it did not fail")
            continue
        write(framework, device_name, snippet, outcome)


def write(framework: str, device_name: str, snippet: dict[str, Any], outcome: Outcome) -> None:
    message = {"verdict": "failed", "ending": outcome.ending, "duration_s": 0.1}
    text = json.dumps(
        {
            "framework": framework,
            "version": sys.modules[framework].__version__,
            "device": device_name,
            "call": snippet["call"],
            "cause": snippet["cause"],
            "rule": snippet["rule"],
            "outcome": {**message, "evidence": as_message(outcome.evidence) if outcome.evidence else {}},
        },
        indent=2,
    )
    # Where this checkout and its environments lie is nobody's business.
    text = text.replace(f"{_ROOT}/", "").replace(f"{sys.prefix}/", "")
    (HERE / "fixtures" / f"{device_name}_{snippet['name']}.json").write_text(text + "\n")
    print(f"{snippet['name']}: {text[text.find('message') :][:150]!r}")


if __name__ == "__main__":
    variables = importlib.import_module(f"runners.{sys.argv[1]}").FRAMEWORK.devices[sys.argv[2]].variables
    if any(os.environ.get(name) != value for name, value in variables.items()):
        command = [sys.executable, "-m", "tests.unit.coordinator.causes.capture", *sys.argv[1:]]
        sys.exit(subprocess.run(command, env={**os.environ, **variables}, check=False).returncode)
    run(sys.argv[1], sys.argv[2], sys.argv[3:])
