"""Results that JAX gets wrong on the CPU: which functions somebody looked at, and what is wrong with them.

Where an independent reference and the CPU differ, the reference may follow another definition or another branch, or be
the one that is wrong. So a case that fails on the CPU is kept of these functions alone; of any other the sample is
listed with what the reference says. Each of them has a script in ``docs/explanation/defects.md``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from protocol.enums import Judge

REVIEWED: Mapping[str, Collection[str]] = {
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
"""The functions that somebody looked at, by the reference that they differ from; the last two judge gradients."""
