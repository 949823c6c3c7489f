"""The visit of a page finds each fault that is planted in it, and says which."""

import random
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest

from browser.faults import WEIGHT, faults

NAME = "chapters/00_notation.html"
LINK = 'href="../_sources/chapters/00_notation.ipynb" download'
# What is put into the page, and how it is told: parts of one line, with … between them.
PLANTED = {
    r'<span class="math katex-error">\frac{1}</span>': [r"mathematics: error in \frac{1}"],
    r'<span class="math">no brackets</span>': ["mathematics: not drawn: no brackets"],
    r"<p>Here \alpha was left, and $x$.</p>": [
        r"mathematics: left as text: \alpha",
        "mathematics: left as text: $x$",
    ],
    '<script src="heavy.js"></script>': [f"weight: … bytes, more than {WEIGHT}: … heavy.js"],
    '<img src="gone.png" alt="gone">': ["weight: gone.png is not there", "console: Failed to load"],
    '<img src="https://example.org/x.png" alt="x">': ["asked another host: https://example.org/"],
    "<script>noSuchFunction()</script>": ["error: noSuchFunction is not defined"],
    '<img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">': ["axe, light, 1280: image-alt"],
    '<p style="color: #777; background: #888">Grey on grey.</p>': [
        "axe, light, 1280: color-contrast … Grey on grey",
        "axe, dark, 1280: color-contrast … Grey on grey",
    ],
    "<pre><span>as</span> <span>as</span> <span style='color: #777; background: #888'>"
    "a word</span></pre>": [
        "axe, light, 1280: color-contrast … a word",
        "axe, dark, 1280: color-contrast … a word",
    ],
    """<style>html[data-theme="dark"] .dim { color: #333; background: #222 }</style>
    <p class="dim">Only at night.</p>""": ["axe, dark, 1280: color-contrast … Only at night"],
    """<style>.held { display: none } @media (max-width: 500px) { .held { display: block;
    color: #777; background: #888 } }</style><p class="held">Only in the hand.</p>""": [
        "axe, light, 360: color-contrast … Only in the hand",
        "axe, dark, 360: color-contrast … Only in the hand",
    ],
    '<p><button class="held"></button></p>': ["axe, light, 360: button-name"],
    '<table style="min-width: 600px"><tr><td>wide</td></tr></table>': [
        "wide at 360: … min-width: 600px"
    ],
    '<div class="quiet" style="overflow-x: auto"><p style="width: 900px">Far.</p></div>': [
        "beyond the edge: no shadow: … quiet",
        "beyond the edge: not reached by Tab: … quiet",
    ],
    '<div class="drawing-frame" style="overflow: auto"><svg class="drawing" viewBox="0 0 300 9" '
    'style="width: 420px; max-width: none"></svg></div>': ["beyond the edge: a drawing is cut"],
    '<p style="width: 90px; overflow: hidden; white-space: nowrap">More words than room.</p>': [
        "cut at 1280: … More words than room",
        "cut at 1200: … More words than room",
        "cut at 768: … More words than room",
    ],
    '<section><p style="font-size: 80%">Said in a small voice.</p></section>': [
        "text: not as … Said in a small voice"
    ],
    '<svg class="drawing" viewBox="0 0 900 9" width="90"></svg>': [
        "beyond the edge: a drawing at 0.07"
    ],
    "<ul></ul>": ["lecture: a slide says nothing"],
    "<figure><h3>One more title</h3>Drawn.</figure>": ["lecture: 2 titles: … One more title"],
    '<div class="math"><i class="eqno">(7)</i><i class="katex">a = b</i></div>': [
        "lecture: a formula without its sentence: … (7)"
    ],
    '<ul><li style="height: 3000px">Tall.</li></ul>': [
        "lecture: … too high: … Tall.",
        "lecture: at 0.45 of its size: … Tall.",
    ],
    '<figure>Tiny.<svg class="drawing" viewBox="0 0 9 9" width="40" height="40"><use href="#a" '
    'transform="scale(0.01)"/><path id="a" d="M0 0h9v9z"/></svg></figure>': [
        "lecture: letters of 0.0126 of its height: … Tiny."
    ],
    '<figure><pre><i style="display: inline-block; width: 5000px">Broad.</i></pre></figure>': [
        "lecture: wider than its box: … Broad.",
    ],
    '<div style="position: absolute; width: 2000px">wider</div>': [
        "wide at 1280: … width: 2000px",
        "wide at 360: … width: 2000px",
    ],
}
ELSE = [
    "figures: cells have not been run",
    "figures: 3 on the page, 4 in the notebook",
    "figures: 3 numbered captions on the page, 4 in the notebook",
    "download: gone.ipynb leads to no file",
]


@pytest.fixture
def spoiled(book: Path, tmp_path: Path) -> Path:
    """A copy of the book in which one page has all those faults and a figure is missing."""
    (tmp_path / "chapters").mkdir()
    (tmp_path / "_sources" / "chapters").mkdir(parents=True)
    (tmp_path / "_static").symlink_to(book / "_static")
    html = (book / NAME).read_text(encoding="utf-8")
    assert LINK in html
    html = html.replace(LINK, 'href="gone.ipynb" download')
    html = html.replace("</article>", "".join(PLANTED) + "</article>")
    (tmp_path / NAME).write_text(html, encoding="utf-8")
    heavy = f"// {random.Random(0).randbytes(500_000).hex()}"
    (tmp_path / "chapters" / "heavy.js").write_text(heavy, encoding="utf-8")
    source = Path("_sources", NAME).with_suffix(".ipynb")
    notebook = nbformat.read(book / source, as_version=4)
    drawing = nbformat.v4.new_output("display_data", data={"image/svg+xml": "<svg/>"})
    captioned = {"mystnb": {"figure": {"caption": "A figure that the page has lost."}}}
    notebook.cells.append(nbformat.v4.new_code_cell("1", metadata=captioned, outputs=[drawing]))
    nbformat.write(notebook, tmp_path / source)
    return tmp_path


def test_each_planted_fault_is_told(stage: Callable, spoiled: Path) -> None:
    found = faults(stage, spoiled, NAME)
    expected = [words for told in PLANTED.values() for words in told] + ELSE
    missing = [
        words
        for words in expected
        if not any(all(part in line for part in words.split(" … ")) for line in found)
    ]
    assert missing == [], "\n".join(found)
