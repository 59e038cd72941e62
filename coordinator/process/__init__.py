"""The process of a coordinator as its operator sees it: log, metrics, long tasks that are restarted."""
