"""The coordinator: plans campaigns, dispatches jobs, stores every outcome, makes reports.

It never imports a framework, and uses only ``protocol`` to talk to runners.
"""
