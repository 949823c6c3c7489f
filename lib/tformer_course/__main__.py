"""Write a course, or add to one: python -m tformer_course FOLDER [CH …]."""

import argparse
import sys
from pathlib import Path

from tformer_book.pipeline import find_root
from tformer_course.write import CourseError, write


def main(arguments: list[str] | None = None) -> int:
    """Write what the command line asks for, and say how to go on."""
    parser = argparse.ArgumentParser(prog="python -m tformer_course", description=__doc__)
    parser.add_argument("folder", help="a folder that is new or empty, or a course")
    parser.add_argument("chapters", nargs="*", help="chapters, such as 04 06; else all")
    options = parser.parse_args(arguments)
    if not options.folder:
        print("Say where the course is to stand:  make course DIR=…", file=sys.stderr)
        return 2
    course = Path(options.folder).expanduser()
    try:
        names = write(find_root(), course, options.chapters)
    except (CourseError, FileNotFoundError) as error:
        print(error, file=sys.stderr)
        return 2
    for name in names:
        print(f"wrote source/{name} and release/{name}")
    print(f"The course is in {course}. Commands of nbgrader are given there.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
