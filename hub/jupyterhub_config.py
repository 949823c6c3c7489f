"""A hub for a class, to be tried on this machine: `make hub`. Each student has a desk of their own.

It listens to this machine alone, because everybody who knows the one password may come in under any
name, and all servers run as one user of the system. For a class, take an authenticator that knows
your students and a spawner that gives each a container or a user (see "A hub" on the page for
instructors); `hub/Dockerfile` makes the image for it, and the rest of this file may stay.
"""

import os
import resource
import secrets
import sys
from pathlib import Path

from jupyterhub.spawner import SimpleLocalProcessSpawner

BOOK = Path(__file__).resolve().parents[1]
TOOLS = Path(sys.executable).parent
HOMES = Path(os.environ.get("TFORMER_HUB_HOMES", "homes")).resolve()
PORT = int(os.environ.get("TFORMER_HUB_PORT", "8000"))
PASSWORD = os.environ.get("TFORMER_HUB_PASSWORD") or secrets.token_urlsafe(9)
IDLE = int(os.environ.get("TFORMER_HUB_IDLE", "3600"))  # seconds
START = 120  # seconds until a server must answer


class DeskSpawner(SimpleLocalProcessSpawner):
    """A process on this machine, in a home of its own, with a limit on memory.

    The limit holds for each process of the server, so for each kernel, not for their sum: only a
    container or a systemd unit limits the sum.
    """

    def user_env(self, env):
        """Add the tools of the book's environment."""
        path = os.pathsep.join([str(TOOLS), os.environ["PATH"]])
        return super().user_env(env) | {"PATH": path}

    def make_preexec_fn(self, name):
        """Return what the child does before it becomes the server."""
        begin, limit = super().make_preexec_fn(name), self.mem_limit

        def limited():
            begin()
            resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))

        return limited


c = get_config()  # noqa: F821

c.JupyterHub.bind_url = f"http://127.0.0.1:{PORT}"
c.ConfigurableHTTPProxy.api_url = f"http://127.0.0.1:{PORT + 1}"
c.JupyterHub.hub_port = PORT + 2
# The proxy in Python is among the locked packages, and will do for a few. It passes answers on when
# complete: the page that waits for a server hears of it at the end, and must be let wait so long.
# It names no protocol to a websocket: JupyterLab connects to a kernel again, without one.
patience = ["--proxy-timeout", str(2000 * START)]
c.ConfigurableHTTPProxy.command = [str(TOOLS / "configurable-http-proxy"), *patience]

c.JupyterHub.authenticator_class = "shared-password"
c.Authenticator.allow_all = True
c.SharedPasswordAuthenticator.user_password = PASSWORD
print(f"http://127.0.0.1:{PORT}, under any name, password {PASSWORD}", flush=True)

c.JupyterHub.spawner_class = DeskSpawner
c.SimpleLocalProcessSpawner.home_dir_template = str(HOMES / "{username}")
c.Spawner.cmd = [str(BOOK / "hub" / "desk.sh")]
c.Spawner.notebook_dir = "~/transformer"
c.Spawner.default_url = "/lab/tree/exercises"
c.Spawner.environment = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}
c.Spawner.http_timeout = c.Spawner.start_timeout = START
c.Spawner.mem_limit = "2G"
c.Spawner.args = [
    f"--MappingKernelManager.cull_idle_timeout={IDLE}",
    f"--MappingKernelManager.cull_interval={min(IDLE, 300)}",
    f"--ServerApp.shutdown_no_activity_timeout={IDLE}",
    *["--allow-root"] * (os.geteuid() == 0),
]
