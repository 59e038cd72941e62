"""Parts that all tests in a framework's environment share: running a case, and making its function wrong."""
