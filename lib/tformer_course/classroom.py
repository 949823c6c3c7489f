"""Mark in a workflow of GitHub: python -m tformer_course.classroom NAME SUBMISSION.

The points are told as GitHub Classroom's own reporter tells them
(``classroom-resources/autograding-grading-reporter``, ``notify-classroom.js``): two notices. What
each check says goes to the summary of the run; nothing that a student wrote is printed, since the
runner takes some lines for commands.
"""

from __future__ import annotations

import json
import os
import sys
from html import escape
from pathlib import Path

from tformer_course.gradescope import NotMarked, handed_out, results


def main(arguments: list[str]) -> None:
    """Tell the points; end with a sentence where nothing can be marked."""
    name, folder = arguments
    released = handed_out(name)
    try:
        tests = results(released, name, Path(folder))["tests"]
    except NotMarked as why:
        sys.exit(f"Not marked: {str(why).splitlines()[0].encode('ascii', 'replace').decode()}")
    points, most = (sum(test[key] for test in tests) for key in ("score", "max_score"))
    print(f"::notice title=Autograding complete::Points {points:g}/{most:g}")  # noqa: T201
    report = json.dumps({"totalPoints": points, "maxPoints": most})
    print(f"::notice title=Autograding report::{report}")  # noqa: T201
    if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
        rows = "".join(
            f"<tr><td>{test['name']}</td><td>{test['score']:g} of {test['max_score']:g}</td>"
            f"<td>{escape(' '.join(test['output'].split()))}</td></tr>\n"
            for test in tests
        )
        with Path(summary).open("a", encoding="utf-8") as file:
            file.write(f"<table>\n{rows}</table>\n")


if __name__ == "__main__":
    main(sys.argv[1:])
