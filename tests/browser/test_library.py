"""The pages of the library: found by search and from every page, with links that lead on."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from browsing import IN_THE_HAND, ROOT, Visit, settled, toc_pages
from tformer_book.pipeline.site.library import library

NORMS = "api/norms.html"
PLACE = f"{NORMS}#tformer.reference.layer_norm"


@pytest.mark.parametrize("query", ["LayerNorm", "layer_norm", "layernorm", "layer norm"])
def test_a_function_is_found_however_it_is_written(visit: Visit, query: str) -> None:
    page = visit("chapters/00_prerequisites.html", viewport={"width": 1440, "height": 900})
    page.locator(".book-search input").press_sequentially(query)
    link = page.locator(f".book-answers li > a[href$='{PLACE}']")
    expect(link).to_have_text("layer_norm")
    link.click()
    section = page.locator("section[id='tformer.reference.layer_norm']")
    expect(section.locator("h2")).to_be_in_viewport()


def test_a_name_asked_for_by_its_own_letters_comes_first(visit: Visit) -> None:
    for name in ("top_k", "multi_head_attention", "train_bpe"):
        page = visit(f"search.html?q={name}")
        first = page.locator("#search-results li").first
        expect(first.locator("a")).to_have_text(name)
        expect(first.locator(".search-page")).to_have_text(re.compile("· Library$"))


def test_every_page_has_one_link_to_the_library(book: Path) -> None:
    for name in [*toc_pages(), "search.html"]:
        text = (book / name).read_text(encoding="utf-8")
        [link] = re.findall(r'book-library">\s*<a href="([^"]*)"', text)
        there = (book / name).parent / link.removesuffix("#") if link != "#" else book / name
        assert there.resolve() == (book / "api" / "library.html").resolve(), name


def test_the_list_of_topics_stands_on_their_pages_alone(visit: Visit) -> None:
    page = visit(NORMS, viewport={"width": 1440, "height": 900})
    topics = page.locator(".book-library li a")
    expect(topics).to_have_count(len(library(ROOT)))
    assert page.locator(".book-library [aria-current]").all_inner_texts() == ["Norms"]
    box = page.locator(".bd-sidebar-primary").evaluate(
        "(e) => [e.scrollHeight - e.clientHeight, e.scrollWidth - e.clientWidth]"
    )
    assert box == [0, 0]
    assert visit("chapters/01_dot_products.html").locator(".book-library li").count() == 0


def test_the_library_is_two_taps_away_on_a_phone(visit: Visit) -> None:
    page = settled(visit("chapters/03_attention.html", **IN_THE_HAND))
    page.locator(".primary-toggle").tap()
    page.locator(".book-library > a").tap()
    expect(page).to_have_url(re.compile(r"api/library\.html$"))
    page.locator("table a[href$='softmax.html#tformer.reference.softmax']").first.tap()
    expect(page.locator("section[id='tformer.reference.softmax'] h2")).to_be_in_viewport()


def test_a_function_shows_its_equation_and_leads_to_its_place_and_twin(visit: Visit) -> None:
    page = settled(visit(NORMS))
    section = page.locator("section[id='tformer.reference.layer_norm']")
    expect(section.locator("div.math .katex").first).to_be_visible()
    place = section.locator(".tf-api-place a").first
    assert (place.get_attribute("href") or "").endswith("#equation-eq-layer-norm")
    expect(place).to_have_text(re.compile(r"^\(8\.\d+\)$"))
    section.locator(".tf-whereabouts a").click()
    twin = page.locator("details[id='tformer.fast.layer_norm']")
    expect(twin).to_have_attribute("open", "")
    expect(twin.locator("pre")).to_contain_text("def layer_norm(")
    place.click()
    expect(page.locator("#equation-eq-layer-norm")).to_be_in_viewport()


def test_shapes_results_and_examples_are_on_the_page(visit: Visit) -> None:
    page = settled(visit("api/softmax.html"))
    section = page.locator("section[id='tformer.reference.softmax']")
    expect(section.locator("pre.tf-signature")).to_have_text(
        "softmax(x: (..., S), axis=-1, beta=1.0) → (..., S)"
    )
    expect(section.locator(".highlight-pycon").first).to_contain_text(
        "array([0.09 , 0.245, 0.665])"
    )
    headings = section.locator(":scope > .tf-heading").all_inner_texts()
    assert headings == ["Parameters", "Returns", "Raises", "Notes", "Example"]


def test_a_copied_example_is_without_prompts_and_output(visit: Visit) -> None:
    page = settled(visit("api/softmax.html"))
    section = page.locator("section[id='tformer.reference.softmax']")
    page.evaluate(
        """document.execCommand = () => {
            window.copied = document.activeElement.value;
            return true;
        }"""
    )
    section.locator(".highlight-pycon").first.hover()
    section.locator(".highlight-pycon button.copybtn").first.click()
    assert page.evaluate("window.copied").strip() == "reference.softmax(x)"
