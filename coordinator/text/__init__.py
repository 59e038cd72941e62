"""Text from other people, made safe for its destination: a CSV file, a page, or a column of the database. Pure."""
