"""Records the distinct framework calls of a user's command, and makes cases of a suite from these calls.

Each framework has its own ``recorder.py`` and ``replay.py``, which know how to observe and repeat its calls. This
package has the common part: it tells calls apart, counts them, finds the lines of the user's code, describes arrays,
and judges replayed calls. The interpreter that has the framework imports all of it. A runner's service imports only the
rule.
"""
