"""Equations of motion, written once over floats or symbols; this part never sees the compiler."""
