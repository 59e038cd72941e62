"""Proof of placement on JAX: the executions of XLA, transfers, and the values that a call reads on the host."""
