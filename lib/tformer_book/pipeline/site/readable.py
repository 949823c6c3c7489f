"""Plain text of a verification, set as a page would set it: subscripts, powers, Greek letters."""

import re
from html import escape

GREEK = {
    "beta": "β",
    "epsilon": "ε",
    "gamma": "γ",
    "kappa": "κ",
    "lambda": "λ",
    "mu": "μ",
    "rho": "ρ",
    "sigma": "σ",
    "theta": "θ",
}
_NAME = re.compile(rf"(?<![A-Za-z])({'|'.join(GREEK)})(?![A-Za-z])")
_PIECES = re.compile(
    r"(?P<mantissa>\d+(?:\.\d+)?)e(?P<power>[+-]?\d+)\b"  # 1e-12
    r"|(?<![A-Za-zα-ω])(?P<letter>[A-Za-zα-ω]|lse|softmax|max)_(?P<index>\{[^}]*\}|\w+)"  # q_i
    r"|(?<![A-Za-zα-ω_])(?P<symbol>[A-Za-zα-ω])(?P<number>\d+)(?![\d.])"  # k1, as SymPy writes it
    r"|(?:\*\*|\^)(?P<exponent>\([^()]*\)|-?\w+)"  # mu**2, R^256
)


def html(text: str) -> str:
    """The text as HTML: `1e-12` is a power of ten, `q_i` and `k1` have a subscript.

    >>> html("mu_k1**2 > 1e-12")
    'μ<sub>k1</sub><sup>2</sup> &gt; 10<sup>−12</sup>'
    """
    named = _NAME.sub(lambda found: GREEK[found[1]], text)
    parts, end = [], 0
    for found in _PIECES.finditer(named):
        parts += [escape(named[end : found.start()]), _piece(found)]
        end = found.end()
    return re.sub(r"(?<=[\d>])\*(?=\S)", "·", "".join([*parts, escape(named[end:])]))


def _piece(found: re.Match[str]) -> str:
    if found["power"]:
        mantissa, power = found["mantissa"], int(found["power"])
        factor = "" if mantissa == "1" else f"{mantissa}·"
        return f"{factor}10<sup>{power}</sup>".replace("-", "−") if power else mantissa
    if found["exponent"]:
        return f"<sup>{escape(found['exponent'].strip('()').replace('-', '−'))}</sup>"
    letter, index = found["letter"] or found["symbol"], found["index"] or found["number"]
    return f"{letter}<sub>{escape(index.strip('{}'))}</sub>"
