"""Drawing the suite ``library`` anew from what the installed torch ships to test its operators.

A developer's tool: ``python -m freezing.torch FOLDER``. No runner imports it.
"""
