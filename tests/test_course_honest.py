"""Honest students keep their marks, however their work arrives."""

import json
import os
import shutil
import zipfile

import nbformat
import pytest

from course_tools import IMPORTS, NAME, ROOT, answered, needs_confinement, right
from tformer_book.exercises.registry import exercises
from tformer_course import archive, intake
from tformer_course.archive import ArchiveError, members
from tformer_course.judge import judge
from tformer_course.notebook import verdicts
from tformer_course.remote import Sandbox
from tformer_course.submission import FOUND, LARGEST, mend, read, unread

RELEASED = nbformat.read(ROOT / "exercises" / f"{NAME}.ipynb", 4)
ANSWERS = {f"4.{n}": right(f"4.{n}") for n in (1, 2, 3)}
HONEST = nbformat.writes(answered(RELEASED, ANSWERS))


@pytest.fixture(scope="module")
def sandbox():
    with Sandbox() as sandbox:
        yield sandbox


def bare(change=lambda cells: cells):
    """What is left of a notebook that a tool has cleaned: types and sources of its cells."""
    whole = json.loads(HONEST)
    kept = [{"cell_type": c["cell_type"], "source": c["source"]} for c in whole["cells"]]
    return json.dumps(whole | {"cells": change(kept)}).encode()


def together(cells):
    """Each check in the cell of its answer, as some write it."""
    made = []
    for cell in cells:
        if "".join(cell["source"]).startswith("check("):
            made[-1]["source"] = "".join(made[-1]["source"]) + "\n" + "".join(cell["source"])
        else:
            made.append(dict(cell))
    return made


def answers_alone(cells):
    return [cell for cell in cells if "".join(cell["source"]).startswith(("import", "def"))]


def a_draft_first(cells):
    place = next(i for i, cell in enumerate(cells) if "".join(cell["source"]).startswith("def"))
    draft = "".join(cells[place]["source"]).partition("(")[0] + "(*a):\n    return 0"
    return [*cells[:place], cells[place] | {"source": draft}, *cells[place:]]


@needs_confinement
@pytest.mark.parametrize("change", [list, together, answers_alone, a_draft_first])
def test_a_notebook_whose_cells_lost_their_metadata_keeps_its_marks(change, sandbox):
    made = mend(bare(change), RELEASED)
    nbformat.validate(made)
    assert not unread(made)
    assert FOUND in made.cells[0].source
    found = [verdict.right for _, verdict in verdicts(made, sandbox, 30.0)]
    assert found == [True] * 3 + [False] * 9


@pytest.mark.parametrize("path", sorted((ROOT / "exercises").glob("*.ipynb")), ids=lambda p: p.stem)
def test_all_cells_of_a_chapter_are_found_without_their_metadata(path):
    released = nbformat.read(path, 4)
    cells = [{"cell_type": c.cell_type, "source": c.source} for c in released.cells]
    made = mend(json.dumps({"cells": cells}).encode(), released)
    assert made.cells[0].source == FOUND
    known = [c.metadata.get("nbgrader", {}).get("grade_id") for c in released.cells]
    assert [c.metadata.get("nbgrader", {}).get("grade_id") for c in made.cells[1:]] == known


def test_a_cell_of_another_chapter_is_not_taken_for_one_of_this():
    other = (ROOT / "exercises" / "02_softmax.ipynb").read_bytes()
    assert unread(mend(other, RELEASED))
    assert unread(mend(json.dumps({"cells": [{"cell_type": "code", "source": "x = 1"}]}).encode(),
                       RELEASED))  # fmt: skip


def test_pictures_among_the_outputs_do_no_harm(tmp_path):
    whole = json.loads(HONEST)
    code = next(cell for cell in whole["cells"] if cell["cell_type"] == "code")
    picture = {"image/png": "A" * (25 << 20)}
    code["outputs"] = [{"output_type": "display_data", "data": picture, "metadata": {}}]
    path = tmp_path / f"{NAME}.ipynb"
    path.write_text(json.dumps(whole))
    assert not unread(read(path, RELEASED))
    with path.open("wb") as file:
        file.truncate(LARGEST + 1)
    assert "larger than 200 MB" in read(path, RELEASED).cells[0].source


def taken(folder):
    """What is read of a folder that was handed in, as autograde takes it in."""
    [path] = intake.notebooks(folder, sorted(map(str, folder.glob("*.ipynb"))), NAME)
    return read(type(folder)(path), RELEASED)


def zipped(path, files):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name, text in files.items():
            made.writestr(name, text)


@pytest.mark.parametrize(
    "names",
    [["homework/04_why_sqrt_d.ipynb"], ["a/b/c/mine.ipynb"],
     ["x/.ipynb_checkpoints/04_why_sqrt_d-checkpoint.ipynb", "x/mine.ipynb"],
     ["x/other.ipynb", "x/04_why_sqrt_d.ipynb"]],
)  # fmt: skip
@pytest.mark.parametrize("as_zip", [False, True])
def test_a_notebook_in_a_folder_of_its_own_or_in_a_zip_is_found(names, as_zip, tmp_path):
    texts = ["{}"] * (len(names) - 1) + [HONEST]
    folder = tmp_path / "submitted"
    folder.mkdir()
    if as_zip:
        zipped(folder / "homework.zip", dict(zip(names, texts, strict=True)))
    for name, text in zip(names, texts, strict=True) if not as_zip else ():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    assert "4.1" not in "".join(taken(folder).cells[0].source)
    assert not unread(taken(folder))


def test_an_archive_leads_nowhere(tmp_path):
    link = zipfile.ZipInfo("link.ipynb")
    link.external_attr = 0o120777 << 16
    path = tmp_path / "x.zip"
    bad = ["../out.ipynb", "/etc/out.ipynb", "a/../../out.ipynb", "C:/out.ipynb", "..\\out.ipynb",
           "__MACOSX/out.ipynb", "a/.hidden", "new\nline.ipynb"]  # fmt: skip
    with zipfile.ZipFile(path, "w") as made:
        made.writestr(link, "/etc/passwd")
        for name in bad:
            made.writestr(name, "bad")
        made.writestr("a\\good.ipynb", "good")
    assert [(str(name), data) for name, data in members(path)] == [("a/good.ipynb", b"good")]


def test_an_archive_is_read_within_limits(tmp_path, monkeypatch):
    path = tmp_path / "x.zip"
    zipped(path, {f"{n}.ipynb": "0" * (1 << 20) for n in range(8)})
    assert path.stat().st_size < 1 << 16
    assert [data for _, data in members(path, each=1 << 19)] == [None] * 8
    with pytest.raises(ArchiveError, match="more than 4 MB"):
        list(members(path, whole=4 << 20))
    monkeypatch.setattr(archive, "MEMBERS", 7)
    with pytest.raises(ArchiveError, match="more than 7 files"):
        list(members(path))


@pytest.mark.parametrize(
    "spoil",
    [lambda d: b"", lambda d: b"PK\x03\x04", lambda d: d[:-30], lambda d: d[:99] + d[120:]],
)
def test_a_damaged_archive_is_told_and_stops_nobody(spoil, tmp_path):
    path = tmp_path / "x.zip"
    zipped(path, {f"{NAME}.ipynb": HONEST})
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(ArchiveError, match=r"x\.zip"):
        list(members(path))
    assert "There is no notebook" in taken(tmp_path).cells[0].source


def test_a_hard_link_between_two_students_refuses_neither(tmp_path):
    for student in "ada", "ben":
        (tmp_path / student).mkdir()
    first, second = (tmp_path / student / f"{NAME}.ipynb" for student in ("ada", "ben"))
    first.write_text(HONEST)
    os.link(first, second)
    for path in first, second:
        assert intake.refused(path.parent) == ""
        intake.own(path.parent)
        assert path.stat().st_nlink == 1
        assert path.read_text() == HONEST
        assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_a_hard_link_to_what_is_the_lecturers_is_refused(tmp_path):
    from nbgrader.coursedir import CourseDirectory

    course = CourseDirectory(root=str(tmp_path))
    folder = tmp_path / "submitted" / "ada" / NAME
    folder.mkdir(parents=True)
    (tmp_path / "gradebook.db").write_text("marks")
    (folder / "own.txt").write_text("own")
    shutil.copy(tmp_path / "gradebook.db", folder / "copy")
    assert intake.refused(folder, intake.lecturers(course)) == ""
    os.link(tmp_path / "gradebook.db", folder / "notes.txt")
    assert "'notes.txt' is a hard link" in intake.refused(folder, intake.lecturers(course))


# What an answer does besides, and harms nobody.


@needs_confinement
@pytest.mark.parametrize(
    "besides",
    [
        "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.savefig('figure.png')\n"
        "plt.gcf().savefig('out.svg')",
        "np.save('table.npy', np.ones(3))",
        "from pathlib import Path\nPath('notes.txt').write_text('notes')",
        "with open('notes.txt', 'w') as file:\n    print('notes', file=file)",
        "from tformer_book.chapters.ch04 import figures, claims",
        "from tformer_book.chapters.ch10.figures import *",
        "import tformer_book.chapters.ch10.lists as lists\nlists.NOTES",
        "from tformer_book.storyteller import tales",
    ],
)
def test_what_a_cell_does_besides_costs_no_mark(besides, sandbox):
    inside = "    " + besides.replace("\n", "\n    ")
    sources = [f"{besides}\n{right('1.1')}"]
    if "*" not in besides:
        sources += [right("1.1").replace("    return", f"{inside}\n    return")]
    for source in sources:
        cells = [("<c>", IMPORTS), ("<d>", source)]
        verdict = judge(exercises()["1.1"], sandbox, cells, "row_dots", 30.0)
        assert verdict.right, verdict


@needs_confinement
@pytest.mark.parametrize(
    "peek",
    ["from tformer_book.chapters.ch01 import checks_vectors",
     "import tformer_book.chapters.ch04.exam",
     "open('{}/ch01/checks_vectors.py').read()", "open('{}/ch01/exam.py').read()",
     "import glob\nopen(glob.glob('{}/ch01/__pycache__/checks*')[0], 'rb').read()"],
)  # fmt: skip
def test_what_holds_answers_stays_closed(peek, sandbox):
    place = ROOT / "lib" / "tformer_book" / "chapters"
    source = f"{peek.format(place)}\n{right('1.1')}"
    cells = [("<c>", IMPORTS), ("<d>", source)]
    verdict = judge(exercises()["1.1"], sandbox, cells, "row_dots", 30.0)
    assert "stopped with" in verdict.text
    assert (
        "Permission" in verdict.text
        or "ModuleNotFound" in verdict.text
        or "IndexError" in (verdict.text)
    )
