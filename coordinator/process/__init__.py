"""What the operator of a coordinator's process needs: its log, its metrics, and restarts of long-running tasks."""
