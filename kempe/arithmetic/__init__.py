"""Arithmetic in a fixed order: the same bits on every processor, whatever library NumPy uses for linear algebra."""
