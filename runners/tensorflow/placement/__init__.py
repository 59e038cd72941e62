"""Proof of placement on TensorFlow: watches operations, sessions and reads on the host."""
