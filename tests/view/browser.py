"""A browser without a window, driven over its DevTools protocol by two pipes."""

import base64
import contextlib
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from functools import cache
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    *("--headless", "--no-sandbox", "--no-first-run", "--hide-scrollbars", "--mute-audio", "--remote-debugging-pipe"),
    *("--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist", "--disable-dev-shm-usage"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions"),
)
SHOWN = "window.kempe && (window.kempe.ready || window.kempe.errors.length)"
PATIENCE = 90.0  # seconds, for software rendering on a busy machine


@cache
def found_browser() -> str | None:
    """A browser on PATH; where there is none and packages can be installed, one attempt to do so."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None and shutil.which("apt-get") and os.geteuid() == 0:
        _install()
        found = next(filter(None, map(shutil.which, NAMES)), None)
    return found


def _install() -> None:
    """One process of a test run installs, the others wait for it; an attempt that failed is not repeated."""
    mark = Path(tempfile.gettempdir()) / "kempe-tests-browser"
    with mark.open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        if mark.stat().st_size:
            return
        file.write("tried")
        for command in (["apt-get", "update"], ["apt-get", "install", "-y", "--no-install-recommends", "chromium"]):
            with contextlib.suppress(subprocess.TimeoutExpired, OSError):
                subprocess.run(command, capture_output=True, timeout=400)


class Browser:
    """One page of a browser; `errors` is everything it complained about."""

    def __init__(self, folder: Path):
        self.errors: list[str] = []
        self._number, self._rest = 0, b""
        pipes = [folder / "to", folder / "from"]
        for pipe in pipes:
            os.mkfifo(pipe)
        # The browser reads commands from file 3 and writes answers to file 4.
        shell = ["sh", "-c", f'exec "$0" "$@" 3<"{pipes[0]}" 4>"{pipes[1]}"', str(found_browser())]
        command = [*shell, *FLAGS, f"--user-data-dir={folder / 'profile'}", "about:blank"]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self._to = pipes[0].open("wb", buffering=0)
        self._from = os.open(pipes[1], os.O_RDONLY)
        target = self._ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **values) -> dict:
        """A command to the page, and its answer."""
        return self._ask(method, self._session, **values)

    def open(self, path: Path, hash: str = "", scheme: str = "light", size=(900, 700), until: str = SHOWN) -> None:
        """Shows a file, and waits until its picture is there, or whatever else is waited for."""
        self.errors.clear()
        self.ask("Emulation.setDeviceMetricsOverride", width=size[0], height=size[1], deviceScaleFactor=1, mobile=False)
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.ask("Page.navigate", url="about:blank")
        self.ask("Page.navigate", url=f"{path.resolve().as_uri()}#{hash}")
        self.wait(until)

    def wait(self, condition: str) -> None:
        """Until an expression holds."""
        end = time.monotonic() + PATIENCE
        while not self.value(f"Boolean({condition})"):
            assert time.monotonic() < end, f"{condition} did not come true; {self.errors}"
            time.sleep(0.05)

    def value(self, expression: str):
        """What an expression is, as JSON has it."""
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def screenshot(self) -> bytes:
        """A PNG of the page."""
        return base64.b64decode(self.ask("Page.captureScreenshot", format="png")["data"])

    def close(self) -> None:
        """Ends the browser."""
        with contextlib.suppress(OSError, AssertionError):
            self._ask("Browser.close")
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(10)
        self._process.kill()
        self._process.wait()
        self._to.close()
        os.close(self._from)

    def _ask(self, method: str, session: str | None = None, **values) -> dict:
        self._number += 1
        message = {"id": self._number, "method": method, "params": values}
        if session:
            message["sessionId"] = session
        self._to.write(json.dumps(message).encode() + b"\0")
        while (answer := self._message()).get("id") != self._number:
            self._notice(answer)
        assert "error" not in answer, answer
        return answer["result"]

    def _message(self) -> dict:
        end = time.monotonic() + PATIENCE
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._from], [], [], max(0.0, end - time.monotonic()))
            part = os.read(self._from, 1 << 20) if ready else b""
            assert part, f"no answer from the browser; {self.errors}"
            self._rest += part
        first, _, self._rest = self._rest.partition(b"\0")
        return json.loads(first)

    def _notice(self, event: dict) -> None:
        values = event.get("params", {})
        if event.get("method") == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(values["exceptionDetails"]))
        elif event.get("method") == "Runtime.consoleAPICalled" and values["type"] in ("error", "warning", "assert"):
            self.errors.append(json.dumps(values["args"]))
        elif event.get("method") == "Log.entryAdded" and values["entry"]["level"] == "error":
            self.errors.append(json.dumps(values["entry"]))
