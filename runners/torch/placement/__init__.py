"""Proof of placement on torch: operations, transfers, threads, and counted executions."""
