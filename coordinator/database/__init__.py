"""Tables, connections and the embedded PostgreSQL. This folder makes no decisions about campaigns."""
