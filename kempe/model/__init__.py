"""Model: a compiled mechanism, as a user holds it."""
