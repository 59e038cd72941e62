"""Cases of hooks of a training session: ``CheckpointSaverHook`` and ``LoggingTensorHook``.

They were removed with ``tf.estimator``. Their counterparts are in ``tf.compat.v1.train``. The cases call a hook's
methods step by step, and one case uses the monitored session that is made for hooks.
"""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from runners.suite.cases import Context, Function
from runners.tensorflow.placement.sessions import unsoftened
from runners.tensorflow.suites.paper.graphing import (
    initialised,
    matching,
    new_variable,
    own_graph,
    refusal,
    stand_ins,
    v1,
)

Array = np.ndarray[Any, Any]


def drive(session: Any, hook: Any, fetches: Any, feeds: Any, steps: int) -> list[bool]:
    """Call a hook as a monitored session does. Return, for each step, whether the hook has requested to stop."""
    run_context = v1.train.SessionRunContext(v1.train.SessionRunArgs(fetches), session)
    stopping = []
    for _ in range(steps):
        arguments = hook.before_run(run_context)
        wanted = {"own": fetches, "asked": arguments.fetches} if arguments else {"own": fetches}
        results = session.run(wanted, feeds)
        values = v1.train.SessionRunValues(results=results.get("asked"), options=None, run_metadata=None)
        hook.after_run(run_context, values)
        stopping.append(run_context.stop_requested)
    hook.end(session)
    return stopping


def counting(x: Any) -> tuple[Any, Any]:
    """Create, in a graph, a total to which every step adds ``x``. Return the total, and the operation that adds and
    counts the step."""
    step = v1.train.create_global_step()
    total = new_variable("total", tf.zeros(x.shape, x.dtype))
    with tf.control_dependencies([v1.assign_add(total, x)]):
        return total, v1.assign_add(step, 1)


@contextmanager
def checkpoints() -> Iterator[str]:
    """Create a temporary folder. TensorFlow caches writers of summaries by folder, so this cache is cleared at the
    end."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            yield folder
        finally:
            v1.summary.FileWriterCache.clear()


def kept(folder: str) -> dict[int, Any]:
    """Return the total in every checkpoint of a folder, by its step."""
    steps = sorted(int(file.name.split("-")[1].removesuffix(".index")) for file in Path(folder).glob("*.index"))
    found = {}
    for step in steps:
        reader = tf.train.load_checkpoint(f"{folder}/model.ckpt-{step}")
        found[step] = [int(reader.get_tensor("global_step")), reader.get_tensor("total").tolist()]
    return found


def saving(context: Context, x: Any, *, steps: int, every: int) -> Callable[[], Any]:
    def call() -> Any:
        with checkpoints() as folder, own_graph(context) as graph:
            (start,), feeds = stand_ins([x])
            _, update = counting(start)
            hook = context.function(folder, save_steps=every, saver=v1.train.Saver(max_to_keep=None))
            hook.begin()
            with initialised(graph, feeds) as session:
                hook.after_create_session(session, None)
                drive(session, hook, update, feeds, steps)
            return kept(folder)

    return call


def saved(x: Array, *, steps: int, every: int) -> Any:
    """Return the expected checkpoints: at the start, at every ``every`` steps, and at the end."""
    wanted = sorted({0, *range(every, steps + 1, every), steps})
    return {step: [step, (step * x).tolist()] for step in wanted}


def saver_hook_of(name: str) -> Function:
    function = Function(name)
    function.behaviour(
        "every-two-steps", lambda inputs: [inputs.normal(16, 8)], matching(saved), prepare=saving, steps=5, every=2
    )
    return function


old_saver_hook = saver_hook_of("tf.estimator.CheckpointSaverHook")
saver_hook = saver_hook_of("tf.compat.v1.train.CheckpointSaverHook")
saver_hook.behaviour("every-step", lambda inputs: [inputs.normal(3)], matching(saved), prepare=saving, steps=2, every=1)
saver_hook.behaviour("seldom", lambda inputs: [inputs.normal(3)], matching(saved), prepare=saving, steps=3, every=100)
saver_hook.behaviour(
    "float64",
    lambda inputs: [inputs.normal(3)],
    matching(saved, "float64"),
    dtype="float64",
    prepare=saving,
    steps=2,
    every=2,
)


class Listener(v1.train.CheckpointSaverListener):  # type: ignore[misc]
    """Records its calls, and requests to stop at a step."""

    def __init__(self, last: int) -> None:
        self.last = last
        self.calls: list[list[Any]] = []

    def begin(self) -> None:
        self.calls.append(["begin"])

    def before_save(self, session: Any, global_step_value: Any) -> None:
        self.calls.append(["before", int(global_step_value)])

    def after_save(self, session: Any, global_step_value: Any) -> bool:
        self.calls.append(["after", int(global_step_value)])
        return bool(global_step_value == self.last)

    def end(self, session: Any, global_step_value: Any) -> None:
        self.calls.append(["end", int(global_step_value)])


def listened(context: Context, x: Any) -> Callable[[], Any]:
    def call() -> Any:
        listener = Listener(last=2)
        with checkpoints() as folder, own_graph(context) as graph:
            (start,), feeds = stand_ins([x])
            _, update = counting(start)
            hook = context.function(
                folder, save_steps=2, saver=v1.train.Saver(), listeners=[listener], checkpoint_basename="other"
            )
            hook.begin()
            with initialised(graph, feeds) as session:
                hook.after_create_session(session, None)
                stopping = drive(session, hook, update, feeds, 3)
            names = sorted(file.name for file in Path(folder).glob("other-*.index"))
            return listener.calls, stopping, names, Path(folder, "graph.pbtxt").exists()

    return call


saver_hook.behaviour(
    "listeners",
    lambda inputs: [inputs.normal(3)],
    matching(
        lambda x: (
            [
                ["begin"],
                *([when, step] for step in (0, 2, 3) for when in ("before", "after")),
                ["end", 3],
            ],
            [False, True, True],
            ["other-0.index", "other-2.index", "other-3.index"],
            True,
        )
    ),
    prepare=listened,
)


def monitored(context: Context, x: Any) -> Callable[[], Any]:
    """Prepare two monitored sessions with the hook. The second session continues from the checkpoint of the first."""

    def trained(folder: str) -> None:
        with own_graph(context):
            _, update = counting(tf.constant(x.numpy()))
            creator = v1.train.ChiefSessionCreator(checkpoint_dir=folder, config=unsoftened())
            hooks = [
                context.function(folder, save_steps=2, saver=v1.train.Saver(max_to_keep=None), save_graph_def=False)
            ]
            with v1.train.MonitoredSession(creator, hooks) as session:
                for _ in range(3):
                    session.run(update)

    def call() -> Any:
        with checkpoints() as folder:
            trained(folder)
            trained(folder)
            return kept(folder)

    return call


saver_hook.behaviour(
    "training-goes-on-from-it",
    lambda inputs: [inputs.normal(5)],
    matching(lambda x: {step: [step, (step * x).tolist()] for step in (0, 2, 3, 5, 6)}),
    prepare=monitored,
)


def misused(context: Context, x: Any) -> Callable[[], Any]:
    def call() -> Any:
        with checkpoints() as folder, own_graph(context) as graph:
            (start,), feeds = stand_ins([x])
            _, update = counting(start)
            without = context.function(folder, save_steps=1)
            without.begin()
            with initialised(graph, feeds) as session:
                names = [
                    refusal(lambda: context.function(folder)),
                    refusal(lambda: context.function(folder, save_secs=1, save_steps=1)),
                    refusal(lambda: context.function(folder, save_steps=1, saver="one", scaffold="other")),
                    refusal(lambda: without.after_create_session(session, None)),
                ]
                return names, int(session.run(update, feeds))

    return call


saver_hook.behaviour(
    "errors",
    lambda inputs: [inputs.normal(3)],
    matching(lambda x: (["ValueError"] * 3 + ["RuntimeError"], 1)),
    prepare=misused,
)


def logging_tensors(context: Context, x: Any, *, steps: int, **options: Any) -> Callable[[], Any]:
    """Prepare the values that the hook passes to its formatter, as plain numbers."""

    def call() -> Any:
        seen: list[dict[str, Any]] = []

        def formatter(values: Any) -> str:
            seen.append({key: value.tolist() for key, value in values.items()})
            return "seen"

        with own_graph(context) as graph:
            (start,), feeds = stand_ins([x])
            total, update = counting(start)
            hook = context.function({"total": total, "sum": tf.reduce_sum(start * 2)}, formatter=formatter, **options)
            hook.begin()
            with initialised(graph, feeds) as session:
                # The hook's fetches run before each step, in a separate run, so that they contain the total before the
                # step.
                for _ in range(steps):
                    run_context = v1.train.SessionRunContext(v1.train.SessionRunArgs(update), session)
                    arguments = hook.before_run(run_context)
                    results = session.run(arguments.fetches, feeds) if arguments else None
                    session.run(update, feeds)
                    hook.after_run(run_context, v1.train.SessionRunValues(results, None, None))
        return seen

    return call


def logged(x: Array, *, steps: int, every_n_iter: int) -> Any:
    at = range(0, steps, every_n_iter)
    return [{"total": (step * x).tolist(), "sum": float(2 * x.sum())} for step in at]


def logging_hook_of(name: str) -> Function:
    function = Function(name)
    function.behaviour(
        "every-two-steps",
        lambda inputs: [inputs.uniform(16, 8)],
        matching(logged),
        prepare=logging_tensors,
        steps=5,
        every_n_iter=2,
    )
    return function


old_logging_hook = logging_hook_of("tf.estimator.LoggingTensorHook")
logging_hook = logging_hook_of("tf.compat.v1.train.LoggingTensorHook")
logging_hook.behaviour(
    "every-step", lambda inputs: [inputs.uniform(4)], matching(logged), prepare=logging_tensors, steps=3, every_n_iter=1
)
logging_hook.behaviour(
    "float64",
    lambda inputs: [inputs.uniform(4)],
    matching(logged, "float64"),
    dtype="float64",
    prepare=logging_tensors,
    steps=3,
    every_n_iter=3,
)


class Collected(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


@contextmanager
def log() -> Iterator[list[str]]:
    """Collect the lines that TensorFlow logs in the block. They are logged nowhere else."""
    logger, handler = tf.get_logger(), Collected()
    level, propagate, others = logger.level, logger.propagate, list(logger.handlers)
    logger.handlers[:] = [handler]
    logger.propagate = False
    logger.setLevel(logging.INFO)
    try:
        yield handler.lines
    finally:
        logger.handlers[:] = others
        logger.propagate = propagate
        logger.setLevel(level)


def in_the_log(context: Context, x: Any) -> Callable[[], Any]:
    """Prepare two hooks that name tensors in an order. One logs every second step, the other only at the end."""

    def call() -> Any:
        with own_graph(context) as graph, log() as lines:
            step = v1.train.create_global_step()
            update = v1.assign_add(step, 1)
            tf.constant(7, name="seven")
            tf.constant([1.5, 2.0], name="pair")
            often = context.function(["seven:0", "pair:0"], every_n_iter=2)
            last = context.function(["seven"], at_end=True)
            for hook in (often, last):
                hook.begin()
            with initialised(graph) as session:
                drive(session, often, update, {}, 3)
                between = len(lines)
                drive(session, last, update, {}, 2)
        return [line.split(" (")[0] for line in lines], between, x * 2

    return call


logging_hook.behaviour(
    "in-the-log",
    lambda inputs: [inputs.normal(3)],
    matching(lambda x: (["seven:0 = 7, pair:0 = [1.5 2. ]"] * 2 + ["seven = 7"], 2, 2 * x)),
    prepare=in_the_log,
)


def logging_misused(context: Context, x: Any) -> Callable[[], Any]:
    def call() -> Any:
        with own_graph(context):
            nowhere = context.function(["nowhere:0"], every_n_iter=1)
            names = [
                refusal(lambda: context.function({}, every_n_iter=None)),
                refusal(lambda: context.function({}, every_n_iter=1, every_n_secs=1)),
                refusal(lambda: context.function({}, every_n_iter=0)),
                refusal(nowhere.begin),
            ]
        return names, x * 2

    return call


logging_hook.behaviour(
    "errors",
    lambda inputs: [inputs.normal(3)],
    matching(lambda x: (["ValueError", "ValueError", "ValueError", "KeyError"], 2 * x)),
    prepare=logging_misused,
)

FUNCTIONS: list[Function] = [old_saver_hook, saver_hook, old_logging_hook, logging_hook]
