"""Native code: LLVM text to an object file for this host, and object files to callable addresses."""

import ctypes
import itertools
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache

import llvmlite
import llvmlite.binding as llvm

from kempe.compiler.forks import compiling
from kempe.errors import CompileError


@dataclass(frozen=True)
class Host:
    """The processor that code is generated for, and the versions of the tools."""

    triple: str
    cpu: str
    features: str
    versions: str

    @property
    def lanes(self) -> int:
        """The number of doubles in a vector register."""
        has = set(self.features.split(","))
        return 8 if "+avx512f" in has else 4 if "+avx" in has else 2

    @property
    def registers(self) -> int:
        """The number of vector registers."""
        return 16 if self.triple.startswith(("x86", "i")) and self.lanes < 8 else 32

    def __str__(self) -> str:
        return " ".join((self.triple, self.cpu, self.features, self.versions))


@cache
def host() -> Host:
    """This machine."""
    versions = f"llvmlite {llvmlite.__version__}, LLVM {'.'.join(map(str, llvm.llvm_version_info))}"
    features = llvm.get_host_cpu_features().flatten()
    return Host(llvm.get_process_triple(), llvm.get_host_cpu_name(), features, versions)


def _machine() -> llvm.TargetMachine:
    # Small code model: constants are addressed relative to the code, which makes vector code a quarter faster. The
    # linker below puts all parts of an object next to each other, so they are always in reach.
    here = host()
    return llvm.Target.from_triple(here.triple).create_target_machine(
        cpu=here.cpu, features=here.features, opt=2, codemodel="small", reloc="pic", jit=True
    )


@cache
def _linker() -> llvm.LLJIT:
    """The linker of this process, which lives as long as any code."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.create_lljit_compiler(_machine(), use_jit_link=True, suppress_errors=True)


_library_numbers = itertools.count()


def object_code(text: str) -> bytes:
    """The object file of an LLVM module given as text, for this host.

    LLVM's optimization passes are not run: programs have nothing left to simplify, measured code is no faster with
    them, and they would add half to the compile time.
    """
    machine, module = _parsed(text)
    with _in_order():
        return machine.emit_object(module)


def assembly(text: str) -> str:
    """The same as assembly text."""
    machine, module = _parsed(text)
    with _in_order():
        return machine.emit_assembly(module)


_emitting = 0  # threads


@contextmanager
def _in_order() -> Iterator[None]:
    """Keeps instructions in the given order (`order`), which LLVM's scheduler would make worse. The setting is global
    to the process, so it is reset for other users of LLVM when no thread needs it."""
    global _emitting
    with compiling:
        if not _emitting:
            llvm.set_option("kempe", "-enable-misched=false")
        _emitting += 1
    try:
        yield
    finally:
        with compiling:
            _emitting -= 1
            if not _emitting:
                llvm.set_option("kempe", "-enable-misched=true")


def _parsed(text: str) -> tuple[llvm.TargetMachine, llvm.ModuleRef]:
    with compiling:
        _linker()
    machine = _machine()
    try:
        module = llvm.parse_assembly(text)
        module.verify()
    except RuntimeError as error:
        raise CompileError(f"a bug in Kempe: the emitted code is not valid LLVM assembly: {error}") from error
    module.triple = host().triple
    module.data_layout = str(machine.target_data)
    return machine, module


class Code:
    """An object in memory, ready to run; its addresses are valid as long as this lives."""

    def __init__(self, image: bytes, symbols: tuple[str, ...], imports: Mapping[str, int] | None = None):
        """`symbols`: the functions to call; `imports`: addresses that the object refers to by name."""
        library = llvm.JITLibraryBuilder().add_object_img(image).add_current_process()
        for symbol in symbols:
            library.export_symbol(symbol)
        for symbol, address in (imports or {}).items():
            library.import_symbol(symbol, address)
        with compiling:
            try:
                self._library = library.link(_linker(), f"kempe{next(_library_numbers)}")
            except RuntimeError as error:
                raise CompileError(f"compiled code could not be linked: {error}") from error

    def address(self, symbol: str) -> int:
        """The address of a function."""
        return self._library[symbol]

    def number(self, symbol: str) -> int:
        """The result of `int64_t symbol(void)`."""
        return ctypes.CFUNCTYPE(ctypes.c_int64)(self.address(symbol))()
