"""Proof of placement on TensorFlow: operations as they enter the runtime, sessions, and reads on the host."""
