"""The command under a recorder: how it is read, and the child in which it runs. The store of calls is in ``suite/``."""
