"""The configuration of a coordinator: variables, settings, limits on work for clients, waiting times."""
