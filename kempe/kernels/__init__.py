"""Kernels: programs and native code for the functions of a set of equations; joins dynamics and compiler."""
