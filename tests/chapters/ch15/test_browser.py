"""The model in the page, in a browser: its tokens, its numbers, its speed, and how it is worked."""

import base64
import json
import unicodedata
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from browsing import IN_THE_HAND, values, violations
from tformer.tokens import BPE, train_bpe
from tformer_book.chapters.ch15.teller import EXAMPLES, TIRED, Teller, read, window
from tformer_book.storyteller import load
from tformer_book.storyteller.packed import packed
from tformer_book.storyteller.stored import MERGES
from tformer_book.storyteller.tales import Tales, parted
from tformer_book.widgets import Quiz
from tformer_book.widgets.page import HELD, held_script

NAME = "tformer_book.chapters.ch15.teller.Teller"
LOADED = """async ([code, text]) => {
    const url = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
    window.engine = await import(url);
    const bytes = Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
    window.teller = engine.unpackTeller(await engine.gunzip(bytes));
}"""
READ = """([tokens, off]) => {
    const one = engine.reader(teller, off), places = tokens.map((_, t) => t);
    one.read(tokens);
    const heads = [...Array(8).keys()], row = (i, t) => [...one.weights(i >> 2, i & 3, t)];
    const said = (s) => places.map((t) => [...one.logits(t, s)]);
    const logits = [...Array(one.stages).keys()].map(said);
    return JSON.stringify({ weights: heads.map((i) => places.map((t) => row(i, t))), logits });
}"""
APART = "'s 't 're 've 'm 'll 'd 'S ' '' 1999 ½ Ⅷ ٣ x\u00a0y a\u2003\u2003b \u200b\ufeff _ ..."


@pytest.fixture(scope="module")
def engine(browser) -> Page:
    """An empty page with the engine and the model."""
    page = browser.new_page()
    page.evaluate(LOADED, [Teller._esm, base64.b64encode(packed()).decode()])
    yield page
    page.close()


@pytest.fixture
def beside(tmp_path: Path) -> Path:
    """The weights where a page finds them."""
    (tmp_path / "widgets").mkdir()
    path = tmp_path / "widgets" / f"{NAME}{HELD}"
    path.write_text(held_script(NAME, packed()), encoding="utf-8")
    return path


@pytest.fixture
def teller(show: Callable[..., Page], beside: Path) -> Callable[..., Page]:
    """A page with the widget, once the model is there."""

    def opened(widget: Teller, **options: object) -> Page:
        page = show(widget, **options)
        page.locator(".tf-teller[data-ready]").wait_for()
        return page

    return opened


# ---- tokens -----------------------------------------------------------------------------


def random_texts(n: int) -> list[str]:
    """Texts of tales, of signs that decide where a text is cut, and of any assigned character."""
    rng = np.random.default_rng(15)
    assigned = [
        chr(code)
        for code in range(0x110000)
        if unicodedata.category(chr(code)) not in ("Cn", "Cs", "Co")
    ]
    hard = [*APART, *"\t\n\r\v\f \x1c\x1f\x85\xad", *"\u1680\u180e\u2028\u202f\u3000", *"  AZaz09"]
    words = [*APART.split(" "), *EXAMPLES["tired"].split(" "), " ", "\n", ""]
    pools = (assigned, hard, words, [*assigned[:3000], *hard * 20, *words * 20])
    return [
        "".join(rng.choice(np.array(pools[i % 4], dtype=object), rng.integers(1, 30)))
        for i in range(n)
    ]


def test_any_text_has_the_tokens_that_python_finds(engine: Page) -> None:
    texts = random_texts(6000)
    merged = [str(one) for one in train_bpe(" ".join(texts[:2000]), 600)]
    code = """([merges, texts]) => {
        const { encode, decode } = engine.tokenizer(merges);
        return JSON.stringify(texts.map((text) => [encode(text), decode(encode(text)) === text]));
    }"""
    for merges in (MERGES.read_text("utf-8").splitlines(), merged):
        bpe = BPE.from_merges(merges)
        found = json.loads(engine.evaluate(code, [merges, texts]))
        for text, (tokens, same) in zip(texts, found, strict=True):
            assert tokens == bpe.encode(text), repr(text)
            assert same, repr(text)


def test_tokens_that_are_no_utf_8_are_decoded_alike(engine: Page) -> None:
    rng, bpe = np.random.default_rng(16), load().tokens
    rows = [rng.integers(bpe.n_vocab, size=rng.integers(1, 12)).tolist() for _ in range(2000)]
    found = engine.evaluate("(rows) => rows.map((row) => teller.tokens.decode(row))", rows)
    assert found == [bpe.decode(row) for row in rows]


def test_a_long_text_is_cut_where_python_cuts_it(engine: Page) -> None:
    texts = [f"{TIRED} animal.\n" * n for n in range(9)] + ["wug " * 200, "\n" * 300, "a" * 128]
    found = engine.evaluate("(texts) => texts.map((text) => engine.fit(teller, text))", texts)
    assert [tuple(row) for row in found] == [window(text) for text in texts]


# ---- numbers ----------------------------------------------------------------------------


def compared(engine: Page, tokens: list[int], off: list[int]) -> float:
    """The largest difference of a logit, after any half block, and of a weight."""
    found, want = json.loads(engine.evaluate(READ, [tokens, off])), read((*tokens,), frozenset(off))
    weights = np.zeros_like(want.weights)
    for i, rows in enumerate(found["weights"]):
        for t, row in enumerate(rows):
            weights[i, t, : t + 1] = row
    logits = np.array(found["logits"])
    return max(np.abs(logits - want.logits).max(), np.abs(weights - want.weights).max())


@pytest.mark.parametrize("off", [[], [2], [0, 5, 7], [*range(8)]], ids=str)
def test_tales_are_read_as_the_reference_reads_them(engine: Page, off: list[int]) -> None:
    rows = Tales(load().tokens, parted()[0]).rows(np.random.default_rng(17), 3, 128)
    assert max(compared(engine, row.tolist(), off) for row in rows) <= 5e-5


def test_what_stands_in_the_cache_is_not_read_again(engine: Page) -> None:
    code = """([one, two]) => {
        const first = engine.reader(teller), fresh = engine.reader(teller);
        const steps = [first.read(one), first.read(two), fresh.read(two)];
        const same = first.logits().every((x, i) => x === fresh.logits()[i]);
        return [...steps, first.length, same];
    }"""
    one, two = (list(window(EXAMPLES[name])) for name in ("tired", "wide"))
    same = next(t for t in range(len(one)) if one[t] != two[t])
    found = engine.evaluate(code, [one, two])
    assert found == [len(one), len(two) - same, len(two), len(two), True]


def test_words_are_drawn_as_python_draws_them(engine: Page) -> None:
    rng = np.random.default_rng(18)
    for n in (2, 7, 40):
        logits = np.round(3 * rng.standard_normal((30, n)) * 2) / 2  # many tie
        for k, p, m, t in ((0, 1, 0, 1), (3, 1, 0, 0.5), (0, 0.7, 0, 1), (4, 0.8, 0.2, 2)):
            settings = {"temperature": t, "k": k, "p": p, "m": m}
            code = "([rows, set]) => rows.map((row) => [...engine.chances(row, set)])"
            found = np.array(engine.evaluate(code, [logits.tolist(), settings]))
            want = np.array([chances(row, **settings) for row in logits])
            np.testing.assert_allclose(found, want, atol=1e-12)
    p, code = [0.0, 0.25, 0.0, 0.75, 0.0], "([p, all]) => all.map((u) => engine.drawn(p, u))"
    assert engine.evaluate(code, [p, [0, 0.2499, 0.25, 0.9999999999999999]]) == [1, 1, 3, 3]
    tenth = np.full(10, 0.1)
    assert engine.evaluate(code, [[*tenth, 0.0], [1 - 2**-53]]) == [9]
    greedy = engine.evaluate("() => [...engine.chances([1, 3, 3, 2], { temperature: 0 })]")
    assert greedy == [0, 1, 0, 0]


def chances(logits: np.ndarray, temperature: float, k: int, p: float, m: float) -> np.ndarray:
    """What is left after top-k, top-p and min-p in turn; words that tie share a fate."""
    chance = np.exp((logits - logits.max()) / temperature)
    if k:
        chance[chance < np.sort(chance)[-min(k, len(chance))]] = 0
    if p < 1:
        likelier = np.array([chance[chance > x].sum() for x in chance])
        chance[likelier >= p * chance.sum()] = 0
    chance[chance < m * chance.max()] = 0
    return chance / chance.sum()


# ---- how it is worked -------------------------------------------------------------------


def test_it_shows_what_python_computes(teller: Callable[..., Page]) -> None:
    widget = Teller(off=[1, 6], selected=8, temperature=0.5)
    page = teller(widget)
    found = widget.reading
    top = np.sort(found.p[8])[::-1][:8]
    assert values(page.locator(".tf-teller"), "p") == pytest.approx(top, abs=1e-5)
    sharper = found.p[8] ** 2 / (found.p[8] ** 2).sum()
    assert values(page.locator(".tf-teller"), "chance") == pytest.approx(
        np.sort(sharper)[::-1][:8], abs=1e-5
    )
    lens = np.sort(np.exp(found.logits[:, 8]), axis=-1)[:, ::-1][:, :2]
    lens /= np.exp(found.logits[:, 8]).sum(axis=-1, keepdims=True)
    assert values(page.locator(".tf-teller"), "lens") == pytest.approx(lens.ravel(), abs=1e-5)
    expect(page.locator(".tf-teller-key")).to_be_visible()


def test_any_text_can_be_typed_and_asked(teller: Callable[..., Page]) -> None:
    page = teller(Teller())
    field, text = page.get_by_label("Text that the model reads"), "Zoé 世 'tis"
    field.fill(text)
    n = len(window(text))
    chips = page.locator(".tf-teller-chip")
    expect(chips).to_have_count(n)
    expect(page.locator(".tf-teller-note")).to_have_text(f"{n} tokens of 128.")
    chips.first.click()
    expect(chips.first).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("ArrowRight")
    expect(chips.nth(1)).to_be_focused()
    top = np.sort(read(window(text)).p[1])[::-1][:8]
    assert values(page.locator(".tf-teller"), "p") == pytest.approx(top, abs=1e-5)
    page.keyboard.press("End")
    expect(chips.last).to_be_focused()
    page.get_by_role("button", name="reset").click()
    expect(field).to_have_value(TIRED)


def test_it_writes_what_python_writes_greedily(teller: Callable[..., Page]) -> None:
    page = teller(Teller(temperature=0.0))
    bpe, row = load().tokens, list(window(TIRED))
    while row[-1] != row[0] or len(row) == 22:
        row.append(int(read((*row,)).p[-1].argmax()))
        assert len(row) < 128
    page.get_by_role("button", name="write a token").click()
    field = page.get_by_label("Text that the model reads")
    expect(field).to_have_value(TIRED + bpe.decode(row[22:23]))
    page.get_by_role("button", name="write a tale").click()
    expect(field).to_have_value(TIRED + bpe.decode(row[22:]))


def test_it_writes_on_until_it_is_stopped_and_the_same_with_the_same_seed(
    teller: Callable[..., Page],
) -> None:
    page = teller(Teller(text="", seed=3))
    field, tale = (
        page.get_by_label("Text that the model reads"),
        page.get_by_role("button", name="write a tale"),
    )
    for _ in range(12):  # far more than the places
        tale.click()
    first = field.input_value()
    page.get_by_role("button", name="reset").click()
    for _ in range(12):
        tale.click()
    assert field.input_value() == first
    page.get_by_role("button", name="write on").click()
    page.wait_for_function(
        "(n) => document.querySelector('textarea').value.length > n + 20", arg=len(first)
    )
    page.get_by_role("button", name="stop", exact=True).click()
    stopped = field.input_value()
    page.wait_for_timeout(300)
    assert field.input_value() == stopped


def test_a_head_is_switched_off_by_keyboard_and_the_change_is_marked(
    teller: Callable[..., Page],
) -> None:
    page = teller(Teller())
    box = page.get_by_label("head 2.1 is on")
    box.focus()
    page.keyboard.press("Space")
    expect(page.locator(".tf-teller-key")).to_be_visible()
    top = np.sort(read(window(TIRED), frozenset({4})).p[-1])[::-1][:8]
    assert values(page.locator(".tf-teller"), "p") == pytest.approx(top, abs=1e-5)
    page.keyboard.press("Space")
    expect(page.locator(".tf-teller-key")).to_be_hidden()
    look = page.get_by_role("button", name="head 1.2:")
    look.focus()
    page.keyboard.press("Enter")
    expect(look).to_have_attribute("aria-pressed", "true")


def test_controls_forbid_words(teller: Callable[..., Page]) -> None:
    page = teller(Teller())
    page.get_by_role("slider", name="top-k").fill("3")
    kept = [x for x in values(page.locator(".tf-teller"), "chance") if x > 0]
    assert len(kept) == 3
    assert sum(kept) == pytest.approx(1)
    expect(page.locator(".tf-teller-out")).to_have_count(5)
    slider = page.get_by_role("slider", name="top-k")
    expect(slider).to_have_attribute("aria-valuetext", "3")
    slider.press("End")
    expect(slider).to_have_attribute("aria-valuetext", "all")
    expect(page.locator(".tf-teller-out")).to_have_count(0)


def test_weights_that_are_missing_are_told(show: Callable[..., Page], stage: Callable) -> None:
    page = show(Teller())
    expect(page.locator(".tf-teller-note")).to_contain_text("did not come: its file")
    assert page.get_by_role("button", name="write a token").is_disabled()
    stage()[1].clear()  # the browser's own word on the missing file


def test_weights_come_when_the_figure_comes_near(show: Callable[..., Page], beside: Path) -> None:
    page = show(*[Quiz.of_chapter(1)] * 6, Teller())
    widget = page.locator(".tf-teller")
    assert widget.bounding_box()["y"] > 2500
    page.wait_for_timeout(300)
    assert page.locator("script[src*='.held.js']").count() == 0
    assert widget.get_attribute("data-ready") is None
    widget.scroll_into_view_if_needed()
    page.locator(".tf-teller[data-ready]").wait_for()
    assert page.locator("script[src*='.held.js']").count() == 1


def test_a_phone_shows_it_and_axe_finds_nothing(teller: Callable[..., Page]) -> None:
    page = teller(Teller(off=[3]), **IN_THE_HAND)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert violations(page) == []
