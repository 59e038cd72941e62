"""Dispatch: claims jobs, posts them to runners, reads events and stores outcomes. This path limits the throughput."""
