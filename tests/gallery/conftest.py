"""The default runs of the gallery, each made when it is first asked for."""

import pytest

from kempe.gallery.entries import ENTRIES


class Runs(dict):
    """By name."""

    def __missing__(self, name):
        entry = ENTRIES[name]
        self[name] = entry.run(entry.build().compile(), entry.duration)
        return self[name]


@pytest.fixture(scope="session")
def runs():
    return Runs()
