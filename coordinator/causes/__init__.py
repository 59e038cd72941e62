"""Causes of outcomes that did not pass: rules over their evidence, overrides by a person, and reclassification."""
