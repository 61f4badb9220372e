"""Settings shared by all tests: a cache directory of their own, and one profile for hypothesis."""

import os
import tempfile

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("kempe", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("kempe")

# Set before anything compiles, and inherited by the processes that tests start.
os.environ.setdefault("KEMPE_CACHE_DIR", tempfile.mkdtemp(prefix="kempe-test-cache-"))


@pytest.fixture
def empty_cache(tmp_path, monkeypatch):
    """A cache directory in which nothing has been compiled yet."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("KEMPE_CACHE_DIR", str(folder))
    return folder
