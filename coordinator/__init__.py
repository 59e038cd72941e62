"""The coordinator: plans campaigns, dispatches jobs, stores every outcome, reports.

Never imports a framework, and knows of the runners only what ``protocol`` says.
"""
