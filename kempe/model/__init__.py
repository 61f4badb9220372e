"""The one place where equations and the compiler meet."""

from kempe.model.compiling import compile_model
from kempe.model.model import Model

__all__ = ["Model", "compile_model"]
