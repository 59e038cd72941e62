"""The tools of the operator of a coordinator's process: its log, its metrics, and restarts of long-running tasks."""
