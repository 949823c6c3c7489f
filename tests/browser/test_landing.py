"""The first page: the riddle turns, a theorem can be broken, and all of it without a script."""

import re

from playwright.sync_api import expect

from browsing import Visit
from tformer_book.claims.record import records
from tformer_book.world import lexicon

WIDE, NARROW = list(lexicon.SENTENCES)[4:6]
LABEL = "thm-dot-variance"


def said(sentence: str) -> tuple[str, str]:
    """What the figure has to say of *it*: the weights of the last layer, from the library."""
    reading = lexicon.read(sentence)
    row = reading.weights[-1, reading.tokens.index("it")]
    return f"{row[reading.tokens.index('piano')]:.2f}", f"{row[reading.tokens.index('door')]:.2f}"


def test_the_riddle_turns_with_the_last_word(visit: Visit) -> None:
    page = visit("index.html")
    line = page.locator(".tf-riddle .tf-said")
    for name, sentence in (("wide", WIDE), ("narrow", NARROW)):
        page.get_by_role("button", name=name).click()
        piano, door = said(sentence)
        expect(line).to_contain_text(f"{piano} at piano")
        expect(line).to_contain_text(f"{door} at door")


def test_the_theorem_is_the_one_of_its_chapter_and_can_be_broken(visit: Visit) -> None:
    page = visit("index.html", java_script_enabled=False)
    box = page.locator(".admonition.theorem")
    box.locator(".tf-seal > summary").click()
    for variant, numbers in records()[LABEL].refuted.items():
        fold = box.locator(".tf-break", has=page.get_by_text(variant, exact=True))
        fold.locator("summary").click()
        expect(fold.locator("p")).to_be_visible()
        assert re.findall(r"\d+", fold.locator("p").inner_text()) == re.findall(r"\d+", numbers)
    statement = box.locator("div.math").first.inner_text()
    box.locator(".admonition-title a").click()
    page.wait_for_load_state("load")
    assert page.locator(f"#{LABEL} div.math").first.inner_text().endswith(statement)


def test_without_a_script_the_riddle_says_its_numbers(visit: Visit) -> None:
    page = visit("index.html", java_script_enabled=False)
    told = " ".join(page.locator("main noscript").all_text_contents())
    assert f"{said(WIDE)[0]} at piano" in told
