"""What a reader runs loads the code of one chapter, and torch only where that code needs it."""

import json
import subprocess
import sys

import pytest

from tformer_book.chapters import numbers
from tformer_book.claims import claims

# Each step runs in one process, the last chapter first: so what a chapter takes from an earlier one
# is not loaded yet, and shows.
SCRIPT = """
import json, sys

def loaded():
    return {name for name in sys.modules if name.startswith("tformer_book.chapters.ch")}

chapters, before = [], set()
for step in sys.argv[1:]:
    try:
        exec(step)
    except AssertionError:
        pass  # a wrong answer to an exercise
    modules = [name.split(".") for name in loaded() - before]
    chapters.append(sorted({parts[2] for parts in modules if len(parts) > 3}))
    before |= loaded()
print(json.dumps([chapters, "torch" in sys.modules]))
"""
BACKWARDS = sorted(numbers(), reverse=True)
VERIFY = [
    f"from tformer_book.claims import verify; verify({claims(chapter)[0].label!r})"
    for chapter in BACKWARDS
]
CHECK = [
    f"from tformer_book.exercises import check; check('{chapter}.1', lambda *given: None)"
    for chapter in BACKWARDS
]


@pytest.mark.parametrize("steps", [VERIFY, CHECK], ids=["verify", "check"])
def test_a_chapter_loads_its_own_code_alone_and_no_torch(steps):
    command = [sys.executable, "-c", SCRIPT, *steps]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    chapters, torch = json.loads(done.stdout.splitlines()[-1])
    assert chapters == [[f"ch{chapter:02d}"] for chapter in BACKWARDS]
    assert not torch
