"""The atlas: the newest evidence of every function on every target, shown as one picture, as pages and as published
data."""
