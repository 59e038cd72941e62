"""The atlas: the newest evidence about every function on every target, as a picture, as pages and as published data."""
