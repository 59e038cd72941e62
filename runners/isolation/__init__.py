"""Isolation: the processes that cases run in, their clock and memory, how they are killed and how they ended."""
