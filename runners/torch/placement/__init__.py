"""Proof of placement on torch: operations, transfers, threads, and the executions that something counted."""
