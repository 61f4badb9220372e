"""The one place where equations and the compiler meet."""

from kempe.model.model import Model, compile_model

__all__ = ["Model", "compile_model"]
