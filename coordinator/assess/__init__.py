"""Assessment: a user's own code set against what campaigns found on a target."""
