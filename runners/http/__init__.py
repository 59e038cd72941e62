"""The runner API over HTTP: service, server, access control, and enrollment with a coordinator."""
