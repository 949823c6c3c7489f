"""Write the skeleton of a chapter: `make chapter N=23 NAME=sparse_experts`.

The skeleton is a small true chapter: a claim, an exercise and an exam question on equal scores, a
figure to touch, a strip, three questions and a plan for lectures. An author replaces one after the
other, and the tests pass at each step but for what `owed` says.
"""

import re
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import jupytext
import nbformat

from tformer_book.claims import claims
from tformer_book.claims.record import FILE, dump, record
from tformer_book.pipeline.generators.exercises import generate
from tformer_book.pipeline.notebook.normalise import dump as dump_notebook
from tformer_book.pipeline.notebook.normalise import normalise
from tformer_book.pipeline.rules.limits import limits
from tformer_book.pipeline.site.curriculum import planned

NAME = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")
TEMPLATES = files("tformer_book.pipeline.generators") / "skeleton"
ROOM, TESTS = Path("lib", "tformer_book", "chapters"), Path("tests", "chapters")
TEACH, TOC = Path("chapters", "teach.md"), Path("_toc.yml")
PLAN = Path("lib", "tformer_book", "pipeline", "site", "curriculum.toml")
BUILDS_ON = 3
"""The chapter that a chapter outside the plan is drawn below, until its author says better."""


def write(root: Path, number: int, name: str) -> list[Path]:
    """Write a chapter's files and its lines in others; return all that changed.

    The notebooks are not run yet.

    Raises
    ------
    ValueError
        If the number or the name is no chapter's.
    FileExistsError
        If there is such a chapter.
    """
    if not 1 <= number <= 99:
        raise ValueError(f"a chapter's number is 1 to 99; got {number}")
    if not NAME.fullmatch(name):
        raise ValueError(f"a name is small letters, digits and _, such as two_words; got '{name}'")
    if found := sorted(root.glob(f"**/chapters/ch{number:02d}")):
        raise FileExistsError(f"there is a chapter {number}: {found[0].relative_to(root)}")
    title = next((one.title for one in planned() if one.number == number), None)
    said = title or name.replace("_", " ").capitalize()
    words = {"N": str(number), "NN": f"{number:02d}", "NAME": name, "TITLE": said}
    words["LOWER"] = said[0].lower() + said[1:]
    texts = dict(_files(words)) | dict(_lines(root, words, planned=title is not None))
    for place, text in texts.items():
        (root / place).parent.mkdir(parents=True, exist_ok=True)
        (root / place).write_text(text, encoding="utf-8", newline="\n")
    return [*texts, *(path.relative_to(root) for path in generate(root))]


def verified(root: Path, number: int) -> Path:
    """Verify the chapter's claims and write its record; the ledger's page is left as it is."""
    place = ROOM / f"ch{number:02d}" / FILE
    text = dump({claim.label: record(claim) for claim in claims(number)})
    (root / place).write_text(text, encoding="utf-8", newline="\n")
    return place


def owed(number: int) -> list[str]:
    """What the tests ask of a chapter and the skeleton does not have, a sentence each."""
    most = limits(number)
    return [
        f"exercises: 1 of at least {min(8, most.exercises)}, on all three levels "
        "(tests/test_exercises.py)",
        f"exam questions: 1 of {most.questions}, of which two ask why (tests/test_exams.py)",
        "the ledger: `make ledger`, which verifies all claims (tests/test_claims.py)",
        "a test of the figure to touch in a browser (tests/chapters)",
    ]


def _filled(text: str, words: dict[str, str]) -> str:
    return re.sub(r"@([A-Z]+)@", lambda found: words[found[1]], text)


def _template(place: str, words: dict[str, str]) -> str:
    return _filled((TEMPLATES / f"{place}.txt").read_text(encoding="utf-8"), words)


def _files(words: dict[str, str]) -> Iterator[tuple[Path, str]]:
    """The chapter's own files."""
    for kind, folder in (("room", ROOM), ("tests", TESTS)):
        for file in sorted(x.name for x in (TEMPLATES / kind).iterdir()):
            name = file.removesuffix(".txt")
            yield folder / f"ch{words['NN']}" / name, _template(f"{kind}/{name}", words)
    stem = f"{words['NN']}_{words['NAME']}"
    yield Path("exercises", "solutions", f"{stem}.py"), _template("pages/exercise.py", words)
    for kind, end in (("main", ""), ("deeper", "_deeper")):
        text = _template(f"pages/{kind}.py", words)
        yield Path("chapters", f"{stem}{end}.ipynb"), _notebook(text, f"{stem}{end}")


def _notebook(text: str, stem: str) -> str:
    notebook = jupytext.reads(text, fmt="py:percent")
    for place, cell in enumerate(notebook.cells):
        cell["id"] = f"{stem[:2]}{'d' if stem.endswith('_deeper') else 'm'}-{place}"
    made = nbformat.from_dict({**notebook, "nbformat": 4, "nbformat_minor": 5, "metadata": {}})
    return dump_notebook(normalise(made))


def _lines(root: Path, words: dict[str, str], planned: bool) -> Iterator[tuple[Path, str]]:
    """What other files say of the chapter."""
    number, stem = int(words["N"]), f"{words['NN']}_{words['NAME']}"
    toc = (root / TOC).read_text(encoding="utf-8")
    page = f"      - file: chapters/{stem}\n        sections:\n"
    page += f"          - file: chapters/{stem}_deeper\n"
    toc = _after(toc, r"      - file: chapters/(\d\d)_\w+\n        sections:\n.*\n", number, page)
    solutions = f"      - file: exercises/solutions/{stem}\n"
    yield TOC, _after(toc, r"      - file: exercises/solutions/(\d\d)_\w+\n", number, solutions)
    teach = (root / TEACH).read_text(encoding="utf-8")
    plan = f"\n## Chapter {number}: {words['LOWER']}\n\n:::{{teach}} {number}\n:::\n"
    yield TEACH, _after(teach, r"\n## Chapter (\d+): .*\n\n:::\{teach\} \d+\n:::\n", number, plan)
    if not planned:
        text = (root / PLAN).read_text(encoding="utf-8").rstrip().removesuffix("]")
        yield PLAN, f"{text}{_row(words['TITLE'])}]\n"


def _row(title: str) -> str:
    """A row of the plan: a box of its own, below all others."""
    below = max(one.at[1] for one in planned()) + 1
    box = title if len(title) < 15 else title.split()[0]
    return (
        f'  {{ title = "{title}", box = "{box}", at = [0, {below}], builds_on = [{BUILDS_ON}] }},\n'
    )


def _after(text: str, pattern: str, number: int, new: str) -> str:
    """The text with something new behind the last match whose number is smaller."""
    before = [found for found in re.finditer(pattern, text) if int(found[1]) < number]
    end = before[-1].end() if before else len(text)
    return text[:end] + new + text[end:]
