"""Access: who may do what, how much of it, from where a request may come, and in what form."""
