"""The widgets in a published page: no kernel, no network, opened from a file."""

import json
import math
import shutil
import subprocess
import sys
from pathlib import Path

import nbclient
import nbformat
import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from tformer.chapters.ch01.dot_product import DotProduct
from tformer.chapters.ch02.softmax_temperature import SoftmaxTemperature
from tformer.widgets import Quiz

HERE = Path(__file__).parent
HOST = HERE.parents[1] / "assets" / "widget-host.js"
AXE = HERE / "vendor" / "axe-core" / "axe.min.js"
THEMES = ["light", "dark"]
CELLS = [
    "from tformer.chapters.ch03.attention_map import AttentionMap",
    "from tformer.chapters.ch01.dot_product import DotProduct",
    "from tformer.chapters.ch04.score_scale import ScoreScale",
    "from tformer.chapters.ch02.softmax_temperature import SoftmaxTemperature",
    "from tformer.widgets import Quiz",
    "DotProduct()",
    'SoftmaxTemperature(labels=["cat", "dog", "bird", "stone"])',
    "AttentionMap()",
    "ScoreScale()",
    "Quiz([dict(question=f'What is <i>x</i><sup>{n}</sup> at 2?', options=['4', '8', '2'],"
    " answer=n - 2, why=['Two twos.', 'Three <b>twos</b>.', 'That is <i>x</i> itself.'])"
    " for n in (2, 3)])",
]
CONF = """
extensions = ["myst_nb", "tformer.widgets.page"]
html_theme, project = "sphinx_book_theme", "widgets"
nb_execution_mode = "off"
html_static_path = ["widget-host.js"]
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


@pytest.fixture
def page(browser: Browser, site: str):
    """The page, drawn; the test fails if it asked another host or met an error."""
    context = browser.new_context(viewport={"width": 1000, "height": 900})
    yield from open_page(context.new_page(), site)
    context.close()


@pytest.fixture
def phone(browser: Browser, site: str):
    """The same page on a phone."""
    size = {"width": 360, "height": 740}
    context = browser.new_context(viewport=size, has_touch=True, is_mobile=True)
    yield from open_page(context.new_page(), site)
    context.close()


def open_page(page: Page, url: str):
    errors: list[str] = []

    def answer(route: Route) -> None:
        if route.request.url.startswith(("file:", "blob:", "data:")):
            route.continue_()
        else:
            errors.append(f"asked another host: {route.request.url}")
            route.abort()

    page.on("pageerror", lambda error: errors.append(str(error)))
    page.route("**/*", answer)
    page.goto(url)
    page.locator(".tf-quiz").wait_for()
    yield page
    assert errors == []


def value(widget: Locator, name: str) -> list[float]:
    """The exact numbers behind what a widget shows."""
    text = widget.locator(f"data.tf-{name}").first.get_attribute("value")
    return [math.nan if part == "NaN" else float(part) for part in text.split(",")]


# ---- two vectors, by mouse, finger and keyboard -----------------------------------------


def centre(tip: Locator) -> tuple[float, float]:
    box = tip.locator(".tf-halo").bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def spot(widget: Locator, x: float, y: float) -> tuple[float, float]:
    """Where on the screen the point (x, y) of the plane lies."""
    box = widget.locator(".tf-plane").bounding_box()
    unit = box["width"] * (1 / 2 - 16 / 420) / 5
    return box["x"] + box["width"] / 2 + x * unit, box["y"] + box["height"] / 2 - y * unit


def agrees(widget: Locator, q: list[float], k: list[float]) -> None:
    """What the page shows of q and k is what the library says."""
    python = DotProduct(q, k)
    assert value(widget, "dot") == pytest.approx([python.dot], abs=1e-12)
    assert value(widget, "norm-q") == pytest.approx([python.norms[0]], abs=1e-12)
    assert value(widget, "norm-k") == pytest.approx([python.norms[1]], abs=1e-12)
    assert value(widget, "cosine") == pytest.approx([python.cosine], abs=1e-12)
    assert value(widget, "angle") == pytest.approx([python.angle], abs=1e-5)
    assert value(widget, "projection") == pytest.approx(python.projection, abs=1e-12)
    assert value(widget, "remainder") == pytest.approx(python.remainder, abs=1e-12)
    shown = widget.locator("data.tf-dot").inner_text().replace("−", "-")
    assert float(shown) == round(python.dot, 2)


def test_a_mouse_drags_a_tip(page: Page) -> None:
    widget = page.locator(".tf-dot-product")
    agrees(widget, [3, 4], [4, 3])
    page.mouse.move(*centre(widget.locator(".tf-tip.tf-q")))
    page.mouse.down()
    page.mouse.move(*spot(widget, 0, 0), steps=4)
    page.mouse.move(*spot(widget, -2, 3), steps=4)
    page.mouse.up()
    page.mouse.move(*spot(widget, 1, 1))
    agrees(widget, [-2, 3], [4, 3])
    assert widget.locator(".tf-badge").inner_text() == "+ positive"
    page.mouse.move(*centre(widget.locator(".tf-tip.tf-k")))
    page.mouse.down()
    page.mouse.move(*spot(widget, 70, -1), steps=4)
    page.mouse.up()
    agrees(widget, [-2, 3], [5, -1])
    assert widget.locator(".tf-badge").inner_text() == "− negative"


def test_a_finger_drags_a_tip(phone: Page) -> None:
    widget = phone.locator(".tf-dot-product")
    widget.locator(".tf-plane").scroll_into_view_if_needed()
    touch = phone.context.new_cdp_session(phone)
    path = [centre(widget.locator(".tf-tip.tf-q")), spot(widget, -1, 3), spot(widget, -4, -2)]
    scrolled = phone.evaluate("scrollY")
    for kind, points in zip(
        ["touchStart", "touchMove", "touchMove", "touchEnd"], [*path, None], strict=True
    ):
        at = [{"x": points[0], "y": points[1]}] if points else []
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": at})
    expect(widget.locator("data.tf-dot")).to_have_text("−22.00")
    agrees(widget, [-4, -2], [4, 3])
    assert phone.evaluate("scrollY") == scrolled


def test_the_keyboard_moves_a_focused_tip(page: Page) -> None:
    widget = page.locator(".tf-dot-product")
    tip = widget.get_by_role("slider", name="Tip of k")
    tip.focus()
    for key in ["ArrowUp", "ArrowLeft", "Shift+ArrowDown", "Shift+ArrowRight", "Shift+ArrowRight"]:
        page.keyboard.press(key)
    agrees(widget, [3, 4], [5, 2.1])
    assert tip.get_attribute("aria-valuetext") == "k = (5.0, 2.1)"
    ring = tip.locator(".tf-ring").evaluate("ring => getComputedStyle(ring).stroke")
    assert ring != "none"


def test_fields_examples_and_reset(page: Page) -> None:
    widget = page.locator(".tf-dot-product")
    widget.get_by_label("q, first coordinate").fill("0.125")
    agrees(widget, [0.125, 4], [4, 3])
    widget.get_by_label("q, first coordinate").fill("77")
    agrees(widget, [0.125, 4], [4, 3])
    expected = {"parallel": 0, "orthogonal": 90, "opposite": 180}
    for name, angle in expected.items():
        widget.get_by_role("button", name=name).click()
        assert value(widget, "angle") == pytest.approx([angle], abs=1e-5)
    widget.get_by_role("button", name="longer k wins").click()
    assert "the length of k does it" in widget.locator(".tf-sentence").inner_text()
    widget.get_by_role("button", name="reset").click()
    agrees(widget, [3, 4], [4, 3])


def test_a_screen_reader_is_told_once_the_reader_pauses(page: Page) -> None:
    widget = page.locator(".tf-dot-product")
    widget.get_by_role("button", name="opposite").click()
    told = widget.get_by_role("status").filter(has_text="q·k = −25.00")
    told.wait_for(state="attached", timeout=3000)


# ---- softmax ----------------------------------------------------------------------------


def weights(widget: Locator) -> list[float]:
    cells = widget.locator("data.tf-weight").all()
    return [float(cell.get_attribute("value")) for cell in cells]


def test_sliders_and_boxes_give_the_weights_of_the_library(page: Page) -> None:
    widget, python = page.locator(".tf-softmax"), SoftmaxTemperature()
    assert weights(widget) == pytest.approx(python.weights, rel=1e-12)
    widget.get_by_label("Score of dog").fill("3.4")
    python.scores = [2.0, 3.4, 0.0, -1.0]
    widget.get_by_label("bird allowed").uncheck()
    python.mask = [True, True, False, True]
    heat = widget.get_by_label("Temperature, on a logarithmic scale")
    heat.focus()
    page.keyboard.press("ArrowLeft")
    python.temperature = value(widget, "temperature")[0]
    assert python.temperature < 1
    assert weights(widget) == pytest.approx(python.weights, rel=1e-12)
    assert value(widget, "entropy") == pytest.approx([python.entropy], rel=1e-12)
    assert value(widget, "largest") == pytest.approx([max(python.weights)], rel=1e-12)
    assert value(widget, "jacobian-bound") == pytest.approx([python.jacobian_bound], rel=1e-12)
    assert value(widget, "beta") == pytest.approx([python.beta], rel=1e-12)


def test_adding_a_constant_changes_every_score_and_no_weight(page: Page) -> None:
    widget = page.locator(".tf-softmax")
    before = weights(widget)
    widget.get_by_label("Constant added").fill("7.5")
    assert value(widget, "score") == [9.5]
    assert weights(widget) == pytest.approx(before, rel=1e-12)


def test_a_row_with_nothing_allowed_is_all_zero(page: Page) -> None:
    widget = page.locator(".tf-softmax")
    for box in widget.get_by_role("checkbox").all():
        box.uncheck()
    assert weights(widget) == [0, 0, 0, 0]
    assert "nothing is allowed" in widget.inner_text()
    widget.get_by_role("button", name="equal").click()
    assert weights(widget) == [0.25] * 4
    widget.get_by_role("button", name="tie").click()
    first, second, *_ = weights(widget)
    assert first == second > 0.45
    widget.get_by_role("button", name="reset").click()
    assert weights(widget) == pytest.approx(SoftmaxTemperature().weights, rel=1e-12)


# ---- quiz -------------------------------------------------------------------------------


def test_a_quiz_is_answered_with_the_keyboard_alone(page: Page) -> None:
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


def test_a_quiz_of_one_question_counts_it_as_one(page: Page) -> None:
    code = """async (code) => {
        const url = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
        const { default: widget } = await import(url);
        const texts = ["a", "b", "c"];
        const question = { question: "Why?", options: texts, answer: 0, why: texts };
        const state = { chosen: [null], questions: [question] }, el = document.createElement("div");
        widget.render({ model: { get: (name) => state[name], on() {}, off() {} }, el });
        return [el.firstChild.ariaLabel, el.querySelector(".tf-score").textContent];
    }"""
    assert page.evaluate(code, Quiz._esm) == ["Quiz of 1 question", "1 question"]


def test_markup_that_is_not_allowed_stays_text(page: Page) -> None:
    assert page.locator(".tf-quiz legend sup").count() == 2
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
    elements, bold, hurt = page.evaluate(code, [Quiz._esm, evil])
    assert (elements, hurt) == (0, None)
    assert bold >= 3


# ---- the code -----------------------------------------------------------------------------


def test_a_page_embeds_no_code_and_runs_the_librarys(page: Page) -> None:
    assert "export default" not in page.content()
    shared = page.evaluate("widgetCode")
    names = {"tformer.widgets.quiz.Quiz": Quiz}
    names["tformer.chapters.ch01.dot_product.DotProduct"] = DotProduct
    names["tformer.chapters.ch02.softmax_temperature.SoftmaxTemperature"] = SoftmaxTemperature
    assert {name: shared[name] for name in names} == {n: w._esm for n, w in names.items()}
    assert len(shared) == 6, "five widgets and what they share"
    styles = page.locator("link[href*='widgets.css']")
    assert styles.count() == 1
    assert page.locator("style", has_text=".tf-widget").count() == 0


# ---- for everyone -----------------------------------------------------------------------


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("device", ["page", "phone"])
def test_axe_finds_nothing(request: pytest.FixtureRequest, device: str, theme: str) -> None:
    page = request.getfixturevalue(device)
    page.evaluate("theme => { document.documentElement.dataset.theme = theme; }", theme)
    page.locator(".tf-dot-product").get_by_role("button", name="opposite").click()
    page.locator(".tf-softmax").get_by_label("bird allowed").uncheck()
    page.locator(".tf-map").get_by_label("Your own sentence").fill("Gosh, it was the cat")
    page.locator(".tf-map").get_by_text("Change a score").click()
    page.locator(".tf-map").get_by_label("Added to the score of").fill("2")
    quiz = page.locator(".tf-quiz")
    for number, option in [(0, 0), (1, 0)]:
        quiz.locator("fieldset").nth(number).get_by_role("radio").nth(option).check()
        quiz.get_by_role("button", name="check").nth(number).click()
    page.wait_for_timeout(300)  # colours fade for a moment
    page.add_script_tag(path=AXE)
    result = page.evaluate("() => axe.run({ include: ['.tf-widget'] })")
    assert [(v["id"], v["nodes"][0]["html"]) for v in result["violations"]] == []
    assert result["passes"]


def test_a_phone_shows_all_of_it_and_targets_are_large(phone: Page) -> None:
    phone.locator(".tf-map").get_by_text("Change a score").click()
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


def test_reduced_motion_stops_the_bars_from_gliding(browser: Browser, site: str) -> None:
    context = browser.new_context(reduced_motion="reduce")
    for page in open_page(context.new_page(), site):
        bar = page.locator(".tf-fill").first
        assert bar.evaluate("bar => getComputedStyle(bar).transitionDuration") == "0s"
    context.close()


def test_print_shows_the_state_in_ink_without_buttons(page: Page) -> None:
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    widget = page.locator(".tf-dot-product")
    widget.get_by_role("button", name="opposite").click()
    page.emulate_media(media="print")
    assert widget.locator("data.tf-dot").inner_text() == "−25.00"
    assert not widget.get_by_role("button", name="reset").is_visible()
    colour = widget.evaluate("widget => getComputedStyle(widget).color")
    assert colour == "rgb(0, 0, 0)"


def test_without_javascript_the_text_is_there(browser: Browser, site: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(site)
    text = page.locator("main").inner_text()
    assert "q·k = 24.00" in text
    assert "cat 0.64" in text
    assert "“it” looks 0.76 at animal" in text
    assert "effective number of keys 26.5" in text
    assert "What is x2 at 2?" in text
    page.locator("summary").first.click()
    assert "(a) is right." in page.locator("main").inner_text()
    context.close()


def test_a_widget_the_host_cannot_run_says_so(browser: Browser, tmp_path: Path) -> None:
    state = {"state": {"m": {"state": {"_model_name": "IntSliderModel"}}}}
    prefix = "application/vnd.jupyter.widget"
    shutil.copy(HOST, tmp_path)
    (tmp_path / "index.html").write_text(
        f'<!doctype html><body><script type="{prefix}-view+json">{{"model_id": "m"}}</script>'
        f'<script type="{prefix}-state+json">{json.dumps(state)}</script>'
        '<script src="widget-host.js"></script>'
    )
    page = browser.new_page()
    page.goto((tmp_path / "index.html").as_uri())
    page.get_by_text("cannot be shown here: it needs a running notebook").wait_for(timeout=3000)
    page.close()
