"""Mechanics: coordinates, states, and every function of a mechanism that does not depend on a formulation."""
