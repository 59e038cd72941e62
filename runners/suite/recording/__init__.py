"""Recording: the distinct calls of a framework that a user's command makes, and these calls as the cases of a suite.

What a call is, only the framework's own part knows (its ``recorder.py`` and ``replay.py``). What tells calls apart, the
book in which they are counted, the lines of the user's code, the arrays, the suite and its judge are the same for all
and stand here. All of it is imported by the interpreter that has the framework, and the rule by a runner's service too.
"""
