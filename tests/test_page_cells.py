"""Which cells hide their input on a page: those that only show something."""

import pytest

from tformer_book.pipeline.site.cells import only_shows


@pytest.mark.parametrize(
    "code",
    [
        "import math\n\nimport numpy as np\nrng = np.random.default_rng(0)",
        "import math\nwidths = (4, 16)",
        "show(figures.spread(rng, widths=(4, 64)))",
        "source(reference.softmax)",
        "AttentionMap()",
        "Quiz.of_chapter(3)",
        "ScoreScale(\n    d=64,\n)",
    ],
)
def test_input_is_hidden(code: str) -> None:
    assert only_shows(code)


@pytest.mark.parametrize(
    "code",
    [
        "x = 1",
        "x = np.zeros(3)\nshow(figures.bars(x))",
        "import numpy as np\nx = np.zeros(3)",
        "print(show)",
        "np.mean(x)",
        'verify("thm-projection")',
        "softmax(x)",
        "x @ W",
        "%matplotlib inline",
        "",
    ],
)
def test_code_that_a_reader_should_read_stays(code: str) -> None:
    assert not only_shows(code)
