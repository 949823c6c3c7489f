"""BibTeX that a click copies: what a second program reads in it."""

from pathlib import Path

import yaml
from pybtex.database import parse_file, parse_string

from tformer_book.pipeline.site.bibtex import of_references, of_the_book

ROOT = Path(__file__).parents[1]


def test_each_entry_is_the_one_of_the_file_without_its_note() -> None:
    path = ROOT / "references.bib"
    known = parse_file(path).entries
    found = of_references(path.read_text(encoding="utf-8"))
    assert set(found) == set(known)
    for key, text in found.items():
        (entry,) = parse_string(text, "bibtex").entries.values()
        expected = {name: value for name, value in known[key].fields.items() if name != "note"}
        assert dict(entry.fields) == expected, key
        assert entry.persons == known[key].persons, key
        assert entry.type == known[key].type, key


def test_the_entry_of_the_book_says_what_its_citation_file_says() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    (entry,) = parse_string(of_the_book(citation, "2026"), "bibtex").entries.values()
    assert entry.fields["title"] == citation["title"]
    assert citation["version"] in entry.fields["note"]
    assert entry.fields["year"] == "2026"
    (author,) = entry.persons["author"]
    assert author.last_names == [f"{{{citation['authors'][0]['name']}}}"]  # one name, not two


def test_a_release_has_its_year_and_address() -> None:
    citation = {
        "authors": [{"name": "One & all"}, {"name": "Others"}],
        "title": "T",
        "version": "1.0",
        "date-released": "2031-02-03",
        "url": "https://example.org",
    }
    (entry,) = parse_string(of_the_book(citation, "2026"), "bibtex").entries.values()
    assert (entry.fields["year"], entry.fields["url"]) == ("2031", "https://example.org")
    assert len(entry.persons["author"]) == 2
