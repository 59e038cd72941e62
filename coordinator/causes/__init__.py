"""Why an outcome did not pass: rules over its evidence, overrides by a person, and reclassification."""
