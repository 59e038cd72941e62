"""The comparison of two campaigns, or two targets: verdicts and latencies, function by function."""
