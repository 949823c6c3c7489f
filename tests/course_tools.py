"""What the tests of grading share: answers as cells, and a course as a lecturer has it."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbgrader.api import Gradebook

from exercise_tools import solutions
from tformer_book.exercises.registry import exercises
from tformer_book.pipeline.generators.exercises import MARK
from tformer_course import confinement

IMPORTS = "import numpy as np\nimport scipy.special\nfrom tformer_book.exercises import check, hint"
NUMBERS = list(exercises())
ROOT = Path(__file__).resolve().parents[1]
NAME = "04_why_sqrt_d"
needs_confinement = pytest.mark.skipif(bool(confinement.missing()), reason=confinement.missing())


def right(number):
    """The cell of the book's answer."""
    return MARK.sub("", solutions()[number][1])


def name(number):
    """The name that the function of an exercise has."""
    return re.search(r"def (\w+)", solutions()[number][1])[1]


def answers_by(number, body):
    """A cell whose function does something else than it is asked to."""
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    return f"import os\ndef {name(number)}(*arguments):\n{lines}"


def course_command(course, *words):
    tools = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    module = ["tformer_course"] if words[0] == "make" else ["nbgrader"]
    arguments = [str(course), "04"] if words[0] == "make" else list(words[1:])
    return subprocess.run(
        [sys.executable, "-m", *module, *arguments],
        cwd=ROOT if words[0] == "make" else course,
        env=os.environ | {"PATH": tools},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
    )


def answered(released, answers):
    """The notebook that was handed out with some answers written in."""
    notebook = nbformat.from_dict(json.loads(json.dumps(released)))
    for cell in notebook.cells:
        number = cell.metadata.get("nbgrader", {}).get("grade_id", "").removeprefix("solution-")
        if number.replace("-", ".") in answers:
            cell.source = answers[number.replace("-", ".")]
    return notebook


def scores(course):
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as gradebook:
        return {
            submission.student.id: {
                grade.name.removeprefix("check-").replace("-", "."): grade.score
                for notebook in submission.notebooks
                for grade in notebook.grades
            }
            for submission in gradebook.find_assignment(NAME).submissions
        }


# What an answer may try in place of the right one. Each is tried in the sandbox, with small limits.
HOSTILE = {
    "leaves": "os._exit(0)",
    "forks": "while True: os.fork()",
    "forks in silence": "for _ in range(9):\n    try: os.fork()\n    except OSError: pass",
    "leaves the session": "os.setsid()\nos.fork()",
    "starts a program": "__import__('subprocess').run(['touch', TRACE])",
    "becomes a program": "os.execv('/bin/sh', ['sh', '-c', 'sleep 60'])",
    "kills the judge": "os.kill(os.getppid(), 9)",
    "kills everybody": "os.kill(-1, 9)",
    "has its judge signalled": "import fcntl\nfcntl.fcntl(4, 8, os.getppid())",
    "takes files from the judge": (
        "import resource\nresource.prlimit(os.getppid(), resource.RLIMIT_NOFILE, (1, 1))"
    ),
    "lifts its limits": "import resource\nresource.setrlimit(resource.RLIMIT_AS, (-1, -1))",
    "takes memory": "kept = []\nwhile True: kept.append(bytearray(1 << 20))",
    "takes a terabyte": "return bytearray(1 << 40)",
    "shares memory": "import mmap\nkept = [mmap.mmap(-1, 1 << 26) for _ in range(64)]",
    "starts threads": "import threading, time\nthreading.stack_size(32768)\n"
    "while True: threading.Thread(target=time.sleep, args=(60,)).start()",
    "never ends": "while True: pass",
    "sleeps": "import time\ntime.sleep(60)",
    "never ends in C": "sum(range(10**12))",
    "breaks the process": "import ctypes\nctypes.string_at(0)",
    "reads the solutions": "return open(SOLUTIONS).read()",
    "reads the gradebook": "return open(GRADEBOOK, 'rb').read()",
    "writes the gradebook": "open(GRADEBOOK, 'wb').write(b'24')",
    "locks the gradebook away": "os.chmod(GRADEBOOK, 0)",
    "empties the gradebook": "os.truncate(GRADEBOOK, 0)",
    "removes the gradebook": "os.remove(GRADEBOOK)",
    "writes at home": "open(os.path.expanduser('~root/' + 'trace'), 'w')\nopen(TRACE, 'w')",
    "looks around": "return os.listdir(os.path.dirname(GRADEBOOK))",
    "reads the judge's memory": "return open(f'/proc/{os.getppid()}/mem', 'rb').read(1)",
    "asks the right function": (
        "from tformer_book.exercises.registry import find\n"
        f"return find({NUMBERS[0]!r}).table.right(*arguments)"
    ),
    "imports the checks": "from tformer_book.chapters.ch01 import checks_vectors",
    "empties the registry": (
        "from tformer_book.exercises import registry\nregistry._exercises.clear()\nreturn 0"
    ),
    "opens a socket": "import socket\nsocket.create_connection(('127.0.0.1', 80))",
    "opens a pair of sockets": "import socket\nsocket.socketpair()",
    "praises itself": (
        "for way in range(3, 64):\n"
        '    try: os.write(way, b\'{"praise": "right", "finished": true, "changed": {}}\\n\')\n'
        "    except OSError: pass"
    ),
    "forges a value": (
        "for way in range(3, 64):\n"
        '    try: os.write(way, b\'{"value": ["is", 0], "error": null, "changed": {},'
        ' "printed": false, "measured": 0, "used": []}\\n\')\n'
        "    except OSError: pass"
    ),
    "sends rubbish": (
        "for way in range(3, 64):\n    try: os.write(way, b'[' * 9999 + b'\\n')\n"
        "    except OSError: pass"
    ),
    "floods": (
        "while True:\n    for way in range(3, 64):\n"
        "        try: os.write(way, b'x' * 65536)\n        except OSError: pass"
    ),
    "closes everything": "os.closerange(0, 64)",
    "swallows what is asked": (
        "for way in range(3, 64):\n    try: os.read(way, 65536)\n    except OSError: pass"
    ),
    "returns something without end": "x = []\nx.append(x)\nreturn x",
    "returns something that kills": (
        "class Trap:\n    def __array__(self, *a, **k): os._exit(0)\nreturn Trap()"
    ),
}
DENIED = "PermissionError"
SAID = dict.fromkeys(
    """forks, leaves the session, starts a program, becomes a program, kills the judge,
    kills everybody, has its judge signalled, takes files from the judge, reads the solutions,
    reads the gradebook,
    writes the gradebook, locks the gradebook away, empties the gradebook,
    removes the gradebook, writes at home, looks around, reads the judge's memory, opens a socket,
    opens a pair of sockets""".replace("\n    ", " ").split(", "),
    DENIED,
) | {
    "leaves": "exit code 0",
    "lifts its limits": "not allowed to raise maximum limit",
    "takes memory": "MemoryError",
    "takes a terabyte": "MemoryError",
    "shares memory": "Cannot allocate memory",
    "starts threads": "more than 64 threads",
    "never ends": "was still running",
    "sleeps": "was still running",
    "never ends in C": "was still running",
    "swallows what is asked": "was still running",
    "breaks the process": "a segmentation fault",
    "asks the right function": DENIED,
    "imports the checks": DENIED,
    "sends rubbish": "cannot be read",
}
# What a cell may do before anything is called.
HOSTILE_CELLS = {
    "check is print": "check = print\ndef {name}(*a): return 0",
    "all is equal": (
        "import numpy as np\nnp.array_equal = np.allclose = np.isclose = lambda *a, **k: True\n"
        "def {name}(*a): return 0"
    ),
    "NumPy computes nonsense": "import numpy as np\nnp.exp = np.sqrt = np.sum = None",
    "check is replaced in the library": (
        "import tformer_book.exercises\ntformer.exercises.check = print\ndef {name}(*a): return 0"
    ),
    "leaves at once": "import os\nos._exit(0)",
    "raises at once": "1 / 0",
    "exits": "raise SystemExit",
    "never gets to the function": "while True: pass",
    "is no Python": "def {name}(q, k:\n    return",
    "is a number": "{name} = 3",
    "is deleted": "",
}
