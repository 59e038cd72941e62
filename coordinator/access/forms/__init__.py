"""CSRF tokens: they prove that a form comes from a page that this browser received from this coordinator."""
