"""Proof of placement on JAX: executions of XLA, transfers, and values that a call reads on the host."""
