"""Recording: the distinct calls of a framework that a user's command makes, and these calls as the cases of a suite.

What a call is, only the framework's own part knows (``runners/torch/recorder.py`` and ``replay.py``). The book in which
calls are counted, the lines of the user's code, the arrays and the suite are the same for all and stand here. All of it
is imported by the interpreter that has the framework.
"""
