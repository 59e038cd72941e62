"""The suite ``team_suite``: cases of what ``team_layers`` offers, a module for each kind."""
