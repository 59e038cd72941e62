"""The code of freezing that all frameworks share.

To *freeze* is to turn samples, which are calls with inputs, into cases that are stored as data. The shared code decides
which samples become cases (the gate), names the kinds of input of a case, chooses the cases of a suite's quick form
(about half of the cases), and writes the files. The folders
``freezing/FRAMEWORK`` draw the samples and define the references. This is a developer's tool: no runner imports it.
"""
