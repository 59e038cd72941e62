"""Access control: roles and tokens, limits on requests, and the origins that may send requests."""
