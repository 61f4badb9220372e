"""The public names are frozen: what is added, renamed or given another default shows in `tests/api.txt`."""

import kempe as kp
from tests.api import PAGE, lines


def test_public_names_and_what_they_take_are_those_on_record():
    """After a change that is meant, `python -m tests.api` writes them down anew."""
    assert lines() == PAGE.read_text().splitlines()


def test_every_public_name_says_what_it_is():
    for name in kp.__all__:
        value = getattr(kp, name)
        assert not callable(value) or (value.__doc__ or "").strip(), name


def test_there_is_nothing_else_to_see():
    assert dir(kp) == kp.__all__ == sorted(kp.__all__)
