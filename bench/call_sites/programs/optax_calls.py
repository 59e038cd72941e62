"""Runs optimizers, schedules and losses of optax, each on a small problem."""

import contextlib
import inspect

import jax
import jax.numpy as jnp
import optax

parameters = {"w": jnp.ones((4, 3)) * 0.5, "b": jnp.arange(3.0)}
gradients = jax.tree.map(lambda leaf: leaf * 0.1 + 0.2, parameters)
OPTIMIZERS = """adabelief adadelta adafactor adagrad adam adamax adamaxw adamw adan amsgrad fromage lamb lars lion nadam
nadamw noisy_sgd novograd optimistic_gradient_descent radam rmsprop rprop sgd sign_sgd sm3 yogi muon""".split()  # noqa: SIM905

for name in OPTIMIZERS:
    make = getattr(optax, name, None) or getattr(optax.contrib, name)
    arguments = {"learning_rate": 0.1} if "learning_rate" in inspect.signature(make).parameters else {}
    if name == "noisy_sgd":
        arguments["key"] = 0
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), make(**arguments))
    state = optimizer.init(parameters)
    for _ in range(2):
        updates, state = optimizer.update(gradients, state, parameters)
        optax.apply_updates(parameters, updates)

for transformation in (
    optax.clip(1.0), optax.adaptive_grad_clip(0.1), optax.add_noise(0.1, 0.5, 0), optax.centralize(),
    optax.scale_by_rss(), optax.ema(0.9), optax.zero_nans(), optax.normalize_by_update_norm(), optax.trace(0.9, True),
    optax.keep_params_nonnegative(), optax.clip_by_block_rms(1.0), optax.scale_by_param_block_norm(),
):  # fmt: skip
    transformation.update(gradients, transformation.init(parameters), parameters)

for schedule in (
    optax.cosine_decay_schedule(0.1, 10), optax.exponential_decay(0.1, 5, 0.9, staircase=True),
    optax.linear_onecycle_schedule(10, 0.1), optax.polynomial_schedule(0.1, 0.01, 2, 10),
    optax.warmup_cosine_decay_schedule(0.0, 0.1, 2, 10), optax.piecewise_constant_schedule(0.1, {3: 0.5}),
    optax.sgdr_schedule([{"init_value": 0.0, "peak_value": 0.1, "decay_steps": 5, "warmup_steps": 2, "end_value": 0}]),
):  # fmt: skip
    jax.jit(schedule)(jnp.int32(4))

logits, labels = jnp.linspace(-1.0, 1.0, 12).reshape(4, 3), jnp.array([0, 1, 2, 1])
one_hot = jax.nn.one_hot(labels, 3)
losses = optax.losses
for loss in (
    losses.softmax_cross_entropy, losses.sigmoid_binary_cross_entropy, losses.l2_loss, losses.huber_loss,
    losses.log_cosh, losses.cosine_similarity, losses.cosine_distance, losses.hinge_loss, losses.sigmoid_focal_loss,
    losses.safe_softmax_cross_entropy, losses.poly_loss_cross_entropy, losses.kl_divergence, losses.squared_error,
    losses.convex_kl_divergence, losses.smooth_labels, losses.triplet_margin_loss, losses.ranking_softmax_loss,
):  # fmt: skip
    if loss is losses.triplet_margin_loss:
        jax.jit(loss)(logits, one_hot, logits + 1)
    else:
        jax.jit(loss)(logits, 0.1 if loss is losses.smooth_labels else one_hot)
losses.softmax_cross_entropy_with_integer_labels(logits, labels)
losses.multiclass_hinge_loss(logits, labels)
losses.ctc_loss(logits[None], jnp.zeros((1, 4)), labels[None, :2], jnp.zeros((1, 2)))
with contextlib.suppress(AttributeError):
    optax.projections.projection_simplex(logits[0])
    optax.projections.projection_l1_ball(logits[0])
    optax.projections.projection_l2_ball(logits[0])
optax.perturbations.make_perturbed_fun(lambda x: x, 2)(jax.random.key(0), logits)
