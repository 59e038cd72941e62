"""Tables, connections and the embedded PostgreSQL. It makes no decisions about campaigns."""
