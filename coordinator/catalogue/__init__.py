"""The catalogue: the suites, functions and cases that registered runners offer, and the public functions of frameworks
(surfaces), with counts of use, samples and coverage."""
