"""The coordinator's process for its operator: log, metrics, restarts of long-running tasks."""
