"""The runner API over HTTP: its service, its server, access to it and enrolment with a coordinator."""
