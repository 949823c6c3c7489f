"""What holds for every widget in a published page: no kernel, no network, opened from a file."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import nbclient
import nbformat
import pytest
from bs4 import BeautifulSoup
from playwright.sync_api import Page

import chapters
from browsing import HOST, IN_THE_HAND, Visit, violations
from tformer_book.widgets import Quiz

pytestmark = pytest.mark.xdist_group("site")  # one worker makes the page
WIDGETS = chapters.widgets()
QUESTIONS = [
    {
        "question": f"What is <i>x</i><sup>{n}</sup> at 2?",
        "options": ["4", "8", "2"],
        "answer": n - 2,
        "why": ["Two twos.", "Three <b>twos</b>.", "That is <i>x</i> itself."],
    }
    for n in (2, 3)
]
CELLS = [f"from {widget.__module__} import {widget.__name__}" for widget in [*WIDGETS, Quiz]]
CELLS += [f"{widget.__name__}()" for widget in WIDGETS] + [f"Quiz({QUESTIONS!r})"]
CONF = """
extensions = ["myst_nb", "tformer_book.widgets.page"]
html_theme, project = "sphinx_book_theme", "widgets"
nb_execution_mode = "off"
html_static_path = ["widget-host.js"]
html_context = {"default_mode": "auto"}
nb_ipywidgets_js = {"widget-host.js": {"defer": "defer"}}
"""


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A page that myst-nb made from an executed notebook with one widget of each kind."""
    source = tmp_path_factory.mktemp("widgets")
    cells = [nbformat.v4.new_markdown_cell("# Widgets")]
    cells += [nbformat.v4.new_code_cell(code) for code in CELLS]
    notebook = nbformat.v4.new_notebook(cells=cells)
    nbclient.NotebookClient(notebook, timeout=60, kernel_name="python3").execute()
    nbformat.write(notebook, source / "index.ipynb")
    (source / "conf.py").write_text(CONF, encoding="utf-8")
    shutil.copy(HOST, source)
    build = [sys.executable, "-m", "sphinx", "-q", "-b", "html", source, source / "out"]
    subprocess.run(build, check=True)
    return (source / "out" / "index.html").as_uri()


def drawn(page: Page) -> Page:
    """Wait for the last widget, and open the folds of all."""
    page.locator(".tf-quiz").wait_for()
    page.evaluate(
        "document.querySelectorAll('.tf-widget details').forEach((e) => { e.open = true })"
    )
    return page


@pytest.fixture
def page(visit: Visit, site: str) -> Page:
    """The page, drawn; the test fails if it asked another host or met an error."""
    return drawn(visit(site, viewport={"width": 1000, "height": 900}))


@pytest.fixture
def phone(visit: Visit, site: str) -> Page:
    """The same page on a phone."""
    return drawn(visit(site, **IN_THE_HAND))


def test_every_widget_is_drawn(page: Page) -> None:
    assert page.locator(".tf-widget").count() == len(WIDGETS) + 1
    assert "cannot be shown" not in page.locator("main").inner_text()


# ---- quiz -------------------------------------------------------------------------------


@pytest.fixture
def quiz(show: Callable[..., Page]) -> Page:
    """A page with the quiz alone."""
    return show(Quiz(QUESTIONS))


def test_a_quiz_is_answered_with_the_keyboard_alone(quiz: Page) -> None:
    page = quiz
    widget = page.locator(".tf-quiz")
    first = widget.get_by_role("group", name="1. What is")
    assert first.get_by_role("button", name="check").is_disabled()
    first.get_by_role("radio").nth(1).focus()
    page.keyboard.press("Space")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert first.get_by_role("status").inner_text() == "Not this one. Three twos."
    assert widget.locator(".tf-score").inner_text() == "0 of 2 right"
    first.get_by_role("radio").nth(1).focus()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert first.get_by_role("status").inner_text() == "Right. Two twos."
    assert widget.locator(".tf-score").inner_text() == "1 of 2 right"
    first.get_by_text("Why not the others?").click()
    assert "c) That is x itself." in first.inner_text()
    widget.get_by_role("button", name="start again").click()
    assert widget.locator(".tf-score").inner_text() == "2 questions"
    assert not first.get_by_role("radio").nth(0).is_checked()


def test_a_quiz_of_one_question_bears_no_number_and_no_score(quiz: Page) -> None:
    code = """async (code) => {
        const url = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
        const { default: widget } = await import(url);
        const abc = ["a", "b", "c"];
        const question = { question: "Why?", options: abc, answer: 0, why: abc };
        const state = { chosen: [null], questions: [question] }, el = document.createElement("div");
        widget.render({ model: { get: (name) => state[name], on() {}, off() {} }, el });
        const find = (part) => el.querySelector(part)?.textContent ?? "";
        const texts = [".tf-score", "legend"].map(find);
        return [el.firstChild.ariaLabel, ...texts];
    }"""
    assert quiz.evaluate(code, Quiz._esm) == ["Quiz of 1 question", "", "Predict. Why?"]


def test_markup_that_is_not_allowed_stays_text(quiz: Page) -> None:
    assert quiz.locator(".tf-quiz legend sup").count() == 2
    evil = '<img src=x onerror="window.hurt=1"><b>a</b></i><script>window.hurt=1</script>'
    code = """async ([code, text]) => {
        const url = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
        const { default: widget } = await import(url);
        const options = [text, "b", "c"], el = document.createElement("div");
        const question = { question: text, options, answer: 0, why: options };
        const state = { chosen: [0], questions: [question] };
        widget.render({ model: { get: (name) => state[name], on() {}, off() {} }, el });
        document.body.append(el);
        const count = (tags) => el.querySelectorAll(tags).length;
        return [count("img, script"), count("b"), window.hurt];
    }"""
    elements, bold, hurt = quiz.evaluate(code, [Quiz._esm, evil])
    assert (elements, hurt) == (0, None)
    assert bold >= 3


# ---- the code -----------------------------------------------------------------------------


def test_a_page_embeds_no_code_and_runs_the_librarys(page: Page) -> None:
    assert "export default" not in page.content()
    shared = page.evaluate("widgetCode")
    names = {f"{widget.__module__}.{widget.__name__}": widget for widget in [*WIDGETS, Quiz]}
    assert {name: shared[name] for name in names} == {n: w._esm for n, w in names.items()}
    assert set(shared) == {*names, "common"}
    styles = page.locator("link[href*='widgets.css']")
    assert styles.count() == 1
    assert page.locator("style", has_text=".tf-widget").count() == 0


# ---- for everyone -----------------------------------------------------------------------


@pytest.mark.parametrize("device", ["page", "phone"])
def test_axe_finds_nothing(request: pytest.FixtureRequest, device: str) -> None:
    page = request.getfixturevalue(device)
    quiz = page.locator(".tf-quiz")
    for number, option in [(0, 0), (1, 0)]:
        quiz.locator("fieldset").nth(number).get_by_role("radio").nth(option).check()
        quiz.get_by_role("button", name="check").nth(number).click()
    assert violations(page) == []


def test_a_phone_shows_all_of_it_and_targets_are_large(phone: Page) -> None:
    assert phone.evaluate("document.documentElement.scrollWidth") <= 360
    small = phone.evaluate("""() => {
        const inputs = "input[type=range], input[type=number], select";
        const kinds = `button, label, summary, .tf-hit, ${inputs}`;
        const small = [];
        for (const el of document.querySelectorAll(`.tf-widget :is(${kinds})`)) {
            const { width, height } = el.getBoundingClientRect();
            if (Math.min(width, height) < 24) small.push([el.outerHTML, width, height]);
        }
        return small;
    }""")
    assert small == []


def test_reduced_motion_stops_everything_from_gliding(page: Page) -> None:
    code = """() => [...document.querySelectorAll(".tf-widget, .tf-widget *")].filter((e) => {
        const { transitionDuration, animationDuration } = getComputedStyle(e);
        return [transitionDuration, animationDuration].some((time) => !/^0s(, 0s)*$/.test(time));
    }).map((e) => e.outerHTML.slice(0, 150))"""
    assert page.evaluate(code), "nothing glides at all"
    page.emulate_media(reduced_motion="reduce")
    assert page.evaluate(code) == []


def test_print_is_ink_without_buttons(page: Page) -> None:
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    page.emulate_media(media="print")
    for widget in page.locator(".tf-widget").all():
        assert widget.evaluate("(e) => getComputedStyle(e).color") == "rgb(0, 0, 0)"
    buttons = page.locator(".tf-widget .tf-actions button").all()
    assert buttons
    assert not [button.inner_text() for button in buttons if button.is_visible()]


def test_without_javascript_the_fallback_is_there(visit: Visit, site: str) -> None:
    page = visit(site, java_script_enabled=False)
    shown = [" ".join(text.split()) for text in page.locator("main noscript").all_text_contents()]
    made = [widget() for widget in WIDGETS] + [Quiz(QUESTIONS)]
    plain = [BeautifulSoup(one.fallback(), "html.parser").get_text() for one in made]
    assert shown == [" ".join(text.split()) for text in plain]
    assert all(fallback.is_visible() for fallback in page.locator("main noscript").all())
    page.locator("main noscript summary").first.click()
    assert "(a) is right." in page.locator("main").inner_text()


def test_a_widget_the_host_cannot_run_says_so(stage: Callable, tmp_path: Path) -> None:
    state = {"state": {"m": {"state": {"_model_name": "IntSliderModel"}}}}
    prefix = "application/vnd.jupyter.widget"
    shutil.copy(HOST, tmp_path)
    (tmp_path / "index.html").write_text(
        f'<!doctype html><body><script type="{prefix}-view+json">{{"model_id": "m"}}</script>'
        f'<script type="{prefix}-state+json">{json.dumps(state)}</script>'
        '<script src="widget-host.js"></script>'
    )
    page, troubles = stage()
    page.goto((tmp_path / "index.html").as_uri())
    page.get_by_text("cannot be shown here: it needs a running notebook").wait_for()
    assert "it needs a running notebook" in troubles.pop()
