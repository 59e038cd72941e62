"""Lists the public surface of an installed framework (functions, classes and members), in its own interpreter."""
