"""What `kempe demo` shows: the best of what Kempe can do so far."""
