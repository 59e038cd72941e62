"""Forms of pages: the proof that a form is of a page which this browser was given here."""
