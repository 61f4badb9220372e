"""Pages: small, whole, exact enough, and safe from whatever a joint is called."""

import base64
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

import kempe as kp
from kempe.errors import StateError
from kempe.spatial.quaternions import to_matrix
from kempe.view.page import animate, packed, quaternions, sampled
from tests.view.runs import arm, double_pendulum, given, made, swinging, tumbling

EVIL = '</script><script>alert("x")</script><!-- & @DATA@'


class Scripts(HTMLParser):
    """The contents of a page's script elements, as a browser splits them."""

    def __init__(self, page: str):
        super().__init__()
        self.found: list[str] = []
        self._inside = False
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        if tag == "script":
            self.found.append("")
        self._inside = tag == "script"

    def handle_endtag(self, tag):
        self._inside = False

    def handle_data(self, data):
        if self._inside:
            self.found[-1] += data


def content(path) -> dict:
    return json.loads(Scripts(path.read_text(encoding="utf-8")).found[0])


def columns(block) -> np.ndarray:
    steps = np.frombuffer(base64.b64decode(block["data"]), dtype="<u2").reshape(-1, len(block["low"]))
    return np.array(block["low"]) + steps / 65535 * np.array(block["span"])


def test_ten_seconds_of_six_bodies_are_less_than_150_kB(tmp_path):
    run = arm()
    path = animate(run, tmp_path / "arm.html")
    assert len(run.t) == 1001
    assert len(run.model.mechanism.bodies) == 6
    assert path.stat().st_size < 150_000


def test_a_page_fetches_nothing(tmp_path):
    page = animate(swinging(), tmp_path / "page.html").read_text(encoding="utf-8")
    assert not re.findall(r'(?:src|href)="(?!data:)|https?://|@import|url\(', page)
    assert "came to its end" in page
    assert "double pendulum" in page


def test_packed_poses_are_those_of_the_model(tmp_path):
    run = arm(2.0)
    data = content(animate(run, tmp_path / "page.html"))
    times = np.frombuffer(base64.b64decode(data["times"]), dtype="<f4")
    rows = np.abs(run.t[:, None] - times).argmin(axis=0)
    poses = columns(data["poses"]).reshape(len(times), -1, 7)
    for k, body in enumerate(run.model.mechanism.bodies):
        rotation, position = run.model.pose(body, run.q[rows])
        np.testing.assert_allclose(poses[:, k, :3], position, atol=2e-5)
        expected = quaternions(rotation)
        expected *= np.sign((poses[:, k, 3:] * expected).sum(axis=1, keepdims=True))
        np.testing.assert_allclose(poses[:, k, 3:], expected, atol=2e-5)


def test_names_cannot_leave_their_place(tmp_path):
    m = kp.Mechanism(EVIL)
    body = m.rod(EVIL + " body", 1.0, 1.0)
    m.revolute(EVIL, m.ground.origin, body.start, axis=(0, 1, 0), actuated=True)
    run = given(m.compile(), lambda t: [t], 0.5)
    path = animate(made(run.model, run.t, run.q, run.v, run.u, EVIL), tmp_path / "page.html", points=[body.end])
    page = path.read_text(encoding="utf-8")
    scripts = Scripts(page).found
    assert len(scripts) == 2
    assert "alert" not in scripts[1]
    assert "<script>alert" not in page
    assert content(path)["bodies"] == ["ground", EVIL + " body"]
    assert EVIL in content(path)["panels"][0]["names"]


def test_quaternions_are_those_of_the_matrices():
    rng = np.random.default_rng(0)
    q = rng.normal(size=(50, 4))
    q[:4] = np.eye(4)
    q /= np.linalg.norm(q, axis=1, keepdims=True)
    found = quaternions(np.array([to_matrix(x) for x in q]))[:, [3, 0, 1, 2]]
    np.testing.assert_allclose(np.abs((found * q).sum(axis=1)), 1.0, atol=1e-12)


def test_packing_keeps_a_part_in_131070_of_the_range():
    values = np.random.default_rng(0).normal(size=(40, 3)) * [1, 1e-6, 1e6]
    values[:, 1] = 7.0  # constant
    np.testing.assert_allclose(columns(packed(values)), values, rtol=0, atol=np.ptp(values, axis=0).max() / 131000)
    assert (columns(packed(values))[:, 1] == 7.0).all()
    assert packed(np.zeros((5, 0)))["low"] == []


def test_rows_far_apart_are_filled_in_on_the_manifold():
    run = swinging()
    few = made(run.model, run.t[::50], run.q[::50], run.v[::50], run.u[::50])
    t, q, v, u = sampled(few)
    assert len(t) == len(q) == len(v) == len(u) > 60
    np.testing.assert_allclose(q[[0, -1]], few.q[[0, -1]])
    free = tumbling()
    _, q, _, _ = sampled(made(free.model, free.t[::20], free.q[::20], free.v[::20], free.u[::20]))
    np.testing.assert_allclose(np.linalg.norm(q[:, :4], axis=1), 1.0)


def test_rows_that_are_not_finite_are_left_out_and_nothing_is_told(tmp_path):
    run = swinging()
    q = run.q.copy()
    q[100:] = np.nan
    t, kept, _, _ = sampled(made(run.model, run.t, q, run.v, run.u))
    assert t[-1] == pytest.approx(run.t[99])
    assert np.isfinite(kept).all()
    with pytest.raises(StateError, match="no row of finite coordinates"):
        sampled(made(run.model, run.t, q * np.nan, run.v, run.u))


def test_one_row_is_a_page_too(tmp_path):
    model = double_pendulum().compile()
    state = model.state({"shoulder": 0.3})
    run = made(model, np.zeros(1), state.q[None], state.v[None], np.zeros((1, 1)), "")
    assert content(animate(run, tmp_path / "page.html"))["bodies"] == ["ground", "upper", "lower"]


def test_units_are_told_apart(tmp_path):
    panels = content(animate(tumbling(), tmp_path / "page.html"))["panels"]
    shown = [(panel["title"], panel["unit"]) for panel in panels]
    assert ("quaternions", "") in shown
    assert ("coordinates", "m") in shown
    assert ("coordinates", "rad") in shown
    assert ("rates", "m/s") in shown
    assert shown[-1] == ("energy", "J")
