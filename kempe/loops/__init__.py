"""Loops: closed states, freedom, generalized coordinates and the choice of formulation, found numerically."""
