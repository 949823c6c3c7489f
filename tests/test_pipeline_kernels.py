"""Kernels that are forked for the comparison of notebooks are as good as new ones."""

import os
import signal
import sys
import time

import pytest
from jupyter_client.manager import start_new_kernel
from jupyter_client.provisioning import local_provisioner

from tformer_book.pipeline.notebook import kernels

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="kernels are forked on Linux alone")


@pytest.fixture
def start(monkeypatch, tmp_path):
    """Start forked kernels; give the manager and the client of each."""
    monkeypatch.setattr(kernels, "PACKAGES", ["ipykernel.kernelapp"])
    monkeypatch.setattr(local_provisioner, "launch_kernel", None)
    kernels.pytest_configure()
    kernels._ready.cache_clear()
    started = []

    def start_one():
        manager, client = start_new_kernel(cwd=str(tmp_path), env=os.environ | {"WHO": "me"})
        started.append((manager, client))

        def value(expression, code=""):
            asked = {"value": expression}
            reply = client.execute(code, user_expressions=asked, reply=True, timeout=60)
            return reply["content"]["user_expressions"]["value"].get("data", {}).get("text/plain")

        client.value = value
        return manager, client

    yield start_one
    for manager, client in started:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    ready = kernels._ready()
    ready.stdin.close()
    assert ready.wait(timeout=60) in (0, -signal.SIGKILL)
    ready.stdout.close()
    kernels._ready.cache_clear()


def test_forked_kernels_are_like_new_ones_and_share_nothing(start, tmp_path):
    (first, one), (second, two) = start(), start()
    here, there = one.value, two.value
    assert here("x", "x = 3") == "3"
    assert there("x") is None
    assert here("__import__('os').getcwd()") == repr(str(tmp_path))
    assert here("__import__('os').environ['WHO']") == "'me'"
    assert here("[m for m in __import__('sys').modules if m.startswith('tformer')]") == "[]"
    assert here("__import__('sys').argv[0].endswith('ipykernel_launcher')") == "True"
    assert here("__import__('subprocess').run(['false']).returncode") == "1"
    assert here("print('said')") == "None", "what is printed goes to the notebook alone"
    first.shutdown_kernel()
    assert not first.is_alive()
    assert there("1 + 1") == "2"
    second.shutdown_kernel(now=True)
    assert not second.is_alive()


def test_a_forked_kernel_is_interrupted_and_its_death_is_seen(start):
    manager, client = start()
    # After an error a kernel refuses for a moment what comes next, unless the request says not to.
    endless = "print('begun', flush=True)\nwhile True: pass"
    asked = client.execute(endless, stop_on_error=False)
    while client.get_iopub_msg(timeout=60)["content"].get("text") != "begun\n":
        pass
    manager.interrupt_kernel()
    while (reply := client.get_shell_msg(timeout=60))["parent_header"]["msg_id"] != asked:
        pass
    assert reply["content"]["ename"] == "KeyboardInterrupt"
    assert client.value("1 + 1") == "2"
    os.kill(manager.provisioner.pid, signal.SIGKILL)
    wait_for(lambda: not manager.is_alive())


def test_a_forked_kernel_ends_with_the_process_that_it_was_forked_from(start):
    manager, _ = start()
    kernels._ready().kill()
    wait_for(lambda: not manager.is_alive())


def wait_for(happened):
    """Wait until something has happened, for a minute at most."""
    end = time.monotonic() + 60
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.05)
