"""What the tests within a framework's own environment share: running a case, and making its function wrong."""
