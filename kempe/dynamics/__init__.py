"""Dynamics: equations of motion, written once over floats or symbols; independent of the compiler."""
