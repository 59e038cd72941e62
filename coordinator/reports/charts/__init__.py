"""Makes the figures of a report from its tables, and draws them."""
