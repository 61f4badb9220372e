"""Settings shared by all tests: a cache directory of their own, one profile for hypothesis, a browser if any."""

import atexit
import gc
import os
import shutil
import tempfile

import pytest
from hypothesis import HealthCheck, settings

from tests.view.browser import found_browser

settings.register_profile("kempe", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("kempe")

# Tracing makes millions of small objects, hardly any of them in cycles: looking for cycles takes an eighth of all time.
gc.set_threshold(100_000, 20, 50)

# Set before anything compiles, and inherited by workers and by the processes that tests start: a new one for every run
# of the tests, so that they never see a cache that something else has filled.
if "PYTEST_XDIST_WORKER" not in os.environ:
    os.environ["KEMPE_CACHE_DIR"] = tempfile.mkdtemp(prefix="kempe-test-cache-")
    atexit.register(shutil.rmtree, os.environ["KEMPE_CACHE_DIR"], ignore_errors=True)

# Without a browser the tests that need one are not collected, and the header says so.
collect_ignore = [] if found_browser() else ["view/test_browser.py"]


def pytest_report_header():
    return f"browser: {found_browser() or 'none on PATH, so tests/view/test_browser.py is left out'}"


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config):
    """Several processes each begin with a row of whole files, so that what a file compiles once is compiled once; who
    is done early takes over half of what another has left."""
    if getattr(config.option, "numprocesses", None) and config.option.dist == "no":
        config.option.dist = "worksteal"


def pytest_collection_finish():
    """Modules and tests stay to the end, and need not be looked through each time."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def empty_cache(tmp_path, monkeypatch):
    """A cache directory in which nothing has been compiled yet."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("KEMPE_CACHE_DIR", str(folder))
    return folder
