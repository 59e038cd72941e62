"""Assessment: compares a user's own code with the results of campaigns on a target."""
