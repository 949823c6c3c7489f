"""The ledger's filter, and the page that lists all figures to touch."""

from pathlib import Path

from playwright.sync_api import expect

from browsing import ROOT, Visit, toc_pages
from tformer_book.claims import claims
from tformer_book.widgets.base import library_class

LEDGER, FIGURES = "chapters/ledger.html", "chapters/figures_to_touch.html"


def test_the_ledger_is_filtered_by_words_kind_and_chapter(visit: Visit) -> None:
    page = visit(LEDGER)
    shown = page.locator("article section section dt:visible")
    count = page.locator(".book-filter output")
    listed = [claim for claim in claims() if claim.chapter == 5]
    expect(shown).to_have_count(len(claims()))
    expect(count).to_have_text(f"{len(claims())} of {len(claims())} claims")
    page.get_by_label("Every chapter").select_option("Chapter 5")
    expect(shown).to_have_count(len(listed))
    kinds = [claim for claim in listed if claim.kind == "exhaustive"]
    page.get_by_label("Every kind").select_option("exhaustive")
    expect(shown).to_have_count(len(kinds))
    expect(page.locator("article h2:visible")).to_have_count(1)
    page.get_by_label("Filter the claims").fill("quagga WORD")
    expect(shown).to_have_count(0)
    expect(count).to_have_text(f"0 of {len(claims())} claims")
    page.get_by_label("Filter the claims").fill("Causal MASK")
    for text in shown.all():
        expect(text).to_contain_text("exhaustive")
    assert 0 < shown.count() < len(kinds)


def test_only_the_ledger_loads_its_filter(book: Path) -> None:
    loading = [name for name in toc_pages() if "ledger.js" in (book / name).read_text("utf-8")]
    assert loading == [LEDGER]


def test_every_widget_of_the_library_is_listed_and_its_link_leads_to_it(visit: Visit) -> None:
    scripts = (ROOT / "lib/tformer_book/chapters").glob("ch*/*.js")
    names = [f"tformer_book.chapters.{path.parent.name}.{path.stem}" for path in scripts]
    page = visit(FIGURES)
    items = page.locator("article li")
    told = items.all_inner_texts()
    links = items.locator("a").evaluate_all("(all) => all.map((link) => link.getAttribute('href'))")
    assert len(told) == len(links) >= len(names)
    assert not [text for text in told if "*" in text]
    assert "../index.html#the-executable-transformer" in links
    chapters = {link.split("/")[-1][:2] for link in links}
    assert {name.split(".ch")[-1][:2] for name in names} <= chapters
    figure = library_class("tformer_book.chapters.ch05.mask_editor.MaskEditor")
    assert figure is not None
    (item,) = (text for text in told if str(figure.__doc__).partition("\n")[0] in text)
    link = items.filter(has_text=item).locator("a")
    section = (link.get_attribute("href") or "").partition("#")[2]
    link.click()
    expect(page.locator(f"#{section} .tf-widget").first).to_be_attached()
    visit("index.html").get_by_role("link", name="here they all are").click()
    expect(page.locator("h1")).to_contain_text("Figures to touch")
