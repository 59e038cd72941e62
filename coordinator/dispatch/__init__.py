"""The hot path: claims, posts, events, outcomes. ``runner_state_machine.py`` decides, without I/O."""
