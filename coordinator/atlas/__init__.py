"""The atlas: the newest evidence of every function on every target, as one picture, as pages and as published data."""
