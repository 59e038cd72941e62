"""Statistics over outcomes: verdicts and latencies of functions, compared across targets."""
