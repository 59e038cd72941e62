"""Drawing the suite ``library`` anew from the public functions of the installed TensorFlow.

A developer's tool: ``python -m freezing.tensorflow SURFACE FOLDER``. No runner imports it.
"""
