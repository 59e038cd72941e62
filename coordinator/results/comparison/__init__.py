"""Compares two campaigns, or two targets: verdicts and latencies, function by function."""
