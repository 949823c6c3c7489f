"""A hub of our own on this machine, and students who work on it as a browser would."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests
from websocket import create_connection

ROOT = Path(__file__).resolve().parents[1]
TOOLS = Path(sys.executable).parent
PASSWORD = "for-this-test-alone"
PATIENCE = 60.0
Outputs = list[dict[str, Any]]


@contextmanager
def running(folder: Path) -> Iterator[str]:
    """A hub, as `make hub` starts it; gives its address, ends all it started."""
    port = free_ports()
    settings = {"HOMES": str(folder / "homes"), "PASSWORD": PASSWORD, "PORT": str(port)}
    environment = os.environ | {f"TFORMER_HUB_{name}": value for name, value in settings.items()}
    command = [str(TOOLS / "jupyterhub"), "-f", str(ROOT / "hub" / "jupyterhub_config.py")]
    with (folder / "log").open("w") as log:
        hub = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log)
        try:
            address = f"http://127.0.0.1:{port}"
            wait_for(lambda: answers(f"{address}/hub/api"), hub, folder / "log")
            yield address
        finally:
            hub.terminate()
            hub.wait(timeout=PATIENCE)


def free_ports() -> int:
    """The first of three free ports in a row; each process looks in a place of its own."""
    first = 20_000 + os.getpid() % 1000 * 12
    for port in range(first, first + 900, 3):
        try:
            for number in range(port, port + 3):
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", number))
        except OSError:
            continue
        return port
    raise OSError("no three ports in a row are free")


def answers(address: str) -> bool:
    try:
        return requests.get(address, timeout=5).ok
    except requests.ConnectionError:
        return False


def wait_for(ready: Any, process: subprocess.Popen, log: Path) -> None:
    """Return once something is ready; fail with the log when the process ends or time is up."""
    end = time.monotonic() + PATIENCE
    while not ready():
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < end, log.read_text()
        time.sleep(0.1)


@dataclass
class Student:
    """Somebody at the hub, by name: signed in, with a server of their own."""

    address: str
    name: str
    token: str = ""

    def ask(self, method: str, path: str, **given: Any) -> requests.Response:
        """A request to the hub or to a server, with the student's token."""
        headers = {"Authorization": f"token {self.token}"}
        url = f"{self.address}/{path}"
        return requests.request(method, url, headers=headers, timeout=PATIENCE, **given)

    def own(self, method: str, path: str, **given: Any) -> Any:
        """What the student's own server answers, which must be no refusal."""
        answer = self.ask(method, f"user/{self.name}/api/{path}", **given)
        answer.raise_for_status()
        return answer.json() if answer.content else None

    def sign_in(self) -> None:
        """Go through the page of the hub, as a browser does, and take a token for the rest."""
        with requests.Session() as browser:
            page = f"{self.address}/hub/login"
            browser.get(page, timeout=PATIENCE).raise_for_status()
            told = {"username": self.name, "password": PASSWORD}
            told["_xsrf"] = browser.cookies.get("_xsrf", path="/hub/")
            signed = browser.post(page, data=told, allow_redirects=False, timeout=PATIENCE)
            assert signed.status_code == 302, signed.text
            headers = {"X-XSRFToken": browser.cookies.get("_xsrf", path="/hub/")}
            address = f"{self.address}/hub/api/users/{self.name}/tokens"
            given = browser.post(address, headers=headers, json={}, timeout=PATIENCE)
            self.token = given.json()["token"]

    def start(self) -> None:
        """Start the student's server, and wait until it answers."""
        self.ask("POST", f"hub/api/users/{self.name}/server").raise_for_status()
        end = time.monotonic() + 2 * PATIENCE
        while not self.ask("GET", f"hub/api/users/{self.name}").json()["server"]:
            assert time.monotonic() < end, "the server did not start"
            time.sleep(0.2)

    @contextmanager
    def session(self, path: str) -> Iterator[Session]:
        """A kernel for one notebook."""
        kernel = {"name": "python3"}
        asked = {"path": path, "name": Path(path).name, "type": "notebook", "kernel": kernel}
        told = self.own("POST", "sessions", json=asked)
        where = f"user/{self.name}/api/kernels/{told['kernel']['id']}/channels"
        address = f"{self.address}/{where}".replace("http", "ws", 1)
        headers = [f"Authorization: token {self.token}"]
        socket = create_connection(address, header=headers, timeout=PATIENCE)
        try:
            yield Session(socket)
        finally:
            socket.close()
            self.own("DELETE", f"sessions/{told['id']}")


@dataclass
class Session:
    """A kernel that runs one cell after the other."""

    socket: Any

    def run(self, code: str) -> Outputs:
        """The outputs of a cell."""
        name = uuid.uuid4().hex
        header = {"msg_id": name, "msg_type": "execute_request", "username": "", "session": name}
        header |= {"date": "2026-01-01T00:00:00Z", "version": "5.3"}
        content = {"code": code, "silent": False, "store_history": True}
        content |= {"allow_stdin": False, "stop_on_error": False, "user_expressions": {}}
        message = {"header": header, "parent_header": {}, "metadata": {}, "content": content}
        self.socket.send(json.dumps(message | {"channel": "shell", "buffers": []}))
        found: Outputs = []
        while True:
            told = json.loads(self.socket.recv())
            if told.get("parent_header", {}).get("msg_id") != name:
                continue
            kind, said = told["msg_type"], told["content"]
            if kind in ("display_data", "error", "stream", "execute_result"):
                said.pop("transient", None)
                found.append({"output_type": kind, **said})
            if kind == "status" and said["execution_state"] == "idle":
                return found
