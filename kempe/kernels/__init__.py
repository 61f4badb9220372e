"""Kernels: programs and native code of the functions of a set of equations; here dynamics and compiler meet."""
