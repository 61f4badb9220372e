"""Mechanics: coordinates, states, and all functions of a mechanism that no formulation enters."""
