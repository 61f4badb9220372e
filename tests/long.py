"""The long forms of tests: `make test-long` sets KEMPE_LONG, and what takes long to draw or to compile is run too."""

import os
from typing import Any

LONG = bool(os.environ.get("KEMPE_LONG"))


def some(short: Any, long: Any) -> Any:
    """What a test takes: as a rule, and in its long form, which has all of it and more."""
    return long if LONG else short
