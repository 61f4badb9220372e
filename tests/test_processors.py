"""Every machine compiles the same programs: under other kernels of BLAS, threads, instruction sets and C libraries.

Descriptions of random mechanisms are written to files first, and are the same for all.
"""

import json
import os
import platform
import subprocess
import sys

import pytest

from kempe.gallery.entries import ENTRIES
from tests.closed import random_closed
from tests.long import LONG, some

GALLERY = some(["n-four-bar", "bricard", "two-arms"], list(ENTRIES))
SEEDS = range(some(2, 40))
LESS = "AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL AVX512_SPR AVX2 FMA3"  # what NumPy may do without
MACHINES = {
    "as it is": {},
    "Haswell": {"OPENBLAS_CORETYPE": "Haswell", "OPENBLAS_NUM_THREADS": "2"},
    "Zen": {"OPENBLAS_CORETYPE": "Zen", "OPENBLAS_NUM_THREADS": "1"},
    "SkylakeX": {"OPENBLAS_CORETYPE": "SkylakeX", "OPENBLAS_NUM_THREADS": "2"},
    "Sandybridge": {"OPENBLAS_CORETYPE": "Sandybridge", "OPENBLAS_NUM_THREADS": "1"},
    "Prescott": {"OPENBLAS_CORETYPE": "Prescott", "OPENBLAS_NUM_THREADS": "1", "NPY_DISABLE_CPU_FEATURES": LESS},
    "no fused operations": {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-FMA,-FMA4,-AVX2_Usable,-AVX2,-AVX512F"},
}
CI = ("SkylakeX", "Prescott", "no fused operations")


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mechanisms")
    files = []
    for seed in SEEDS:
        made = random_closed(seed, loops=1 + seed % 3, planar=seed % 2 == 1)
        files.append(str(folder / f"random{seed}.yaml"))
        made.mechanism.save(files[-1])
    return [*GALLERY, *files]


def told(names: list[str], **more: str) -> dict:
    """What a process with these settings says."""
    known = {"OPENBLAS_CORETYPE", "OPENBLAS_NUM_THREADS", "NPY_DISABLE_CPU_FEATURES", "GLIBC_TUNABLES"}
    own = {name: value for name, value in os.environ.items() if name not in known}
    command = [sys.executable, "-m", "tests.programs", *names]
    done = subprocess.run(command, env=own | more, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def here(names):
    return told(names, KEMPE_WATCH="1")


@pytest.mark.parametrize("machine", [x for x in MACHINES if LONG or x in CI])
def test_every_machine_compiles_the_same_programs(names, here, machine):
    if platform.machine() != "x86_64":
        assert here["programs"]
        return
    there = told(names, **MACHINES[machine])["programs"]
    for name, found in here["programs"].items():
        assert there[name] == found, name


def test_nothing_on_the_way_to_a_program_differs_between_processors(here):
    """No BLAS, LAPACK, NumPy's or the C library's elementary functions: whatever machine the test runs on."""
    assert here["met"] == []


def test_what_is_looked_for_is_found():
    """Eigenvalues of a linearization, which lead to no program, are NumPy's."""
    code = (
        "from tests import fixed_order; fixed_order.watch()\n"
        "from kempe.gallery.entries import ENTRIES\n"
        "model = ENTRIES['double-pendulum'].build().compile()\n"
        "model.linearize(model.state())\n"
        "print(*fixed_order.FOUND)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "analyze/linearize.py" in done.stdout
