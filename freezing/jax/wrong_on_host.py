"""The functions that JAX computes wrongly on the CPU, as a review has confirmed.

If the CPU and an independent reference differ, the reference may be wrong, or it may follow another definition or
branch. Therefore only a function in ``WRONG_FUNCTIONS`` may have a case that fails on the CPU. Samples of other
functions are listed with both values. ``docs/explanation/defects.md`` has a script for each reviewed function.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from protocol.enums import Judge

WRONG_FUNCTIONS: Mapping[str, Collection[str]] = {
    Judge.numpy: {
        "jax.lax.zeta",
        "jax.nn.log_sigmoid",
        "jax.nn.squareplus",
        "jax.numpy.divmod",
        "jax.numpy.floor_divide",
        "jax.scipy.special.erfcx",
        "jax.scipy.special.gammaincc",
        "jax.scipy.special.spence",
        "jax.scipy.special.zeta",
        "jax.scipy.stats.cauchy.isf",
        "jax.scipy.stats.cauchy.logsf",
        "jax.scipy.stats.gamma.logcdf",
        "jax.scipy.stats.gamma.logsf",
        "jax.scipy.stats.gumbel_r.logsf",
        "jax.scipy.stats.gumbel_r.sf",
        "jax.scipy.stats.t.logpdf",
        "jax.scipy.stats.t.pdf",
    },
    Judge.differences: {"jax.scipy.special.spence"},
    Judge.float64: {
        "jax.lax.logistic",
        "jax.lax.tanh",
        "jax.nn.celu",
        "jax.nn.elu",
        "jax.nn.gelu",
        "jax.nn.selu",
        "jax.nn.sigmoid",
        "jax.nn.tanh",
        "jax.scipy.special.expit",
        "jax.scipy.stats.gumbel_r.cdf",
    },
}
"""The reviewed functions, by the reference from which they differ. The last two references judge gradients."""
