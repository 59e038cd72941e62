"""Makes text from unknown sources safe for a CSV file, a page, or a database column. No I/O."""
