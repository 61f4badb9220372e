"""Spatial algebra: vectors, rotations and inertias over floats or CasADi symbols.

Everything is a NumPy array: of floats, or of objects whose entries are SX symbols and floats. Exact zeros and ones stay
exact, so products with them cost nothing when traced.
"""
