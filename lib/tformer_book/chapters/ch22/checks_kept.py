"""Exercises 22.3 and 22.4: latent attention without keys, and the cache of a configuration."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tformer import reference
from tformer_book.exercises.kinds import Several
from tformer_book.exercises.promises import promised, single, whole
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.samples import integers
from tformer_book.exercises.table import Case, case, memory_test

Array = np.ndarray
Layers = list[dict[str, Any]]

# ---- 22.3 ---------------------------------------------------------------------------------


def _by_library(
    q: Array, q_turned: Array, w_k: Array, w_v: Array, latents: Array, k_turned: Array
) -> Array:
    turned = np.broadcast_to(k_turned, (len(q), *k_turned.shape))
    k = np.concatenate([latents @ w_k, turned], axis=-1)
    return reference.attention(np.concatenate([q, q_turned], axis=-1), k, latents @ w_v)


def _latents() -> Iterator[Any]:
    why = (
        "The keys of both heads are 2 in the turned part, or 0. The score of the first token is "
        "√2 · log 3 over the root of 2, so the weights are 3/4 and 1/4. Its values are 20 and 4."
    )
    query = [[np.log(3) / np.sqrt(2)]]
    yield case(
        q=[[[0.0]], [[0.0]]],
        q_turned=[query, query],
        w_k=[[[0.5]], [[3.0]]],
        w_v=[[[10.0]], [[2.0]]],
        latents=[[2.0], [0]],
        k_turned=[[2.0], [0]],
        want=np.array([[[15.0]], [[3.0]]]),
        why=why,
    )
    rng = np.random.default_rng(4)
    for H, T, S, d_c, d_r, d_k, d_v in (
        (1, 1, 3, 2, 2, 3, 1),
        (2, 1, 4, 3, 2, 4, 2),
        (3, 2, 5, 2, 4, 3, 5),
        (2, 3, 3, 4, 2, 4, 4),
        (4, 2, 6, 5, 2, 3, 3),
    ):
        shapes = {
            "q": (H, T, d_k),
            "q_turned": (H, T, d_r),
            "w_k": (H, d_c, d_k),
            "w_v": (H, d_c, d_v),
            "latents": (S, d_c),
            "k_turned": (S, d_r),
        }
        given: dict[str, Any] = {name: rng.normal(size=x) for name, x in shapes.items()}
        yield case(**given, want=_by_library(*given.values()))
    wholes: dict[str, Any] = {
        name: integers(k, shape) for k, (name, shape) in enumerate(shapes.items())
    }
    yield from promised(whole, single, **wholes)
    wholes["latents"] = wholes["latents"] * 400
    yield case(**wholes, why="Latents may be large: measure scores from the largest.")
    yield _small_memory()


def _small_memory() -> Any:
    """A test that no key or value is computed: these are wide here, and the latents are not."""
    H, T, S, d_c, d_r, d = 4, 1, 4000, 8, 2, 256
    rng = np.random.default_rng(6)
    shapes = {
        "q": (H, T, d),
        "q_turned": (H, T, d_r),
        "w_k": (H, d_c, d),
        "w_v": (H, d_c, d),
        "latents": (S, d_c),
        "k_turned": (S, d_r),
    }
    why = (
        "keys or values of a head take 8 MB, and the latents 0.3. Let the query and the output go "
        "through the matrices, and leave the latents as they are."
    )
    what = "4,000 latents of 8 numbers and keys of 256"
    return memory_test(
        3e6, what, why, said=what, **{n: rng.normal(size=s) for n, s in shapes.items()}
    )


@exercise(
    "22.3",
    praise="One head and several, latents wider and narrower than keys, and no key or value of a "
    "head held in memory.",
    hints=(
        "A score is q · (c W), with the latent c and the matrix W of the head. Where else can the "
        "brackets stand?",
        "Take the query through the transpose of the key's matrix once; then every latent is a key "
        "that all heads share.",
        "The weights mix latents. What they make goes through the value's matrix of the head "
        "once, at the end. The scale is still that of the keys that you do not compute.",
    ),
    cases=_latents,
    otherwise="Scores with latents plus scores with the turned keys, scaled; then mix the latents.",
    slips="""
        np.sqrt(d_k + d_r) → np.sqrt(latents.shape[-1] + d_r)
            You scaled by the width of the latent and the turned key, which the products now run
            over. The scale is that of the keys of a head: one over the root of d_k + d_r.
        np.sqrt(d_k + d_r) → np.sqrt(d_k)
            You scaled by d_k alone; a key has d_k + d_r coordinates.
        np.sqrt(d_k + d_r) → np.sqrt(latents.shape[-1])
            You scaled by the width of the latent. The scale is that of the keys of a head.
        np.sqrt(d_k + d_r) → np.sqrt(d_r)
            You scaled by d_r alone; a key has d_k + d_r coordinates.
        np.sqrt(d_k + d_r) → np.sqrt(w_v.shape[-1])
            You scaled by the width of a value.
        np.sqrt(d_k + d_r) → (d_k + d_r)
            You divided by d_k + d_r; the scale is one over its root.
        / np.sqrt(d_k + d_r) →
            The scale is missing: scores are divided by the root of d_k + d_r.
        plain + turned → plain
            The turned part is missing: the scores know no positions.
        plain + turned → turned
            The part that is not turned is missing: the scores know positions only.
        (plain + turned) / np.sqrt(d_k + d_r) → plain / np.sqrt(d_k) + turned / np.sqrt(d_r)
            You scaled the two parts apart. They are coordinates of one key, and one scale serves
            both.
        (plain + turned) / np.sqrt(d_k + d_r) → plain / np.sqrt(d_k + d_r) + turned
            You scaled the part with latents alone. Both parts are one score, which is scaled.
        (plain + turned) / np.sqrt(d_k + d_r) → plain + turned / np.sqrt(d_k + d_r)
            You scaled the turned part alone. Both parts are one score, which is scaled.
        plain + turned → plain * turned
            You multiplied the two parts of a score; a product of vectors adds them.
        q @ w_k.mT → q @ w_k.sum(axis=0).mT
            One matrix served all heads, the sum of theirs. Each head has its own.
        q @ w_k.mT → q @ w_k[0].mT
            The key's matrix of the first head served all heads.
        weights @ latents @ w_v → weights @ latents @ w_v[0]
            The value's matrix of the first head served all heads.
        weights @ latents @ w_v → weights @ latents
            You return mixed latents; the output of a head has d_v numbers.
        weights @ latents @ w_v → weights @ latents @ w_k
            You sent the mixed latents through the key's matrix.
        weights @ latents @ w_v → (weights @ latents @ w_v).sum(axis=0)
            You added up the heads; each has an output of its own.
        weights @ latents @ w_v → (weights @ latents @ w_v).mean(axis=0)
            You took the mean of the heads; each has an output of its own.
        weights @ latents @ w_v → np.concatenate(weights @ latents @ w_v, axis=-1)
            You wrote the heads side by side; they stand along the first axis.
        q @ w_k.mT → q @ w_k
            w_k leads from latents to keys. A query goes the other way.
        exps.sum(axis=-1, keepdims=True) → exps.sum(axis=0, keepdims=True)
        scores.max(axis=-1, keepdims=True) → scores.max(axis=0, keepdims=True)
            The weights add up to one over the heads; they should over the tokens.
        exps.sum(axis=-1, keepdims=True) → exps.sum(axis=-2, keepdims=True)
        scores.max(axis=-1, keepdims=True) → scores.max(axis=-2, keepdims=True)
            The weights add up to one over the queries; they should over the tokens.
        exps / exps.sum(axis=-1, keepdims=True) → exps
            Nothing is divided by: the exponentials are not weights yet.
        exps.sum(axis=-1, keepdims=True) → exps.sum(axis=(0, 2), keepdims=True)
        scores.max(axis=-1, keepdims=True) → scores.max(axis=(0, 2), keepdims=True)
            The weights of all heads together add up to one; they should in each head.
        np.exp(scores - scores.max(axis=-1, keepdims=True)) → np.exp(scores)
            Large scores overflow: measure them from the largest of their row.
        np.sqrt(d_k + d_r) → np.sqrt(len(q) * (d_k + d_r))
            You scaled by the width of all heads together; a product runs over one head.
        plain = → upto = np.tri(q.shape[1], len(latents), len(latents) - q.shape[1]) > 0 ; plain =
        plain + turned → np.where(upto, plain + turned, -1e9)
            You took the queries for the last tokens of the text and masked those behind each. Here
            every query attends to all S tokens.
        plain + turned → np.where(np.tri(*plain.shape[1:]) > 0, plain + turned, -1e9)
            You masked later tokens. Here each query attends to all that are in the cache.
    """,
)
def latent_output(
    q: Array, q_turned: Array, w_k: Array, w_v: Array, latents: Array, k_turned: Array
) -> Array:
    """The outputs of all heads, from the latents themselves."""
    plain = q @ w_k.mT @ latents.T
    turned = q_turned @ k_turned.T
    d_k, d_r = q.shape[-1], q_turned.shape[-1]
    scores = (plain + turned) / np.sqrt(d_k + d_r)
    exps = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = exps / exps.sum(axis=-1, keepdims=True)
    return weights @ latents @ w_v


# ---- 22.4 ---------------------------------------------------------------------------------

FULL: dict[str, Any] = {"kind": "full", "heads": 6, "groups": 2, "d_k": 3, "d_v": 5}
WINDOW: dict[str, Any] = {**FULL, "kind": "window", "window": 4}
LATENT: dict[str, Any] = {"kind": "latent", "heads": 6, "d_c": 7, "d_r": 2, "d_k": 3, "d_v": 5}
DELTA: dict[str, Any] = {"kind": "delta", "heads": 6, "groups": 2, "d_k": 3, "d_v": 5, "taps": 4}


def _configurations() -> Iterator[Case]:
    def of(*layers: dict[str, Any], **more: Any) -> Case:
        shown = "; ".join(", ".join(f"{name} {x}" for name, x in one.items()) for one in layers)
        size = more.pop("size", 2)
        said = f"size {size} and layers ({shown.replace('kind ', '')})"
        return case(layers=list(layers), size=size, said=said, **more)

    yield of(FULL, want=(32, 0), why="2 groups, each with a key of 3 and a value of 5 numbers.")
    yield of(WINDOW, want=(0, 96), why="3 tokens before the next one, with 32 bytes each.")
    yield of(LATENT, want=(18, 0), why="A latent of 7 numbers and a rotated key of 2.")
    why = (
        "The state has 6 · 3 · 5 numbers of 4 bytes. A row has 2 · 3 numbers of queries, as many "
        "of keys and 6 · 5 of values, and 4 rows are kept with 2 bytes a number."
    )
    yield of(DELTA, want=(0, 360 + 336), why=why)
    yield of(DELTA, size=1, want=(0, 360 + 168), why=why)
    yield of(FULL, FULL, LATENT, size=4, want=(2 * 64 + 36, 0), why="Layers are added up.")
    every = (FULL, WINDOW, LATENT, DELTA)
    yield of(*every, *every, size=4, why="Layers are added up.")
    yield of(
        {**WINDOW, "window": 1}, want=(0, 0), why="A window of 1 holds the token itself alone."
    )
    yield of({**DELTA, "taps": 1}, want=(0, 360 + 84), why="One row is kept.")
    yield of(
        {**DELTA, "d_k": 4, "d_v": 4, "heads": 8, "groups": 1, "taps": 2}, {**FULL, "groups": 6}
    )
    wide = {"heads": 32, "groups": 32, "d_k": 128, "d_v": 128}
    why = "The default sizes of a published class."
    yield of(*[{"kind": "full", **wide}] * 32, want=(524_288, 0), why=why)
    yield of(*[{**LATENT, "d_c": 512, "d_r": 64}] * 61, want=(70_272, 0), why=why)
    delta = {"kind": "delta", **wide, "groups": 16, "taps": 4}
    full = {"kind": "full", "heads": 16, "groups": 2, "d_k": 256, "d_v": 256}
    yield of(*[delta, delta, delta, full] * 12, want=(24_576, 77_856_768), why=why)
    rng = np.random.default_rng(8)
    for _ in range(10):
        made = []
        for k in rng.integers(0, 4, 4):
            layer = dict(every[k])
            for name in layer.keys() - {"kind"}:
                layer[name] = int(rng.integers(1, 9))
            made.append(layer)
        yield of(*made, size=int(rng.choice([1, 2, 4])))
    yield of(want=(0, 0), why="There may be no layer.")


@exercise(
    "22.4",
    praise="Groups, windows, latents and states, alone and together, and none at all.",
    hints=(
        "For each kind of layer: does what it keeps grow with the text, or not?",
        "A head of a group needs no keys of its own. A window keeps what the next token can still "
        "attend to, besides itself.",
        "Count numbers first, in three sums: those that grow, those that stay, and those of the "
        "states, which have 4 bytes each. A row of the convolution has three parts.",
    ),
    cases=_configurations,
    kind=Several(names=("count of bytes a token adds", "count of bytes that stay"), scalars=True),
    otherwise="Keys and values of groups grow, or stop at a window; latents grow; states stay.",
    slips="""
        grows += G * (d_k + d_v) → grows += H * (d_k + d_v)
            You counted keys and values of all heads; heads of a group share them, and they are
            kept once.
        grows += G * (d_k + d_v) → grows += 2 * H * d_k
            You counted all heads, and values as wide as keys. Groups are kept, with their own
            widths.
        grows += G * (d_k + d_v) → grows += (d_k + d_v)
            You counted one group in a layer of full attention.
        grows += G * (d_k + d_v) → grows += G * 2 * d_k
            You counted values as wide as keys in full attention.
        grows += G * (d_k + d_v) → grows += G * d_k
            You counted the keys and not the values of full attention.
        (w - 1) * G * (d_k + d_v) → w * G * (d_k + d_v)
            A window holds the token itself, which brings its own key: one token fewer is kept.
        (w - 1) * G * (d_k + d_v) → (w + 1) * G * (d_k + d_v)
            You kept w + 1 tokens. The next token attends to itself and to w − 1 before it, and
            only the latter are kept.
        (w - 1) * G * (d_k + d_v) → max(w - 2, 0) * G * (d_k + d_v)
            You kept w − 2 tokens; the next token attends to w − 1 before it.
        (w - 1) * G * (d_k + d_v) → G * (d_k + d_v)
            The width of the window is missing: so many tokens are kept, but one.
        (w - 1) * G * (d_k + d_v) → (w - 1) * G * d_k
            You counted the keys of a window and not its values.
        stays += (w - 1) * G * (d_k + d_v) → pass
            Layers with a window keep something too: the tokens that the next one can attend to.
        (w - 1) * G * (d_k + d_v) → (w - 1) * H * (d_k + d_v)
            In layers with a window you counted all heads; heads of a group share keys and values.
        stays += (w - 1) * G * (d_k + d_v) → grows += G * (d_k + d_v)
            Your layers with a window keep all tokens. Once a text is longer, each new one takes the
            place of an old one.
        grows += layer["d_c"] + layer["d_r"] → grows += layer["d_c"]
            The rotated key is missing: it is not computed from the latent, so it is kept beside it.
        grows += layer["d_c"] + layer["d_r"] → grows += layer["d_c"] + H * layer["d_r"]
            The rotated key is shared by all heads, and kept once.
        grows += layer["d_c"] + layer["d_r"] → grows += 2 * layer["d_c"] + layer["d_r"]
            Keys and values come from one latent, which is kept once.
        layer["d_c"] + layer["d_r"] → 2 * ($)
            You counted a value beside each key. The latent serves both, and the rotated key has no
            value.
        layer["d_c"] + layer["d_r"] → H * ($)
            You counted a latent for each head; all heads read the same.
        layer["d_c"] + layer["d_r"] → H * (d_k + layer["d_r"] + d_v)
            You counted whole keys and values of all heads. They are computed from the latent and
            the rotated key, which alone are kept.
        layer["d_c"] + layer["d_r"] → $ + H * (d_k + d_v)
            You counted keys and values of heads beside the latent. They are computed from it, and
            not kept.
        grows += layer["d_c"] + layer["d_r"] → grows += H * (d_k + d_v)
            You counted the keys and values that a latent makes. They are computed when they are
            needed; the latent is kept.
        states += H * d_k * d_v → states += G * d_k * d_v
            You counted a state for each group; each head has its own, as its values differ.
        states += H * d_k * d_v → states += H * (d_k + d_v)
            A state is a matrix of d_k by d_v numbers; you added the two.
        states += H * d_k * d_v → states += H * d_k * d_k
            You counted a square state; its rows belong to the key, its columns to the value.
        states += H * d_k * d_v → states += d_k * d_v
            You counted one state in a layer; each head has its own.
        states += H * d_k * d_v → pass
            The states are missing.
        + 4 * states → + size * states
            A number of a state has 4 bytes, whatever the others have.
        stays += taps * row → pass
            The rows that the short convolution still needs are missing.
        taps * row → (taps - 1) * row
            You kept one row fewer. The newest row counts among the last taps rows.
        taps * row → (taps + 1) * row
            You kept one row too many. The newest row counts among the last taps rows.
        stays += taps * row → $ ; grows += row
            You let a delta layer add a row for each token. It adds nothing: each new row takes the
            place of the oldest.
        stays += taps * row → grows += row
            You let the rows of the convolution grow with the text. Only the last taps rows are
            kept: each new one takes the place of the oldest.
        taps * row → row
            You kept one row of the convolution; there are as many as taps.
        stays += taps * row → pass ;; + 4 * states → + size * states
            The rows of the short convolution are missing, and a number of a state has 4 bytes.
        (w - 1) * G → w * G ;; taps * row → (taps - 1) * row
            A window of w keeps w − 1 tokens, and the convolution as many rows as taps: you took the
            one for the other.
        stays += taps * row → states += taps * row
            Only the state has 4 bytes a number; the rows of the convolution have `size`.
        2 * G * d_k + H * d_v → G * d_k + H * d_v
            A row of the convolution holds queries, keys and values; you left out queries or keys.
        2 * G * d_k + H * d_v → 2 * G * d_k
            The values are missing in the rows of the convolution.
        2 * G * d_k + H * d_v → H * (2 * d_k + d_v)
            In the rows of the convolution queries and keys stand once for each group, not for each
            head.
        2 * G * d_k + H * d_v → G * (2 * d_k + d_v)
            In the rows of the convolution each head has values of its own.
        return size * grows, size * stays + 4 * states → return grows, stays + states
            You return numbers; bytes are asked for, `size` for each and 4 for those of a state.
        size * grows, size * stays + 4 * states → 8 * size * grows, 8 * size * stays + 32 * states
            You return bits; bytes are asked for.
        size * grows, size * stays + 4 * states → size * stays + 4 * states, size * grows
            The two are exchanged: first what each token adds.
        size * stays + 4 * states → size * (grows + stays) + 4 * states
            You added a token to what stays.
    """,
)
def cache_bytes(layers: Layers, size: int) -> tuple[int, int]:
    """Bytes that each further token adds, and bytes that stay the same."""
    grows = stays = states = 0
    for layer in layers:
        H, d_k, d_v = (layer[name] for name in ("heads", "d_k", "d_v"))
        G, w, taps = (layer.get(name, 0) for name in ("groups", "window", "taps"))
        if layer["kind"] == "full":
            grows += G * (d_k + d_v)
        if layer["kind"] == "window":
            stays += (w - 1) * G * (d_k + d_v)
        if layer["kind"] == "latent":
            grows += layer["d_c"] + layer["d_r"]
        if layer["kind"] == "delta":
            row = 2 * G * d_k + H * d_v
            states += H * d_k * d_v
            stays += taps * row
    return size * grows, size * stays + 4 * states
