"""The compiler: functions over symbols become straight-line programs, and programs native code.

trace      a function over CasADi symbols, as a Program
Program    blocks of scalar instructions and the calls that run them: frozen data
Composer   programs of many calls of blocks that were traced once
interpret  what a program means, slowly, one instruction at a time
count      what a program costs
Kernel     a program as native code, called with NumPy arrays
"""
