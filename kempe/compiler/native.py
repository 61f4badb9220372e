"""Machine code: LLVM text to an object for this host, and an object to callable addresses."""

import ctypes
import threading
from dataclasses import dataclass
from functools import cache

import llvmlite
import llvmlite.binding as llvm

from kempe.errors import CompileError


@dataclass(frozen=True)
class Host:
    """The processor code is made for: its name, its features, and how many doubles a vector holds."""

    triple: str
    cpu: str
    features: str

    @property
    def lanes(self) -> int:
        for feature, lanes in (("+avx512f", 8), ("+avx,", 4)):
            if feature in self.features + ",":
                return lanes
        return 2

    @property
    def versions(self) -> str:
        return f"llvmlite {llvmlite.__version__}, LLVM {'.'.join(map(str, llvm.llvm_version_info))}"


@cache
def host() -> Host:
    """This machine."""
    return Host(llvm.get_process_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten())


_LOCK = threading.Lock()  # LLVM's targets are set up once, by whichever thread comes first


@cache
def _initialize() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


def _machine() -> llvm.TargetMachine:
    with _LOCK:
        _initialize()
    here = host()
    return llvm.Target.from_triple(here.triple).create_target_machine(
        cpu=here.cpu, features=here.features, opt=2, codemodel="jitdefault", jit=True
    )


def object_code(text: str) -> bytes:
    """The object file of an LLVM module given as text, optimised for this host."""
    machine = _machine()
    try:
        module = llvm.parse_assembly(text)
        module.verify()
    except RuntimeError as error:
        raise CompileError(f"the emitted code is not valid LLVM assembly, which is a fault in Kempe: {error}") from error
    module.triple = host().triple
    module.data_layout = str(machine.target_data)
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return machine.emit_object(module)


class Code:
    """An object file in memory, ready to run; addresses stay good as long as this lives."""

    def __init__(self, image: bytes):
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine())
        self._engine.add_object_file(llvm.object_file.ObjectFileRef.from_data(image))
        self._engine.finalize_object()

    def address(self, symbol: str) -> int:
        """Where a function of the object begins."""
        found = self._engine.get_function_address(symbol)
        if not found:
            raise CompileError(f"the object has no function {symbol!r}")
        return found

    def number(self, symbol: str) -> int:
        """What a function of the object without arguments, `int64_t symbol(void)`, returns."""
        return ctypes.CFUNCTYPE(ctypes.c_int64)(self.address(symbol))()
