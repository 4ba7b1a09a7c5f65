"""Chromium without a window, driven over a pair of pipes: pages at any width, in light and dark, and on paper.

The protocol is Chromium's own (https://chromedevtools.github.io/devtools-protocol/): JSON, with a zero at each end.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

PATIENCE = 90
PROGRAMS = ("chromium", "chromium-browser", "google-chrome")


def find_browser() -> str | None:
    """Return the program, or None where there is none, or none that can be driven over pipes (Windows)."""
    return None if os.name == "nt" else next(filter(None, map(shutil.which, PROGRAMS)), None)


class Browser:
    """One browser with one page; a context manager."""

    def __init__(self) -> None:
        program = find_browser()
        if program is None:
            raise RuntimeError("no Chromium is installed")
        self._profile = tempfile.mkdtemp(prefix="wheelfix-browser-")
        there, self._out = os.pipe()
        self._in, back = os.pipe()

        def give_pipes() -> None:  # Chromium reads from 3 and writes to 4
            commands, answers = os.dup(there), os.dup(back)
            os.dup2(commands, 3)
            os.dup2(answers, 4)

        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe"]
        self._process = subprocess.Popen(
            [program, *flags, f"--user-data-dir={self._profile}", "about:blank"],
            preexec_fn=give_pipes,
            close_fds=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(there)
        os.close(back)
        self._number = 0
        self._left = b""
        self._session = ""
        self._events: list[dict[str, Any]] = []
        pages = self.send("Target.getTargets")["targetInfos"]
        target = next(page["targetId"] for page in pages if page["type"] == "page")
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "DOM", "CSS"):
            self.send(f"{domain}.enable")

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the browser and remove its profile."""
        for end in (self._out, self._in):
            with contextlib.suppress(OSError):
                os.close(end)
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self._profile, ignore_errors=True)

    # ------------------------------------------------------------------------------------------------ the protocol

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send one command and return its result."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._out, data) :]
        while True:
            answer = self._receive()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return dict(answer["result"])
            self._events.append(answer)

    def _receive(self) -> dict[str, Any]:
        end = time.monotonic() + PATIENCE
        while b"\0" not in self._left:
            if not select.select([self._in], [], [], max(0.0, end - time.monotonic()))[0]:
                raise TimeoutError("the browser does not answer")
            data = os.read(self._in, 1 << 20)
            if not data:
                raise RuntimeError("the browser has ended")
            self._left += data
        text, _, self._left = self._left.partition(b"\0")
        return dict(json.loads(text))

    # --------------------------------------------------------------------------------------------------- the pages

    def open(
        self,
        page: str | Path,
        width: int = 1200,
        height: int = 900,
        *,
        scheme: str = "light",
        media: str = "screen",
        scripts: bool = True,
    ) -> None:
        """Show a file, or the text of a page, in a window of a size."""
        if isinstance(page, str):
            file = Path(self._profile) / "page.html"
            file.write_text(page, encoding="utf-8")
            page = file
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.send("Emulation.setEmulatedMedia", media=media, features=features)
        self.send("Emulation.setScriptExecutionDisabled", value=not scripts)
        self._events.clear()
        self.send("Page.navigate", url="about:blank")
        self._wait("Page.loadEventFired")
        self._events.clear()
        self.send("Page.navigate", url=page.resolve().as_uri())
        self._wait("Page.loadEventFired")

    def _wait(self, event: str) -> None:
        while not any(known.get("method") == event for known in self._events):
            self._events.append(self._receive())

    def run(self, script: str) -> Any:
        """Run a function body in the page and return what it returns."""
        result = self.send(
            "Runtime.evaluate", expression=f"(() => {{ {script} }})()", returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in result:
            raise RuntimeError(str(result["exceptionDetails"]["exception"].get("description")))
        return result["result"].get("value")

    def picture(self, height: int | None = None) -> bytes:
        """Return the page from its top as PNG, as tall as it is or as asked."""
        size = self.send("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": height or size["height"], "scale": 1}
        shot = self.send("Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True)
        return base64.b64decode(shot["data"])
