"""Tables, sessions and the embedded PostgreSQL; no decisions."""
