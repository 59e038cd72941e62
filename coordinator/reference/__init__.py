"""Published results to compare campaigns with. They are stored as printed, including their errors."""
