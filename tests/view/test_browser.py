"""Pages in a real browser: they load without complaint, show something, and move."""

import io

import matplotlib.image
import numpy as np
import pytest

import kempe as kp
from kempe.papers.document import write
from kempe.papers.report import Report
from kempe.papers.sheets import sheet
from kempe.view.page import animate
from tests.view.browser import Browser
from tests.view.runs import arm, given, made, swinging, tumbling

RUNS = {"flat": swinging, "arm": lambda: arm(2.0), "tumbling": tumbling}
STAGE = "document.getElementById('stage')"
# Different colors of the stage, coarsely, and a sum that changes with any pixel.
SEEN = """(() => {
  const p = kempe.pixels(), colors = new Set();
  let sum = 0;
  for (let i = 0; i < p.length; i += 4) {
    colors.add((p[i] >> 4) * 256 + (p[i + 1] >> 4) * 16 + (p[i + 2] >> 4));
    sum = (sum * 31 + p[i] + 7 * p[i + 1] + 13 * p[i + 2]) % 1000000007;
  }
  return { colors: colors.size, sum, count: p.length / 4 };
})()"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    found = Browser(tmp_path_factory.mktemp("browser"))
    yield found
    found.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    return {name: animate(run(), folder / f"{name}.html") for name, run in RUNS.items()}


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """A page with a wide table of comparisons, a figure wider than a phone, and a run."""
    folder = tmp_path_factory.mktemp("report")
    found = Report(folder / "paper1", "Paper 1: an arm")
    found.heading("It moves")
    found.animation("arm", "An arm", lambda path: animate(RUNS["arm"](), path))
    found.compare("a time", "Table 1", (1.4,) * 9, (1.333,) * 9, "s", 0.05, "A long reason. " * 9)
    figure, axes = sheet(1, 1, (9, 3))
    axes[0, 0].plot([0, 1], [0, 1])
    found.figure("line", "A line", figure, {"t [s]": np.arange(2.0)})
    found.table("numbers", "Numbers", [f"column {k} of many" for k in range(12)], [[0.123456] * 12])
    return write(folder, [found], 1.0).page


@pytest.mark.parametrize("name", RUNS)
def test_a_page_shows_its_mechanism_and_moves_it(browser, pages, name):
    browser.open(pages[name], "t=0.2")
    assert browser.value("kempe.errors") == []
    first = browser.value(SEEN)
    assert first["count"] > 100_000
    assert first["colors"] > 30
    assert first["sum"] == browser.value(SEEN)["sum"]
    browser.value("kempe.seek(1.4)")
    assert browser.value("kempe.time") == pytest.approx(1.4)
    assert browser.value(SEEN)["sum"] != first["sum"]
    assert not browser.errors


def test_it_plays_by_itself_and_stops_with_the_space_key(browser, pages):
    browser.open(pages["flat"])
    browser.wait("kempe.playing && kempe.time > 0.05")
    browser.value("document.dispatchEvent(new KeyboardEvent('keydown', { key: ' ' }))")
    assert not browser.value("kempe.playing")
    assert not browser.errors


@pytest.mark.parametrize("size", [(1280, 900), (390, 800)], ids=["desktop", "narrow"])
def test_light_and_dark(browser, pages, size):
    means = {}
    for scheme in ("light", "dark"):
        browser.open(pages["arm"], "t=0.5", scheme, size)
        image = matplotlib.image.imread(io.BytesIO(browser.screenshot()))[..., :3]
        assert image.shape[:2] == size[::-1]
        assert image.std() > 0.03
        means[scheme] = image.mean()
        assert browser.value("document.documentElement.scrollWidth") <= size[0]
    assert means["light"] > 0.75
    assert means["dark"] < 0.25
    browser.value("document.getElementById('theme').click()")
    browser.wait("getComputedStyle(document.body).backgroundColor === 'rgb(255, 255, 255)'")
    assert not browser.errors


def test_dragging_turns_the_view_and_the_wheel_comes_nearer(browser, pages):
    browser.open(pages["arm"], "t=0.5")
    sums = [browser.value(SEEN)["sum"]]
    for kind, x in (("mousePressed", 300), ("mouseMoved", 360), ("mouseReleased", 360)):
        browser.ask("Input.dispatchMouseEvent", type=kind, x=x, y=300, button="left", buttons=1, clickCount=1)
    sums.append(browser.value(SEEN)["sum"])
    browser.ask("Input.dispatchMouseEvent", type="mouseWheel", x=300, y=300, deltaX=0, deltaY=-200)
    sums.append(browser.value(SEEN)["sum"])
    browser.value("document.getElementById('face').click()")
    sums.append(browser.value(SEEN)["sum"])
    assert len(set(sums)) == len(sums)
    assert not browser.errors


def test_toggles_take_things_away(browser, pages):
    browser.open(pages["arm"], "t=0.5")
    sums = [browser.value(SEEN)["sum"]]
    for name in ("traces", "arrows", "joints", "axes"):
        browser.value(f"document.getElementById('{name}').click()")
        sums.append(browser.value(SEEN)["sum"])
    assert len(set(sums)) == len(sums)


def test_a_body_tells_its_name_and_a_plot_scrubs(browser, tmp_path):
    m = kp.Mechanism("ball")
    body = m.sphere("the ball", 0.5, 1.0)
    m.prismatic("up", m.ground.at(0, 0, -1), body.origin)
    path = animate(given(m.compile(), lambda t: [0.1 * np.sin(t)]), tmp_path / "ball.html")
    browser.open(path, "t=0")
    box = browser.value(f"(b => [b.left, b.top, b.width, b.height])({STAGE}.getBoundingClientRect())")
    names = set()
    for share in (0.3, 0.4, 0.5, 0.6):
        browser.ask("Input.dispatchMouseEvent", type="mouseMoved", x=box[0] + box[2] / 2, y=box[1] + box[3] * share)
        names.add(browser.value("(tip => tip.hidden ? '' : tip.textContent)(document.getElementById('tip'))"))
    assert "the ball" in names
    browser.value(
        "(c => { const b = c.getBoundingClientRect(); c.setPointerCapture = () => 0; c.dispatchEvent(new PointerEvent("
        "'pointerdown', { clientX: b.right - 8, clientY: b.top + 20 })); })(document.querySelector('figure canvas'))"
    )
    assert browser.value("kempe.time") == pytest.approx(2.0, abs=0.05)


def test_a_name_that_looks_like_a_script_is_only_a_name(browser, tmp_path):
    evil = "</script><script>broken = true</script>"
    m = kp.Mechanism(evil)
    body = m.rod(evil + " body", 1.0, 1.0)
    m.revolute(evil, m.ground.origin, body.start, axis=(0, 1, 0))
    run = given(m.compile(), lambda t: [t], 0.5)
    browser.open(animate(made(run.model, run.t, run.q, run.v, run.u, evil), tmp_path / "page.html"), "t=0")
    assert browser.value("window.broken === undefined && document.querySelector('h1').textContent") == evil
    assert not browser.errors


def test_one_state_is_still(browser, tmp_path):
    model = tumbling().model
    state = model.state()
    run = made(model, np.zeros(1), state.q[None], state.v[None], np.zeros((1, 0)), "")
    browser.open(animate(run, tmp_path / "page.html"))
    assert browser.value(SEEN)["colors"] > 10
    assert not browser.value("kempe.playing")
    assert not browser.errors


@pytest.mark.parametrize(("scheme", "size"), [("light", (1200, 900)), ("dark", (400, 800))], ids=["wide", "narrow"])
def test_a_report_plays_its_runs_inside_the_page(browser, report, scheme, size):
    frame = "document.querySelector('iframe').contentWindow"
    browser.open(
        report, "", scheme, size, until="document.readyState == 'complete' && document.querySelector('iframe')"
    )
    browser.value("document.querySelector('iframe').scrollIntoView()")
    browser.wait(f"{frame}.kempe && {frame}.kempe.ready && {frame}.kempe.time > 0.05")
    assert browser.value(f"{frame}.kempe.errors") == []
    browser.value(f"{frame}.kempe.seek(0.2)")
    first = browser.value(SEEN.replace("kempe.pixels", f"{frame}.kempe.pixels"))
    browser.value(f"{frame}.kempe.seek(1.4)")
    assert browser.value(SEEN.replace("kempe.pixels", f"{frame}.kempe.pixels"))["sum"] != first["sum"]
    assert first["colors"] > 30
    for page in ("document", f"{frame}.document"):  # nothing is wider than its page
        assert browser.value(f"{page}.documentElement.scrollWidth <= {page}.documentElement.clientWidth")
    image = matplotlib.image.imread(io.BytesIO(browser.screenshot()))[..., :3]
    assert (image.mean() > 0.75) == (scheme == "light")
    # Far from the screen a frame is given up.
    browser.value("document.querySelector('iframe').style.marginTop = '9000px'; scrollTo(0, 0)")
    browser.wait("!document.querySelector('iframe').srcdoc")
    assert not browser.errors
