"""Causes of outcomes that did not pass: rules that decide them from stored evidence, overrides by people, and
reclassification."""
