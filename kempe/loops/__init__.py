"""Loops: closed states, freedom, generalized coordinates and the formulation, found by numbers."""
