"""XML with bounds: lines, strict numbers, what is not used, and files that mean harm."""

from pathlib import Path
from time import perf_counter

import pytest

from kempe.errors import FileError
from kempe.formats.source import DEEPEST, LARGEST, MOST, Source
from kempe.formats.xml import parse_xml, read_xml, unused, unused_kinds

HERE = Path("a.xml")


def parsed(text: str):
    return parse_xml(text.encode(), HERE)


def test_elements_know_line_and_path():
    top = parsed('<robot name="r">\n <joint name="knee">\n  <limit lower="x"/>\n </joint>\n</robot>')
    limit = top.need("joint").need("limit")
    assert limit.line == 3
    with pytest.raises(FileError) as caught:
        limit.number("lower")
    assert str(caught.value) == "a.xml, line 3, joint \"knee\"/limit: attribute lower: 'x' is not a finite number"
    with pytest.raises(FileError, match=r"line 3.*attribute upper is missing"):
        limit.number("upper")
    with pytest.raises(FileError, match=r"line 2.*has no <axis>"):
        top.need("joint").need("axis")


@pytest.mark.parametrize("word", ["nan", "1_000", "inf", "1e400", "-1e200", "0x10", "1,0", "\u0661", "1d3", "."])
def test_numbers_are_strict(word):
    with pytest.raises(FileError, match=r"finite number|too large"):
        parsed(f'<a x="{word}"/>').number("x")


def test_numbers_are_counted():
    top = parsed('<a x=" 1 -2.5e-3\n.5 " y="">4 5</a>')
    assert top.numbers("x", 3) == (1.0, -2.5e-3, 0.5)
    assert top.numbers("z", 3, (0.0, 0.0, 1.0)) == (0.0, 0.0, 1.0)
    assert top.content_numbers(range(1, 4)) == (4.0, 5.0)
    with pytest.raises(FileError, match="attribute x takes 2 numbers, not"):
        top.numbers("x", 2)
    with pytest.raises(FileError, match="attribute x takes 1 to 2 numbers, not"):
        top.numbers("x", range(1, 3))
    with pytest.raises(FileError, match="attribute y takes 1 number, not"):
        top.number("y")


def test_limits_may_be_infinite():
    top = parsed('<a low="-inf" high="1e308" bad="nan"/>')
    assert top.number("low", unbounded=True) == -float("inf")
    assert top.number("high", unbounded=True) == 1e308
    with pytest.raises(FileError, match="'nan' is not a finite number"):
        top.number("bad", unbounded=True)


def test_flags_are_true_or_false():
    top = parsed('<a yes="true" no="0" odd="maybe">False</a>')
    assert top.flag("yes")
    assert not top.flag("no")
    assert not top.content_flag()
    with pytest.raises(FileError, match="attribute odd takes true or false, not 'maybe'"):
        top.flag("odd")


def test_what_nobody_asked_for_is_listed():
    top = parsed('<a xmlns:x="u" p="1" q="2">\n<b r="3"/>\n<c>word</c>\n<d><e/></d>\n<f g="1"><h/></f></a>')
    top.text("p")
    list(top.all("b", "c"))
    (last,) = top.all("f")
    last.take_all()
    assert unused(top) == [
        "a.xml, line 1, a: q read, not used",
        "a.xml, line 2, b: r read, not used",
        "a.xml, line 3, c: its text is read, not used",
        "a.xml, line 4, d: read, not used",
    ]


def test_what_nobody_asked_for_is_listed_once_for_each_kind():
    top = parsed('<a>\n<b x="1"/><b x="2" y="3"/>\n<c/><c/><c/>\n<b>word</b></a>')
    list(top.all("b"))
    assert unused_kinds(top) == [
        "a.xml, line 2, b: x read, not used, nor in 1 more <b>",
        "a.xml, line 2, b: y read, not used",
        "a.xml, line 3, c: read, not used, nor in 2 more <c>",
        "a.xml, line 4, b: its text is read, not used",
    ]


def test_one_of_a_kind():
    with pytest.raises(FileError, match="line 2, b: there is already a b, in line 1"):
        parsed("<a><b/>\n<b/></a>").one("b")


def test_notes_go_to_one_list():
    source = Source(HERE.parent, notes=["of the file that includes it"])
    parse_xml(b"<a>\n<b/></a>", HERE, source).need("b").note("odd")
    assert source.notes[1:] == ["a.xml, line 2, b: odd"]


BOMB = '<!DOCTYPE z [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]><z>&b;</z>'
OUTSIDE = '<!DOCTYPE z [<!ENTITY a SYSTEM "file:///etc/passwd">]><z>&a;</z>'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (BOMB, "document type"),
        (OUTSIDE, "document type"),
        ("<a>&b;</a>", "line 1: not XML: undefined entity"),
        ("<a>\n<b></a>", "line 2: not XML: mismatched tag"),
        ("", "not XML: no element found"),
        ("<a/><b/>", "not XML: junk after document element"),
        ('<?xml version="1.0" encoding="latin-99"?><a/>', "not XML"),
        ("<a>" * (DEEPEST + 1), "deeper than"),
        ("<a>" + "<b/>" * MOST + "</a>", "more than"),
        (" " * (LARGEST + 1), "larger than"),
        (f'<a x="{"1" * 300_000}x"/>', "is not a finite number"),
    ],
    ids=range(11),
)
def test_hostile_files_get_a_sentence_and_little_time(text, said):
    start = perf_counter()
    with pytest.raises(FileError, match=said):
        parsed(text).number("x")
    assert perf_counter() - start < 5


def test_bytes_that_are_no_text():
    with pytest.raises(FileError, match="not XML"):
        parse_xml(b"\xff\xfe\x00", HERE)
    with pytest.raises(FileError, match="not XML"):
        parse_xml(b"<a>\xff</a>", HERE)


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(FileError, match="No such file"):
        read_xml(tmp_path / "none.urdf")
    with pytest.raises(FileError, match="a folder, not a file"):
        read_xml(tmp_path)
