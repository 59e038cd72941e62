"""The configuration of a coordinator: variables, settings, bounds on work for clients, times that it waits."""
