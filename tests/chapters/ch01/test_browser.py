"""Two vectors in a browser: the arithmetic of the JavaScript, to 1e-12, and how they are worked."""

from collections.abc import Callable

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from browsing import evaluate, numbers, numerals, tab_stops, value, violations
from tformer import reference
from tformer_book.chapters.ch01.dot_product import DotProduct


@pytest.fixture
def widget() -> DotProduct:
    """What `page` and `phone` show."""
    return DotProduct()


def test_vectors_agree_with_the_library(blank: Page) -> None:
    rng = np.random.default_rng(0)
    q, k = rng.normal(size=(2, 600, 2)) * 10.0 ** rng.integers(-60, 60, size=(2, 600, 1))
    q[:3], k[2:5] = 0, 0
    q[5:20] = k[5:20] * rng.choice([-2, -1, 0.5, 3], size=(15, 1))
    found = evaluate(blank, DotProduct, "measure", np.stack([q, k], axis=1).tolist())
    scale = np.maximum(reference.norm(q) * reference.norm(k), 1e-300)
    ours = numbers([m["dot"] for m in found])
    np.testing.assert_allclose(ours / scale, reference.dot(q, k) / scale, atol=1e-12)
    for name, theirs in [("normQ", reference.norm(q)), ("normK", reference.norm(k))]:
        np.testing.assert_allclose(numbers([m[name] for m in found]), theirs, rtol=1e-12)
    cosine = numbers([m["cosine"] for m in found])
    np.testing.assert_allclose(cosine, reference.cosine_similarity(q, k), atol=1e-12)
    length = np.maximum(reference.norm(q), 1e-300)[:, None]
    foot = reference.projection(q, k)
    projection, rest = (numbers([m[name] for m in found]) for name in ("projection", "remainder"))
    np.testing.assert_allclose(projection / length, foot / length, atol=1e-12)
    np.testing.assert_allclose(rest / length, (q - foot) / length, atol=1e-12)
    zero = (reference.norm(q) == 0) | (reference.norm(k) == 0)
    angle = numbers([m["angle"] for m in found])
    assert (np.isnan(angle) == zero).all()
    np.testing.assert_allclose(np.cos(np.radians(angle[~zero])), cosine[~zero], atol=1e-12)


# ---- by mouse, finger and keyboard -------------------------------------------------------


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


def test_of_two_tips_the_nearer_is_taken_and_of_equals_the_first(blank: Page) -> None:
    tips = [[3.0, 4.0], [4.0, 3.0]]
    cases = [([-2.0, 4.0], 0), ([4.0, -2.0], 1), ([1.0, 1.0], 0), ([5.0, 5.0], 0), ([4.0, 4.1], 0)]
    calls = [[tips, point] for point, _ in cases]
    calls += [
        [[[0.0, 0.0], [0.0, 0.0]], [1.0, 1.0]],
        [[[0.1, 0.2], [0.1 + 1e-15, 0.2]], [5.0, 1.0]],
    ]
    found = [int(which) for which in evaluate(blank, DotProduct, "nearer", calls)]
    assert found == [which for _, which in cases] + [0, 0]


def test_a_press_on_the_plane_brings_the_nearer_tip_and_drags_it(page: Page) -> None:
    widget = page.locator(".tf-dot-product")
    page.mouse.click(*spot(widget, 4, -2))
    agrees(widget, [3, 4], [4, -2])
    page.mouse.click(*spot(widget, -3, 1))
    agrees(widget, [-3, 1], [4, -2])
    page.keyboard.press("ArrowUp")  # the arrow that was brought has the keyboard
    agrees(widget, [-3, 1.1], [4, -2])
    page.mouse.move(*spot(widget, 2, -4))
    page.mouse.down()
    agrees(widget, [-3, 1.1], [2, -4])
    page.mouse.move(*spot(widget, 1, 3), steps=4)
    page.mouse.up()
    agrees(widget, [-3, 1.1], [1, 3])
    page.mouse.click(*spot(widget, -3, 1.1), button="right")
    agrees(widget, [-3, 1.1], [1, 3])


def test_as_near_to_one_as_to_the_other_q_goes(page: Page) -> None:
    widget = page.locator(".tf-dot-product")
    page.mouse.click(*spot(widget, 1, 1))  # q = (3, 4) and k = (4, 3) are equally far
    agrees(widget, [1, 1], [4, 3])


def test_a_tap_brings_the_nearer_tip_and_a_slide_scrolls(phone: Page) -> None:
    widget = phone.locator(".tf-dot-product")
    phone.evaluate("document.body.style.paddingBottom = '2000px'")
    widget.locator(".tf-plane").scroll_into_view_if_needed()
    phone.touchscreen.tap(*spot(widget, 4, -2))
    agrees(widget, [3, 4], [4, -2])
    phone.touchscreen.tap(*spot(widget, -3, 2))
    agrees(widget, [-3, 2], [4, -2])
    touch = phone.context.new_cdp_session(phone)
    x, y = spot(widget, 1, -3)
    for kind, down in (
        ("touchStart", 0),
        ("touchMove", 60),
        ("touchMove", 150),
        ("touchEnd", None),
    ):
        at = [] if down is None else [{"x": x, "y": y - down}]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": at})
    phone.wait_for_function("scrollY > 50")
    agrees(widget, [-3, 2], [4, -2])


@pytest.mark.parametrize("device", ["page", "phone"])
def test_it_fits_one_screen_with_one_number_beside_the_drawing(
    request: pytest.FixtureRequest, device: str
) -> None:
    widget = request.getfixturevalue(device).locator(".tf-dot-product")
    assert widget.bounding_box()["height"] <= 700
    assert numerals(widget.locator(".tf-panel")) == ["24.00"]
    assert tab_stops(widget) == 8  # two tips, a fold and five buttons


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
    widget.get_by_text("The numbers behind it").click()
    widget.get_by_label("q, first coordinate").fill("0.125")
    agrees(widget, [0.125, 4], [4, 3])
    widget.get_by_label("q, first coordinate").fill("77")
    agrees(widget, [0.125, 4], [4, 3])
    expected = {"parallel": 0, "orthogonal": 90, "opposite": 180}
    for name, angle in expected.items():
        widget.get_by_role("button", name=name).click()
        assert value(widget, "angle") == pytest.approx([angle], abs=1e-5)
    widget.get_by_role("button", name="longer k wins").click()
    assert "because k is long" in widget.locator(".tf-sentence").inner_text()
    widget.get_by_role("button", name="reset").click()
    agrees(widget, [3, 4], [4, 3])


def test_the_headline_shows_the_dot_product_where_its_sentence_ends(page: Page) -> None:
    headline, shown = (
        page.locator(f".tf-dot-product {name}").bounding_box()
        for name in (".tf-headline", "data.tf-dot")
    )
    assert headline["x"] < shown["x"] < headline["x"] + headline["width"] / 2
    assert headline["y"] <= shown["y"] < headline["y"] + headline["height"]


def test_a_screen_reader_is_told_once_the_reader_pauses(page: Page) -> None:
    widget = page.locator(".tf-dot-product")
    widget.get_by_role("button", name="opposite").click()
    told = widget.get_by_role("status").filter(has_text="q·k = −25.00")
    told.wait_for(state="attached", timeout=3000)


# ---- for everyone -----------------------------------------------------------------------


@pytest.mark.parametrize("device", ["page", "phone"])
def test_axe_finds_nothing(request: pytest.FixtureRequest, device: str) -> None:
    page = request.getfixturevalue(device)
    page.get_by_role("button", name="opposite").click()
    assert violations(page) == []


def test_print_shows_the_state_in_ink_without_buttons(page: Page) -> None:
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    widget = page.locator(".tf-dot-product")
    widget.get_by_role("button", name="opposite").click()
    page.emulate_media(media="print")
    assert widget.locator("data.tf-dot").inner_text() == "−25.00"
    assert not widget.get_by_role("button", name="reset").is_visible()
    colour = widget.evaluate("widget => getComputedStyle(widget).color")
    assert colour == "rgb(0, 0, 0)"


# ---- in JupyterLab ------------------------------------------------------------------------


def test_dragging_reaches_python_and_python_moves_the_arrow(notebook: Callable) -> None:
    lab = notebook(
        "from tformer_book.chapters.ch01.dot_product import DotProduct",
        "vectors = DotProduct()\nvectors",
        "print('python', vectors.q, vectors.dot)",
        "vectors.k = [0.0, 2.0]",
    )
    lab.run(0)
    widget = lab.run(1).locator(".tf-dot-product")
    widget.get_by_role("slider", name="Tip of q").focus()
    for key in ["Shift+ArrowLeft", "ArrowDown", "ArrowDown"]:
        lab.page.keyboard.press(key)
    python = DotProduct(q=[2.0, 3.8])
    expect(widget.locator("data.tf-dot")).to_have_text(f"{python.dot:.2f}")
    assert value(widget, "dot")[0] == pytest.approx(python.dot, abs=1e-12)
    lab.says(2, f"python [2.0, 3.8] {python.dot}")
    lab.run(3)
    expect(widget.locator("data.tf-dot")).to_have_text("7.60")
    widget.locator(".tf-plane").scroll_into_view_if_needed()
    box = widget.locator(".tf-tip.tf-k .tf-halo").bounding_box()
    lab.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    lab.page.mouse.down()
    lab.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 400, steps=5)
    lab.page.mouse.up()
    expect(widget.locator("data.tf-dot")).to_have_text("−19.00")
    assert value(widget, "norm-k")[0] == 5
