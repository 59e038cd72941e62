"""Drawing the suite ``library`` anew from what the installed torch ships to test its operators.

A developer's tool: ``python -m freezing.torch FOLDER``, and ``python -m freezing.torch.variants FOLDER`` for the same
cases with other inputs. No runner imports it.
"""
