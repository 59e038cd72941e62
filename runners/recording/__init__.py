"""Records a user's command: parses the command, and runs it in a child process. ``runners/suite/`` stores the calls."""
