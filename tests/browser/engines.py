"""Firefox and WebKit, each driven in the language that it speaks, without a package for it."""

import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from websocket import create_connection

PATIENCE = 60
# What is not a file goes to a proxy that is not there.
PROFILE = {
    "browser.shell.checkDefaultBrowser": False,
    "network.proxy.http": "127.0.0.1",
    "network.proxy.http_port": 9,
    "network.proxy.ssl": "127.0.0.1",
    "network.proxy.ssl_port": 9,
    "network.proxy.type": 1,
}
MINIBROWSERS = "lib/*/webkit2gtk-4.*/MiniBrowser"
Actions = list[dict[str, Any]]


class Engine:
    """A browser with one page; `errors` has what its console says, where that can be heard."""

    def __init__(self) -> None:
        self.errors: list[str] = []
        self.stack = ExitStack()

    def open(self) -> None:
        """Start the browser; it ends with the stack."""
        raise NotImplementedError

    def start(self, *command: str, **options: Any) -> None:
        """Run a program until the engine is closed."""
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, **options)
        self.stack.callback(process.wait, PATIENCE)
        self.stack.callback(process.terminate)

    def folder(self) -> Path:
        """A folder that goes with the engine."""
        return Path(self.stack.enter_context(tempfile.TemporaryDirectory()))

    def goto(self, url: str) -> None:
        """Open a page and wait until it has loaded."""
        raise NotImplementedError

    def value(self, expression: str) -> Any:
        """What a JavaScript expression gives on the page."""
        raise NotImplementedError

    def act(self, actions: Actions) -> None:
        """Do what a pointer or a keyboard does, in WebDriver's words."""
        raise NotImplementedError

    def wait(self, expression: str) -> None:
        """Wait until an expression is true."""
        end = time.monotonic() + PATIENCE
        while not self.value(expression):
            assert time.monotonic() < end, f"never true: {expression}"
            time.sleep(0.1)

    def drag(self, x: float, y: float, by: tuple[int, int]) -> None:
        """Press at a place, move in steps, let go."""
        moves = [(x, y), (x + by[0] / 2, y + by[1] / 2), (x + by[0], y + by[1])]
        steps = [
            {"type": "pointerMove", "x": round(a), "y": round(b), "duration": 60} for a, b in moves
        ]
        steps.insert(1, {"type": "pointerDown", "button": 0})
        steps.append({"type": "pointerUp", "button": 0})
        mouse = {"pointerType": "mouse"}
        self.act([{"type": "pointer", "id": "mouse", "parameters": mouse, "actions": steps}])

    def press(self, key: str) -> None:
        """Press one key."""
        steps = [{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]
        self.act([{"type": "key", "id": "keys", "actions": steps}])


class Firefox(Engine):
    """Firefox over WebDriver BiDi, which is built into it."""

    missing = None if shutil.which("firefox-esr") or shutil.which("firefox") else "Firefox"

    def open(self) -> None:
        profile = self.folder()
        lines = [f"user_pref({json.dumps(k)}, {json.dumps(v)});" for k, v in PROFILE.items()]
        (profile / "user.js").write_text("\n".join(lines))
        program = shutil.which("firefox-esr") or shutil.which("firefox") or "firefox"
        command = [program, "--headless", "--no-remote", "--width=1280", "--height=900"]
        command += ["--profile", str(profile), "--remote-debugging-port=0"]
        log = profile / "log"
        with log.open("w") as heard:
            self.start(*command, stderr=heard)
        end = time.monotonic() + PATIENCE
        while (found := re.search(r"BiDi listening on (ws://\S+)\n", log.read_text())) is None:
            assert time.monotonic() < end, log.read_text()
            time.sleep(0.1)
        self.socket = create_connection(
            f"{found[1]}/session", timeout=PATIENCE, suppress_origin=True
        )
        self.stack.callback(self.socket.close)
        self.count = 0
        self.ask("session.new", capabilities={})
        self.ask("session.subscribe", events=["log.entryAdded"])
        self.page = self.ask("browsingContext.getTree")["contexts"][0]["context"]

    def ask(self, method: str, **params: Any) -> Any:
        """Send a command; note what the page's console says until the answer comes."""
        self.count += 1
        self.socket.send(json.dumps({"id": self.count, "method": method, "params": params}))
        while True:
            answer = json.loads(self.socket.recv())
            if answer.get("method") == "log.entryAdded":
                if answer["params"]["level"] == "error":
                    self.errors.append(answer["params"]["text"])
            elif answer.get("id") == self.count:
                assert answer["type"] == "success", answer
                return answer["result"]

    def goto(self, url: str) -> None:
        self.ask("browsingContext.navigate", context=self.page, url=url, wait="complete")

    def value(self, expression: str) -> Any:
        answer = self.ask(
            "script.evaluate",
            expression=f"JSON.stringify({expression})",
            target={"context": self.page},
            awaitPromise=False,
        )
        assert answer["type"] == "success", answer
        return json.loads(answer["result"].get("value", "null"))

    def act(self, actions: Actions) -> None:
        self.ask("input.performActions", context=self.page, actions=actions)


class WebKit(Engine):
    """WebKitGTK's small browser on a screen that nobody sees: Safari's engine, not Safari."""

    browser = next(iter(sorted(Path("/usr").glob(MINIBROWSERS))), None)
    missing = (
        None
        if browser and shutil.which("WebKitWebDriver") and shutil.which("Xvfb")
        else "WebKitGTK's driver (webkit2gtk-driver) and Xvfb"
    )

    def open(self) -> None:
        read, write = os.pipe()
        options = ["-displayfd", str(write), "-screen", "0", "1280x900x24", "-nolisten", "tcp"]
        self.start("Xvfb", *options, pass_fds=[write], stderr=subprocess.DEVNULL)
        os.close(write)
        with os.fdopen(read) as screen:
            display = f":{screen.readline().strip()}"
        home = str(self.folder())
        quiet = {"DISPLAY": display, "HOME": home, "XDG_RUNTIME_DIR": home, "LANG": "C.UTF-8"}
        quiet |= {"GDK_BACKEND": "x11", "LIBGL_ALWAYS_SOFTWARE": "1", "NO_AT_BRIDGE": "1"}
        quiet |= {"WEBKIT_DISABLE_COMPOSITING_MODE": "1", "http_proxy": "http://127.0.0.1:9"}
        quiet |= {"https_proxy": "http://127.0.0.1:9", "no_proxy": "127.0.0.1"}
        port = _free_port()
        environment = {**os.environ, **quiet}
        command = ["WebKitWebDriver", f"--port={port}", "--host=127.0.0.1"]
        self.start(*command, env=environment, stderr=subprocess.DEVNULL)
        self.address = f"http://127.0.0.1:{port}/session"
        wanted = {"binary": str(self.browser), "args": ["--automation", "--geometry=1280x900"]}
        capabilities = {"alwaysMatch": {"webkitgtk:browserOptions": wanted}}
        end = time.monotonic() + PATIENCE
        while True:
            try:
                answer = self.ask("", capabilities=capabilities)
                break
            except ConnectionRefusedError:
                assert time.monotonic() < end, "WebKitWebDriver does not answer"
                time.sleep(0.1)
        self.address += f"/{answer['sessionId']}"
        self.stack.callback(self.ask, "", "DELETE")

    def ask(self, path: str, method: str = "POST", **params: Any) -> Any:
        """Send a command of WebDriver."""
        body = None if method == "DELETE" else json.dumps(params).encode()
        request = urllib.request.Request(self.address + path, data=body, method=method)
        request.add_header("Content-Type", "application/json")
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=PATIENCE) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(error.read().decode()) from None
        except urllib.error.URLError as error:
            raise error.reason from None  # type: ignore[misc]

    def goto(self, url: str) -> None:
        self.ask("/url", url=url)

    def value(self, expression: str) -> Any:
        return self.ask("/execute/sync", script=f"return {expression};", args=[])

    def act(self, actions: Actions) -> None:
        self.ask("/actions", actions=actions)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
