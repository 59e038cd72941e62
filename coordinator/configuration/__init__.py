"""The configuration of a coordinator: environment variables, settings, limits on the work for clients, waiting
times."""
