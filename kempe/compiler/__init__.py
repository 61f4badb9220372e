"""The compiler: turns functions over symbols into straight-line programs, and programs into native code.

trace      a function over CasADi symbols, as a Program
Program    blocks of scalar instructions and the calls that run them: frozen data
Composer   programs of many calls of blocks that are traced once
interpret  a slow reference evaluator, one instruction at a time
count      the operations of a program
Kernel     a program as native code, called with NumPy arrays
"""
