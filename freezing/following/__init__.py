"""Which functions follow each other in programs, counted once: what the suite ``pairs`` is chosen by."""
