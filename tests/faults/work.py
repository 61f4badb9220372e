"""What processes do while `tests.faults.processes` kills, interrupts and forks them, or takes the disk from them.

Nothing is imported here before it is used, so that importing Kempe is part of the work.
"""

import faulthandler
import hashlib
import json
import multiprocessing
import os
import random
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

STATES = 5000  # of a batch, so many that several threads have work
LOCKED = 240  # s after which a process that was forked, or a thread, has locked itself out


def model(name: str = "four-bar") -> Any:
    from kempe.gallery import loops

    return {"four-bar": loops.four_bar, "slider-crank": loops.slider_crank}[name]().compile()


def start(m: Any) -> Any:
    if m.mechanism.name == "four-bar":
        return m.assemble({"A": 1.5}, near={"D": 1.2})
    return m.assemble({"A": 0.7}, near={"rail": 0.4})


# ---- answers ---------------------------------------------------------------------------------------------


def _run(m: Any, torque: Callable | None = None) -> list:
    run = m.simulate(start(m), 0.3, torque, output=[0.1, 0.3])
    return [run.q, run.v, run.a, run.t, run.outcome.kind]


def _accelerations(m: Any) -> list:
    x = start(m)
    return [m.forward_dynamics(x.q, x.v, [0.3]), *m.energy(x.q, x.v)]


def _batch(m: Any) -> list:
    import numpy as np

    x = start(m)
    q, v = np.tile(x.q, (STATES, 1)), np.tile(x.v, (STATES, 1))
    return [m.batch(threads=2).forward_dynamics(q, v, np.linspace(-1, 1, STATES)[:, None])]


def _rollout(m: Any) -> list:
    run = m.batch(threads=2).rollout(start(m), 1e-3, 40, tau=[0.2], batch=32)
    return [run.q, run.v]


def _stepper(m: Any) -> list:
    steps = m.stepper(start(m), 1e-3)
    for _ in range(5):
        steps.step([0.1])
    return [steps.q, steps.v]


FUNCTIONS: dict[str, Callable[[Any], list]] = {
    "assemble": lambda m: [start(m).q, start(m).v],
    "accelerations": _accelerations,
    "simulate": _run,
    "controlled": lambda m: _run(m, lambda t, q, v: [0.1 * q[0] - v[0]]),
    "rollout": _rollout,
    "stepper": _stepper,
    "batch": _batch,
    "marker": lambda m: [*m.pose(m.mechanism.bodies[1].end, start(m).q), m.casadi("forward_dynamics").name()],
}


def answer(m: Any, name: str) -> str:
    """A hash of all bits that a function gives."""
    import numpy as np

    total = hashlib.sha256()
    for x in FUNCTIONS[name](m):
        total.update(x.encode() if isinstance(x, str) else np.asarray(x).tobytes())
    return total.hexdigest()[:16]


def answers(name: str = "four-bar", given: Any = None) -> dict[str, str]:
    """Of all functions, of a mechanism that is compiled, or of a model."""
    warnings.simplefilter("ignore")
    m = model(name) if given is None else given
    return {each: answer(m, each) for each in FUNCTIONS}


def tell(name: str = "four-bar") -> None:
    """The same, for the process that waits for it; and how many files this one has left open."""
    before = _open_files()
    print(json.dumps(answers(name)), flush=True)
    left = _open_files() - before
    assert left <= 8, f"{left} files were left open"


def _open_files() -> int:
    folder = Path("/proc/self/fd")
    return len(list(folder.iterdir())) if folder.exists() else 0


def kept_well() -> None:
    """What `kempe cache` says and does, on whatever folder there is."""
    from kempe.commands import cache as command

    for each in (command.kept, command.check, command.kept):
        each()


def load_integrators() -> None:
    """All that are kept, with the modules that have them, so that nothing but the answers is left to do."""
    import kempe.simulate.run  # noqa: F401
    from kempe.integrate import native

    modules = [each for name, each in sys.modules.items() if name.startswith(("kempe.simulate", "kempe.integrate"))]
    for entry in {x for each in modules for x in vars(each).values() if isinstance(x, native.Entry)}:
        if entry.is_kept:
            entry.call  # noqa: B018


# ---- without an end --------------------------------------------------------------------------------------


def go_on(what: str) -> None:
    """One kind of work again and again, once the waiting process is told; until someone stops it."""
    warnings.simplefilter("ignore")
    if what == "import":
        print("ready", flush=True)
        answers()  # with all that it imports
    m = model()
    run = m.simulate(start(m), 0.3) if what in ("save", "animate") else None
    folder = Path(os.environ["KEMPE_CACHE_DIR"]).parent
    state = start(m)
    works: dict[str, Callable[[], Any]] = {
        "import": lambda: None,
        "compile": lambda: answers("slider-crank", _anew()),
        "long run": lambda: m.simulate(state, 300.0, output=100.0),
        "long controlled run": lambda: m.simulate(state, 300.0, lambda t, q, v: [0.0], output=100.0),
        "long rollout": lambda: m.batch().rollout(state, 1e-4, 400_000, batch=64),
        "save": lambda: [run.save(folder / "run.npz"), run.save(folder / "run.csv")],
        "animate": lambda: [run.animate(folder / "run.html"), run.strip(folder / "run.png", 3)],
    }
    work = works.get(what) or (lambda: FUNCTIONS[what](m))
    if not what.startswith("long") and what != "compile":
        work()
    print("ready", flush=True)
    while True:
        work()


ENDLESS = ("import", "compile", "long run", "long controlled run", "long rollout", "save", "animate", *FUNCTIONS)


def _anew() -> Any:
    """A model that no cache knows: of other lengths, and its integrators."""
    import kempe as kp

    m = kp.Mechanism("slider-crank", gravity=(0, -9.81, 0))
    length = random.SystemRandom().uniform(0.3, 0.4)
    crank, rod = m.rod("crank", length=0.1, mass=1.0), m.rod("rod", length=length, mass=0.8)
    piston = m.box("piston", (0.08, 0.06, 0.06), 0.5)
    m.revolute("A", m.ground.at(0, 0), crank.start, actuated=True)
    m.revolute("B", crank.end, rod.start)
    m.revolute("C", rod.end, piston.at(0, 0))
    m.prismatic("rail", m.ground.at(0, 0), piston.at(0, 0), axis=(1, 0, 0))
    return m.compile()


def save_on(folder: str, seed: int) -> None:
    """Files of all kinds are written over one another, each with the one or the other content; both are kept beside."""
    warnings.simplefilter("ignore")
    m, place = model(), Path(folder)
    runs = [m.simulate(start(m), end, output=end / 4) for end in (0.1, 0.2)]
    writers: dict[str, Callable[[Path, int], Any]] = {
        "run.npz": lambda path, k: runs[k].save(path),
        "run.csv": lambda path, k: runs[k].save(path),
        "run.html": lambda path, k: runs[k].animate(path),
        "run.png": lambda path, k: runs[k].strip(path, 2 + k),
        "m.yaml": lambda path, k: (m.mechanism, model("slider-crank").mechanism)[k].save(path),
        "m.urdf": lambda path, k: (m.mechanism, model("slider-crank").mechanism)[k].save(path),
        "m.xml": lambda path, k: (m.mechanism, model("slider-crank").mechanism)[k].save(path),
    }
    rng = random.Random(seed)
    chosen = rng.sample(list(writers), 2)
    for name in chosen:
        for k in (0, 1):
            (place / f"{k}").mkdir(exist_ok=True)
            writers[name](place / f"{k}" / name, k)
        writers[name](place / name, 0)
    print("ready", flush=True)
    while True:
        for name in chosen:
            writers[name](place / name, rng.randrange(2))


# ---- forked, spawned, in threads -------------------------------------------------------------------------


def fork(seed: int, what: str) -> None:
    """Children forked after threads and models were used, while another thread rolls out, or while one compiles."""
    rng, m = random.Random(seed), model()
    alone, stop = answers(given=m), threading.Event()
    others = {
        "after": None,
        "rolling out": lambda: m.batch(threads=2).rollout(start(m), 1e-3, 20_000, batch=32),
        "compiling": lambda: answers(given=_anew()),
    }

    def go() -> None:
        while not stop.is_set():
            others[what]()

    other = threading.Thread(target=go) if others[what] else None
    if other is not None:
        other.start()
    try:
        for _ in range(2):
            time.sleep(rng.uniform(0.0, 0.3))
            _forked(m, alone, rng.random() < 0.3)
    finally:
        stop.set()
        if other is not None:
            other.join()
    assert answers(given=m) == alone


def _forked(m: Any, alone: dict[str, str], leaves: bool) -> None:
    child = os.fork()
    if not child:
        faulthandler.dump_traceback_later(LOCKED, exit=True)
        code = 1
        try:
            assert answers(given=m) == alone, "other bits"
            answers(given=_anew())
            code = 0
        except BaseException:
            traceback.print_exc()
        sys.stderr.flush()
        if leaves:
            raise SystemExit(code)
        os._exit(code)
    _, status = os.waitpid(child, 0)
    assert status == 0, f"a forked process ended with status {os.waitstatus_to_exitcode(status)}"


def pool(way: str) -> None:
    """Models pickled to the workers of a pool."""
    m = model()
    alone = answers(given=m)
    with multiprocessing.get_context(way).Pool(2) as workers:
        found = workers.starmap_async(answers, [("", m), ("four-bar", None)]).get(LOCKED)
    assert found == [alone] * 2, "other bits"


def threads(seed: int, alone: dict[str, str]) -> None:
    """Eight that call one model at once, each its functions in an order of its own, from the first call on."""
    from concurrent.futures import ThreadPoolExecutor

    warnings.simplefilter("ignore")
    m, together = model(), threading.Barrier(8)

    def one(number: int) -> dict[str, str]:
        order = random.Random(f"{seed} {number}").sample(list(FUNCTIONS), len(FUNCTIONS))
        together.wait(LOCKED)
        return {each: answer(m, each) for each in order}

    with ThreadPoolExecutor(8) as workers:
        for found in workers.map(one, range(8), timeout=LOCKED):
            assert found == alone, f"other bits: {found} and not {alone}"
