"""A plugin of pytest: the kernels of notebooks are forks of one process that has loaded PyTorch.

A new kernel spends most of its first seconds on packages that are the same for every notebook. They
are loaded once, before any notebook runs, and nothing of ours is: a notebook imports the book's
library itself. `make run` starts its kernels from nothing, so that what nbval compares was written
without this. Only Linux forks what has loaded so much; elsewhere every kernel starts from nothing.
"""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from functools import cache
from importlib import import_module
from typing import Any

PACKAGES = ["torch", "torch.utils.flop_counter", "matplotlib.figure", "scipy.special", "sympy"]
PACKAGES += ["matplotlib.backends.backend_svg", "matplotlib_inline.backend_inline", "anywidget"]
PACKAGES += ["scipy.optimize", "ipykernel.kernelapp", "ipykernel.debugger", "psutil"]
# An optimizer of PyTorch loads the first; SymPy loads the others when it first adds and simplifies.
PACKAGES += ["torch._dynamo", "sympy.tensor.tensor", "sympy.physics.units"]


def pytest_configure() -> None:
    """Let jupyter_client fork kernels, where that can be done."""
    if sys.platform == "linux":
        from jupyter_client.provisioning import local_provisioner

        vars(local_provisioner)["launch_kernel"] = fork


def fork(cmd: list[str], *, env: dict[str, str], cwd: str | None = None, **rest: Any) -> "Kernel":
    """Start a kernel as `jupyter_client.launch_kernel` does, from the process that is ready."""
    ready = _ready()
    asked = {"argv": cmd[cmd.index("-m") + 1 :], "env": env, "cwd": cwd or os.getcwd()}
    ready.stdin.write(json.dumps(asked) + "\n")
    ready.stdin.flush()
    return Kernel(int(ready.stdout.readline()))


class Kernel:
    """What jupyter_client asks of the process of a kernel, which is no child of this process."""

    stdin = stdout = stderr = None

    def __init__(self, pid: int) -> None:
        self.pid = pid

    def poll(self) -> int | None:
        """None as long as it lives; how it ended is not known."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return 0
        return None

    def wait(self) -> int:
        """Wait for its end."""
        while self.poll() is None:
            time.sleep(0.02)
        return 0

    def send_signal(self, number: int) -> None:
        """Send a signal to it, if it lives."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it."""
        self.send_signal(signal.SIGKILL)

    terminate = kill


@cache
def _ready() -> Any:
    """The process from which kernels are forked; it ends with this one, and they with it."""
    command = [sys.executable, "-P", __file__, *PACKAGES]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, start_new_session=True)


def serve(packages: list[str]) -> None:
    """Load the packages; then, for each line that comes in, fork a kernel and answer its number."""
    os.environ["JPY_PARENT_PID"] = str(os.getpid())  # without it a kernel ends
    for name in packages:
        import_module(name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for a kernel: it leaves no trace
    while line := sys.stdin.readline():
        if child := os.fork():
            os.setpgid(child, child)  # what interrupts a kernel reaches its own processes alone
            print(child, flush=True)  # noqa: T201
        else:
            become(**json.loads(line))


def become(argv: list[str], env: dict[str, str], cwd: str) -> None:
    """Be a kernel, in silence, until it is shut down."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    null = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(null, stream)
    os.chdir(cwd)
    os.environ |= env
    sys.argv = argv
    from ipykernel.kernelapp import launch_new_instance

    launch_new_instance()
    sys.exit()


if __name__ == "__main__":
    serve(sys.argv[1:])
