"""Calling kernels: shapes, types, prepared outputs, threads, pickles, other compiled code."""

import ctypes
import importlib
import os
import pickle
import subprocess
import sys
import textwrap
import threading

import casadi as ca
import numpy as np
import pytest

from kempe.compiler import gate, native
from kempe.compiler.interpret import interpret
from kempe.compiler.kernel import Kernel
from kempe.compiler.program import Port
from kempe.compiler.trace import trace
from kempe.errors import ArgumentError, CompileError
from tests.compiler.chains import chain_of_squares


def dynamics(t, q, v, M):
    return {"a": M @ q + ca.sin(t) * v, "energy": ca.dot(v, v) / 2, "outer": q @ v.T}


program = trace(dynamics, {"t": (), "q": 3, "v": 3, "M": (3, 3)}, {"energy": ()}, name="dynamics")
kernel = Kernel(program)
rng = np.random.default_rng(0)
T, Q, V, M = 0.3, rng.normal(size=3), rng.normal(size=3), rng.normal(size=(3, 3))


def expected(t, q, v, m):
    return m @ q + np.sin(t) * v, v @ v / 2, np.outer(q, v)


def assert_close(results, references):
    for result, reference in zip(results, references, strict=True):
        np.testing.assert_allclose(result, reference, rtol=1e-13)


class TestArguments:
    def test_by_position_and_by_name(self):
        assert_close(kernel(T, Q, V, M), expected(T, Q, V, M))
        assert_close(kernel(T, Q, M=M, v=V), expected(T, Q, V, M))

    def test_outputs_have_their_shapes(self):
        a, energy, outer = kernel(T, Q, V, M)
        assert (a.shape, energy.shape, outer.shape) == ((3,), (), (3, 3))

    @pytest.mark.parametrize(
        "convert",
        [
            list,
            lambda x: x.astype(np.float32),
            lambda x: np.repeat(x, 2)[::2],
            lambda x: x.astype(">f8"),
            lambda x: np.frombuffer(b"x" + x.tobytes(), dtype=np.uint8)[1:].view(np.float64),
            lambda x: np.ma.asarray(x),
            lambda x: pickle.loads(pickle.dumps(x)),
        ],
        ids=["list", "single", "strided", "big-endian", "unaligned", "subclass", "unpickled"],
    )
    def test_whatever_holds_the_numbers(self, convert):
        q = convert(Q)
        reference = np.asarray(q, dtype=np.float64)
        assert_close(kernel(T, q, V, M), expected(T, reference, V, M))

    def test_integers_and_booleans(self):
        assert_close(
            kernel(1, [1, 2, 3], np.array([True, False, True]), M),
            expected(1, np.array([1, 2, 3]), np.array([1.0, 0, 1]), M),
        )

    def test_matrices_in_column_order(self):
        assert_close(kernel(T, Q, V, np.asfortranarray(M)), expected(T, Q, V, M))

    def test_single_entries_as_numbers(self):
        one = Kernel(trace(lambda x: 2 * x, {"x": 1}))
        for value in (1.5, np.float64(1.5), [1.5], np.array(1.5), np.array([1.5])):
            assert one(value).tolist() == [3.0]

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ((T, Q, V), r"'M' is missing; it takes \(t, q\[3\], v\[3\], M\[3\]\[3\]\)"),
            ((T, Q, V, M, M), "5 arguments were given"),
            ((T, Q[:2], V, M), r"argument 'q' has shape \(2,\); it takes \(3,\), or \(batch, 3\)"),
            ((T, Q, V, M.ravel()), r"argument 'M' has shape \(9,\)"),
            ((T, Q, np.zeros((2, 2, 3)), M), r"argument 'v' has shape \(2, 2, 3\)"),
            ((T, 1.0, V, M), r"argument 'q' has shape \(\)"),
            ((T, Q * 1j, V, M), "argument 'q': its type is complex128"),
            ((T, "abc", V, M), "argument 'q': its type is <U3"),
            ((T, [[1, 2], [3]], V, M), "argument 'q': not an array of numbers"),
            ((T, None, V, M), "argument 'q': its type is object"),
            ((T, np.zeros((4, 3)), np.zeros((5, 3)), M), "different numbers of states \\('q' 4, 'v' 5\\)"),
        ],
    )
    def test_mistakes_are_answered_in_a_sentence(self, arguments, message):
        with pytest.raises(ArgumentError, match=message):
            kernel(*arguments)

    def test_columns_and_added_axes(self):
        """NumPy gives axes of length one any stride it likes."""
        column = Kernel(trace(lambda x: 2 * x, {"x": (3, 1)}, {"y": (3, 1)}))
        q = rng.normal(size=(5, 3))
        assert np.array_equal(column(q[:, :, None])[..., 0], 2 * q)
        assert np.array_equal(column(q[0][:, None])[:, 0], 2 * q[0])
        out = np.zeros((5, 6))
        column(q[:, :, None], out=out[:, ::2, None])
        assert np.array_equal(out[:, ::2], 2 * q)

    def test_broadcast_states(self):
        assert np.array_equal(kernel(T, np.broadcast_to(Q, (9, 3)), V, M)[0], np.tile(kernel(T, Q, V, M)[0], (9, 1)))

    def test_a_function_is_not_a_program(self):
        with pytest.raises(ArgumentError, match="trace the function first"):
            Kernel(dynamics)

    def test_names_are_checked(self):
        with pytest.raises(ArgumentError, match="there is no argument 'velocity'"):
            kernel(T, Q, M=M, velocity=V)
        with pytest.raises(ArgumentError, match="'q' is given by position and by name"):
            kernel(T, Q, V, M, q=Q)


class TestPreparedOutputs:
    def test_single(self):
        out = tuple(np.full(shape, np.nan) for shape in ((3,), (), (3, 3)))
        assert kernel(T, Q, V, M, out=out) is out
        assert_close(out, expected(T, Q, V, M))

    def test_one_output_needs_no_tuple(self):
        double = Kernel(trace(lambda x: 2 * x, {"x": 3}))
        out = np.empty(3)
        assert double(Q, out=out) is out
        assert np.array_equal(out, 2 * Q)
        assert double(Q, out=[out])[0] is out

    def test_the_input_itself(self):
        flip = Kernel(trace(lambda x: x[::-1, :], {"x": 5}))
        x = np.arange(5.0)
        assert flip(x, out=x).tolist() == [4, 3, 2, 1, 0]
        many = np.arange(100.0).reshape(20, 5)
        reference = many[:, ::-1].copy()
        assert np.array_equal(flip(many, out=many), reference)

    def test_a_batch_shifted_by_one_state(self):
        double = Kernel(trace(lambda x: 2 * x, {"x": 2}))
        store = np.arange(60.0).reshape(30, 2)
        reference = 2 * store[:-1]
        double(store[:-1], out=store[1:])
        assert np.array_equal(store[1:], reference)

    def test_strided(self):
        double = Kernel(trace(lambda x: 2 * x, {"x": 3}))
        store = np.zeros((7, 6))
        double(np.ones((7, 3)), out=store[:, ::2])
        assert store.sum(axis=0).tolist() == [14, 0, 14, 0, 14, 0]
        line = np.zeros(6)
        double(np.ones(3), out=line[::2])
        assert line.tolist() == [2, 0, 2, 0, 2, 0]

    @pytest.mark.parametrize(
        ("out", "message"),
        [
            (np.empty(4), r"out for 'out' has shape \(4,\); it must have \(3,\)"),
            (np.empty(3, dtype=np.float32), "must be a NumPy array of doubles, not float32 array"),
            ([0.0, 0.0, 0.0], "out has 3 arrays for 1 outputs"),
            ("text", "must be a NumPy array of doubles, not str"),
        ],
    )
    def test_mistakes(self, out, message):
        double = Kernel(trace(lambda x: 2 * x, {"x": 3}))
        with pytest.raises(ArgumentError, match=message):
            double(Q, out=out)

    @pytest.mark.parametrize("given", [(), (Q, V)])
    def test_inputs_are_counted_apart_from_outputs(self, given):
        """A tuple of outputs must not fill in for a missing input, nor an input for an output."""
        difference = Kernel(trace(lambda a, b: a - b, {"a": 3, "b": 3}))
        out = (np.empty(3), np.empty(3)) if len(given) < 2 else ()
        with pytest.raises(ArgumentError):
            difference(*given, out=out)

    def test_overlapping(self):
        both = Kernel(trace(lambda x: (x, 2 * x), {"x": 2}))
        store = np.zeros((30, 2))
        with pytest.raises(ArgumentError, match="overlap"):
            both(np.ones((20, 2)), out=(store[:20], store[5:25]))

    def test_read_only(self):
        out = np.empty(3)
        out.flags.writeable = False
        with pytest.raises(ArgumentError, match="read-only"):
            Kernel(trace(lambda x: 2 * x, {"x": 3}))(Q, out=out)


class TestBatches:
    def test_shared_arguments(self):
        q, v = rng.normal(size=(2, 21, 3))
        a, energy, outer = kernel(T, q, v, M)
        assert (a.shape, energy.shape, outer.shape) == ((21, 3), (21,), (21, 3, 3))
        for k in range(21):
            assert_close((a[k], energy[k], outer[k]), expected(T, q[k], v[k], M))

    def test_all_arguments(self):
        t, q, v, m = rng.normal(size=9), *rng.normal(size=(2, 9, 3)), rng.normal(size=(9, 3, 3))
        results = kernel(t, q, v, np.asfortranarray(m))
        for k in range(9):
            assert_close([r[k] for r in results], expected(t[k], q[k], v[k], m[k]))

    def test_no_states(self):
        a, energy, outer = kernel(T, np.zeros((0, 3)), V, M)
        assert (a.shape, energy.shape, outer.shape) == ((0, 3), (0,), (0, 3, 3))

    def test_nothing_is_written_beyond_the_last_state(self):
        double = Kernel(trace(lambda x: 2 * x, {"x": 2}))
        for count in range(20):
            store = np.full((count + 20, 2), -1.0)
            double(np.ones((count, 2)), out=store[:count])
            assert (store[:count] == 2).all()
            assert (store[count:] == -1).all()


def test_structural_zeros_are_written_over_old_memory():
    sparse = Kernel(trace(lambda x: ca.diag(x), {"x": 3}))
    out = np.full((3, 3), np.nan)
    assert np.array_equal(sparse(Q, out=out), np.diag(Q))
    many = np.full((10, 3, 3), np.nan)
    assert not np.isnan(sparse(np.ones((10, 3)), out=many)).any()


def test_nan_in_nan_out():
    a, energy, _ = kernel(T, [np.nan, 0, 0], V, M)
    assert np.isnan(a).all()
    assert np.isfinite(energy)


def test_empty_ports():
    empty = Kernel(trace(lambda p, x: {"y": x + 1, "none": p}, {"p": 0, "x": 2}))
    y, none = empty(np.zeros(0), np.zeros(2))
    assert y.tolist() == [1, 1]
    assert none.shape == (0,)
    y, none = empty(np.zeros(0), np.zeros((5, 2)))
    assert (y.shape, none.shape) == ((5, 2), (5, 0))


def test_pickled_kernels_work():
    again = pickle.loads(pickle.dumps(kernel))
    assert again.program == kernel.program
    assert all(np.array_equal(a, b) for a, b in zip(again(T, Q, V, M), kernel(T, Q, V, M), strict=True))


def test_equal_programs_share_their_code():
    assert Kernel(program).address == kernel.address


def test_shown_in_words():
    assert repr(kernel) == "Kernel(dynamics: t, q[3], v[3], M[3][3] -> a[3], energy, outer[3][3]; 37 operations)"


class TestThreads:
    def test_many_at_once(self):
        chain = Kernel(chain_of_squares(300))
        inputs = rng.uniform(-1, 1, (8, 3))
        references = [interpret(chain.program, x)[0] for x in inputs]
        wrong = []

        def work(x, reference):
            wrong.extend(1 for _ in range(300) if not np.array_equal(chain(x), reference))
            wrong.extend(1 for _ in range(30) if not np.array_equal(chain(np.tile(x, (9, 1)))[-1], reference))

        threads = [threading.Thread(target=work, args=pair) for pair in zip(inputs, references, strict=True)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong

    def test_first_kernels_made_by_many_threads(self):
        code = """
            from concurrent.futures import ThreadPoolExecutor
            import numpy as np
            from kempe.compiler.kernel import Kernel
            from kempe.compiler.trace import trace
            programs = [trace(lambda x, c=c: c * x, {"x": 2}) for c in range(2, 18)]
            with ThreadPoolExecutor(8) as pool:
                kernels = list(pool.map(Kernel, programs))
            print(sum(int(k(np.ones(2))[0]) for k in kernels))
        """
        environment = {**os.environ, "KEMPE_CACHE_DIR": ""}
        command = [sys.executable, "-c", textwrap.dedent(code)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert done.stdout == f"{sum(range(2, 18))}\n", done.stderr


class TestLock:
    """Whether the interpreter's lock is held is asked by code run in a kernel's place: Python's own function tells."""

    PROBE = """
        declare i32 @PyGILState_Check()
        define void @one(ptr %inputs, ptr %outputs, ptr %work) {
          %held = call i32 @PyGILState_Check()
          %number = sitofp i32 %held to double
          %out = load ptr, ptr %outputs
          store double %number, ptr %out
          ret void
        }
        define void @many(i64 %n, ptr %inputs, ptr %in.strides, ptr %outputs, ptr %out.strides, ptr %work) {
          call void @one(ptr %inputs, ptr %outputs, ptr %work)
          ret void
        }
    """

    @pytest.fixture
    def probe(self):
        check = ctypes.cast(ctypes.pythonapi.PyGILState_Check, ctypes.c_void_p).value
        return native.Code(native.object_code(self.PROBE), ("one", "many"), {"PyGILState_Check": check})

    @pytest.mark.parametrize("release", [False, True])
    def test_the_gate_does_as_it_is_told(self, probe, release):
        out = np.full(1, -1.0)
        one = gate.gate().enter(gate.table(probe.address("one"), [], [Port("held", (1,))], 0, release))
        assert one(out) == 0
        assert out[0] == (not release)
        out[0] = -1.0
        gate.gate().invoke(np.array([probe.address("many"), 1, 0, release, 0, 0]), np.empty(16), out)
        assert out[0] == (not release)

    def test_kernels_release_it_for_long_work_only(self):
        def releases(kernel):
            return bool(kernel.enter.__self__[4])

        assert not releases(kernel)
        assert releases(Kernel(chain_of_squares(2000)))
        assert releases(Kernel(trace(lambda x: ca.sin(x), {"x": 100})))  # sines count for what they take
        assert releases(Kernel(trace(lambda x: x.T, {"x": (50, 50)})))  # and so does copying

    @pytest.mark.parametrize(("states", "released"), [(2, False), (5000, True)])
    def test_batches_release_it_for_many_states_only(self, monkeypatch, states, released):
        told = []
        opened = gate.gate()
        monkeypatch.setattr(opened, "invoke", lambda numbers, *arrays: told.append(bool(numbers[3])))
        kernel(T, np.zeros((states, 3)), V, M)
        assert told == [released]


class TestOtherCompiledCode:
    def call(self, function):
        results = np.empty(3), np.empty(()), np.empty((3, 3))
        arguments = np.array(T), Q, V, M
        inputs = (ctypes.c_void_p * 4)(*(x.ctypes.data for x in arguments))
        outputs = (ctypes.c_void_p * 3)(*(x.ctypes.data for x in results))
        function(ctypes.addressof(inputs), ctypes.addressof(outputs), None)
        return results

    def test_by_address(self):
        assert kernel.workspace == 0
        results = self.call(ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)(kernel.address))
        assert_close(results, expected(T, Q, V, M))

    def test_from_numba(self):
        numba = importlib.import_module("numba")
        importlib.import_module("numba.experimental.function_type")
        types = numba.types

        class Address(types.WrapperAddressProtocol):
            def __wrapper_address__(self):
                return kernel.address

            def signature(self):
                return types.void(types.intp, types.intp, types.intp)

        @numba.njit
        def ten_times(function, inputs, outputs):
            for _ in range(10):
                function(inputs, outputs, 0)

        self_call = self.call(lambda inputs, outputs, _: ten_times(Address(), inputs, outputs))
        assert_close(self_call, expected(T, Q, V, M))


def test_a_strange_memory_layout_is_refused(monkeypatch):
    monkeypatch.setattr(gate, "NDIM", gate.NDIM + 4)
    with pytest.raises(CompileError, match="has a memory layout of arrays that Kempe does not know"):
        gate._check_layout()
