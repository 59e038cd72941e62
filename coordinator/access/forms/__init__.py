"""Forms of pages, and the proof that a form comes from a page that this browser received here (CSRF tokens)."""
