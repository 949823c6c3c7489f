"""One visit in each engine that is not Chromium: what a reader there relies on."""

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from browser.engines import Engine, Firefox, WebKit
from browser_fixtures import FORGET
from browsing import HOST, page_of
from tformer_book.chapters.ch00.engine import trained
from tformer_book.chapters.ch00.stages import stored
from tformer_book.chapters.ch00.typed import tidy
from tformer_book.chapters.ch15.teller import EXAMPLES, TIRED, Teller, read, window
from tformer_book.storyteller import load
from tformer_book.storyteller.packed import packed
from tformer_book.widgets.page import HELD, held_script

ENGINES = [
    pytest.param(kind, id=name, marks=pytest.mark.xdist_group(name))
    for name, kind in {"firefox": Firefox, "webkit": WebKit}.items()
]
FIGURE = "document.querySelector('.tf-dot-product')"
RUN = "document.querySelector('.tf-run')"
TELLER = "document.querySelector('.tf-teller')"
OWN = "[...document.querySelectorAll('.tf-typed-own')].at(-1)"
ENTER, END, HOME, ARROW_UP, ARROW_RIGHT = "\ue007", "\ue010", "\ue011", "\ue013", "\ue014"
# Ends of lines of text, and boxes that scroll: one in the other would lose its opening quote.
CUT_QUOTES = """[...document.querySelectorAll("article *")].filter((e) =>
    !["none", "", undefined].includes(getComputedStyle(e).hangingPunctuation)
    && e.closest("pre, div.math, .cell_output, .output, .pst-scrollable-table-container")).length"""


@pytest.fixture(scope="module", params=ENGINES)
def started(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """A browser of each engine, started once; a missing one is skipped, but never in CI."""
    if request.param.missing:
        message = f"this test needs {request.param.missing}"
        pytest.fail(message) if os.environ.get("CI") else pytest.skip(message)
    started = request.param()
    with started.stack:
        started.open()
        yield started


@pytest.fixture
def engine(started: Engine) -> Iterator[Engine]:
    """The browser, which forgets what a test left in it."""
    started.goto("about:blank")
    started.errors.clear()
    yield started
    started.value(FORGET)
    started.goto("about:blank")
    assert started.errors == []


def test_a_chapter_works(engine: Engine, book: Path) -> None:
    engine.goto((book / "chapters" / "01_dot_products.html").as_uri())
    engine.wait(f"!!{FIGURE}?.querySelector('data.tf-dot')")
    formulas_are_drawn(engine)
    assert engine.value("document.documentElement.scrollWidth <= innerWidth")
    assert engine.value(CUT_QUOTES) == 0

    assert product(engine) == shown(engine)
    engine.value(f"{FIGURE}.scrollIntoView({{ block: 'center' }})")
    before = coordinates(engine)
    tip = engine.value(f"""(() => {{
        const box = {FIGURE}.querySelector('.tf-tip.tf-q').getBoundingClientRect();
        return [box.x + box.width / 2, box.y + box.height / 2];
    }})()""")
    engine.drag(*tip, by=(-40, 30))
    dragged = coordinates(engine)
    assert dragged[0] < before[0]
    assert dragged[1] < before[1]
    assert product(engine) == shown(engine)
    engine.press(ARROW_UP)
    assert coordinates(engine) == pytest.approx([dragged[0], dragged[1] + 0.1, *dragged[2:]])
    assert product(engine) == shown(engine)

    engine.goto((book / "search.html").as_uri() + "?q=softmax")
    engine.wait("!!document.querySelector('#search-results a[href^=\"chapters/02_softmax\"]')")


def test_the_first_page_is_worked_by_keyboard(engine: Engine, book: Path) -> None:
    engine.goto((book / "chapters" / "00_whole_machine.html").as_uri())
    engine.wait(f"!!{RUN}?.querySelector('data.tf-step') && !!{OWN}?.querySelector('textarea')")
    assert engine.value("document.documentElement.scrollWidth <= innerWidth")
    stages = {stage["step"]: stage for stage in stored()["stages"]}
    assert numbers(engine, RUN, "step") == [100]
    engine.value(f"{RUN}.querySelector('input[type=range]').focus()")
    for key, step in ((ARROW_RIGHT, 150), (END, 1000), (HOME, 0), (ARROW_RIGHT, 1)):
        engine.press(key)
        assert numbers(engine, RUN, "step") == [step]
        assert numbers(engine, RUN, "right") == [stages[step]["right"]]
        assert numbers(engine, RUN, "guess") == [
            p for _, p in stages[step]["prompts"]["wide"]["top"]
        ]

    drawn = f"{OWN}.querySelector('.tf-guess-list').checkVisibility({{ visibilityProperty: true }})"
    for text, known in (("the wug", False), ("the goose did", True)):
        engine.value(f"{OWN}.querySelector('textarea').select()")
        for sign in text:
            engine.press(sign)
        assert engine.value(f"{OWN}.querySelector('textarea').value") == text
        assert engine.value(f"{OWN}.querySelector('.tf-own-note').textContent === ''") is known
        assert engine.value(drawn) is known
    best = sorted(trained().read(tidy("the goose did")).p[-1])[:-6:-1]
    assert numbers(engine, OWN, "guess") == pytest.approx(best, abs=1e-9)
    write = f"[...{OWN}.querySelectorAll('button')].find((e) => /likeliest/.test(e.textContent))"
    push(engine, write)
    engine.wait(f"{OWN}.querySelector('textarea').value === '. the goose did not'")
    push(engine, f"{OWN}.querySelectorAll('.tf-arc-word')[2]")
    engine.wait(f"{OWN}.querySelector('.tf-asks').textContent === 'goose'")


def test_the_storyteller_comes_from_a_folder_reads_and_writes(
    engine: Engine, tmp_path: Path
) -> None:
    (tmp_path / "widgets").mkdir()
    name = "tformer_book.chapters.ch15.teller.Teller"
    (tmp_path / "widgets" / f"{name}{HELD}").write_text(held_script(name, packed()), "utf-8")
    shutil.copy(HOST, tmp_path)
    (tmp_path / "index.html").write_text(page_of(Teller(temperature=0.0)), "utf-8")
    engine.goto((tmp_path / "index.html").as_uri())
    engine.wait(f"{TELLER}?.dataset.ready === 'true'")
    likeliest = sorted(read(window(TIRED)).p[-1])[:-9:-1]
    assert numbers(engine, TELLER, "p") == pytest.approx(likeliest, abs=1e-5)
    field = f"{TELLER}.querySelector('textarea')"
    row = list(window(TIRED))
    for _ in range(3):
        row.append(int(read((*row,)).p[-1].argmax()))
        push(engine, button("write a token"))
        engine.wait(f"{field}.value === {load().tokens.decode(row[1:])!r}")
    push(engine, button("who helps?"))
    engine.wait(f"{field}.value === {EXAMPLES['who helps?']!r}")
    engine.value(f"{TELLER}.querySelectorAll('input[type=checkbox]')[1].click()")
    cut = sorted(read(window(EXAMPLES["who helps?"]), frozenset({1})).p[-1])[:-9:-1]
    assert numbers(engine, TELLER, "p") == pytest.approx(cut, abs=1e-5)


def button(text: str) -> str:
    """A button of the storyteller."""
    return f"[...{TELLER}.querySelectorAll('button')].find((e) => e.textContent === {text!r})"


def push(engine: Engine, button: str) -> None:
    """Press a button by Enter; in Firefox, whose hidden window needs it, by mouse.

    A page that still moves lets a mouse miss: it is pressed again if no click came to the button.
    """
    engine.value(f"{button}.scrollIntoView({{ block: 'center', behavior: 'instant' }})")
    engine.value(f"{button}.focus()")
    if not isinstance(engine, Firefox):
        engine.press(ENTER)
        return
    heard = f"(event) => {{ window.pushed ||= {button}?.contains(event.target); }}"
    engine.value(f"(window.pushed = false, window.addEventListener('click', {heard}, true))")
    middle = f"""(() => {{
        const box = {button}.getBoundingClientRect();
        return [box.x + box.width / 2, box.y + box.height / 2];
    }})()"""
    for _ in range(3):
        engine.wait(f"{button}.contains(document.elementFromPoint(...{middle}))")
        x, y = engine.value(middle)
        engine.drag(x, y, by=(0, 0))
        end = time.monotonic() + 5
        while time.monotonic() < end:
            if engine.value("window.pushed"):
                return
            time.sleep(0.1)
    raise AssertionError(f"no click came to {button}")


def numbers(engine: Engine, widget: str, name: str) -> list[float]:
    """The numbers of a name that a widget shows, unrounded."""
    found = engine.value(f"[...{widget}.querySelectorAll('data.tf-{name}')].map((e) => e.value)")
    return [float(number) for number in found]


def formulas_are_drawn(engine: Engine) -> None:
    """Each formula has a size, its fonts are there, and its MathML is kept out of sight."""
    engine.wait("document.fonts.status === 'loaded'")
    assert engine.value("document.fonts.check('16px KaTeX_Main')")
    assert engine.value("document.querySelectorAll('article .katex').length") > 100
    hidden = """[...document.querySelectorAll("article .katex")].filter((formula) =>
        formula.checkVisibility?.() !== false && !formula.closest("details:not([open])")
        && (formula.querySelector(".katex-html").getBoundingClientRect().height < 5
            || formula.querySelector(".katex-mathml").getBoundingClientRect().height > 2)).length"""
    assert engine.value(hidden) == 0


def coordinates(engine: Engine) -> list[float]:
    """Of q and then of k, as the figure's fields show them."""
    fields = f"[...{FIGURE}.querySelectorAll('input[type=number]')].map((e) => e.valueAsNumber)"
    found = engine.value(fields)
    assert len(found) == 4
    return [float(number) for number in found]


def product(engine: Engine) -> float:
    """The dot product of the coordinates."""
    a, b, c, d = coordinates(engine)
    return round(a * c + b * d, 6)


def shown(engine: Engine) -> float:
    """The dot product that the figure shows."""
    value = engine.value(f"{FIGURE}.querySelector('data.tf-dot').value")
    return round(float(value), 6)
