"""What is said of outcomes after they were stored: by today's rules, and by people."""
