"""Analyze: what a compiled mechanism can and cannot do: mobility, singularities, workspace, equilibria and more."""
