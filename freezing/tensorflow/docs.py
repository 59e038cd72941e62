"""Freeze the suite ``docs``: the examples of TensorFlow's public docstrings.

    python -m freezing.tensorflow.docs FOLDER SURFACE

Do not start TensorFlow's runtime before a process is forked. Otherwise its children would hang.
"""

from __future__ import annotations

import sys

from freezing.common.admission import LeftOpen
from freezing.common.docs import Docs, main
from runners.tensorflow import FRAMEWORK
from runners.tensorflow.examples import TensorFlowDialect

LEFT_OPEN = LeftOpen(
    frozenset(
        {
            "approx_max_k", "approx_min_k", "argsort", "eig", "eigh", "eigvals", "empty", "empty_like", "export",
            "fold_in", "from_state", "get_global_generator", "lstsq", "lu", "lu_factor", "max_pool_with_argmax", "qr",
            "reset_from_key_counter", "reset_from_seed", "self_adjoint_eig", "svd", "Generator", "SeedGenerator",
        }
    ),
    r"(?i).*(random.+|.+random|stateless|multinomial|dropout|shuffle|sampler|truncated_normal).*",
)  # fmt: skip
"""Functions with several right results: signs, orders or places of equal elements may differ, memory may be
uninitialized, and TensorFlow guarantees the random numbers of a seed only for CPU and GPU. The bare name ``random``
does not match, because it is also NumPy's, whose numbers come from the host."""
SEVERAL, OTHER_DEVICE, FILES = "works across processes", "of another device", "of files"
TRACED = "tells whether it is traced"
UNASKED = {
    "tf.distribute": SEVERAL,
    "tf.data.experimental.distributed_save": SEVERAL,
    "tf.data.experimental.service": SEVERAL,
    "tf.experimental.dtensor": SEVERAL,
    "tf.keras.distribution": SEVERAL,
    "tf.tpu": OTHER_DEVICE,
    "tf.get_static_value": TRACED,
    "tf.inside_function": TRACED,
    "tf.lite": "converts to another runtime",
    "tf.profiler": "measures time",
    # Compiled code writes these files without an audit event, and outside of the example's folder.
    "tf.io.gfile": FILES,
    "tf.keras.callbacks.BackupAndRestore": FILES,
    "tf.saved_model": FILES,
    "tf.summary": FILES,
    "tf.train.CheckpointView": FILES,
    "tf.config": "sets up the process",
    "tf.tuple": "reads a variable before or after it is updated",
    "tf.compat.v1": "of TensorFlow 1",
}
WRITERS = ("tensorflow/python/autograph/pyct/loader.py",)
"""AutoGraph writes the code that it generates from a function into a file, and imports it."""


def begin(stage: str) -> str:
    """Import TensorFlow, and limit it to one thread."""
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    return str(tf.__version__)


if __name__ == "__main__":
    docs = Docs(FRAMEWORK, "freezing.tensorflow.docs", TensorFlowDialect(), LEFT_OPEN, UNASKED, WRITERS)
    raise SystemExit(main(docs, begin, sys.argv[1:]))
