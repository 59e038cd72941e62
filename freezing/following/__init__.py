"""Count which functions follow each other in programs. The suite ``pairs`` consists of the most frequent pairs."""
