"""Vectors, rotations and inertias in space, over floats or CasADi symbols alike.

Everything is a NumPy array: of floats, or of objects whose entries are SX symbols and floats. An entry that is an exact
zero or one stays one, so that products with it cost nothing when they are traced.
"""
