"""The code of freezing that all frameworks share: the gate, the kinds of input, the quick form and the files.

To *freeze* is to turn samples, which are calls with inputs, into cases that are stored as data. The folders
``freezing/FRAMEWORK`` draw the samples and define the references. This is a developer's tool: no runner imports it.
"""
