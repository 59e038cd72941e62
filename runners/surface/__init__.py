"""The public surface of an installed framework: its functions, classes and members, walked in its own interpreter."""
