"""Recording a user's command: how the command is parsed, and the child process that runs it. Calls are stored by
``suite/``."""
