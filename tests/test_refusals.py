"""What is refused: by which function, which argument, in the same words in both libraries."""

import inspect
import re
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

from cases import FUNCTIONS, LAYERS, VALUES_NEEDED, arguments, make, only, to_torch
from every import every, try_each
from tformer import fast, reference
from tformer.configuration import Configuration
from tformer.docstrings import documented
from tformer.layer_configuration import LayerConfiguration, Routing, Streams
from tformer.parameters import HeadParameters, KVCache


def ones(array: Callable) -> HeadParameters:
    return HeadParameters(*[array([[[1.0]]])] * 4)


BAD: dict[str, Callable] = {
    "integers": lambda m, a: m.softmax(a([0, 1])),
    "no array": lambda m, a: m.softmax([0.0, 1.0]),
    "two dtypes": lambda m, a: m.dot(a([1.0]), a([1.0], "float32")),
    "beta of 0": lambda m, a: m.softmax(a([0.0]), beta=0),
    "beta below 0": lambda m, a: m.logsumexp(a([0.0]), beta=-1.0),
    "beta infinite": lambda m, a: m.log_softmax(a([0.0]), beta=float("inf")),
    "beta undefined": lambda m, a: m.softmax_jacobian(a([1.0]), beta=float("nan")),
    "beta too large for float32": lambda m, a: m.softmax(a([0.0], "float32"), beta=1e300),
    "beta a string": lambda m, a: m.softmax_vjp(a([1.0]), a([1.0]), beta="1"),
    "no such axis": lambda m, a: m.entropy(a([1.0]), axis=1),
    "number without axes": lambda m, a: m.softmax(a(1.0)),
    "widths differ": lambda m, a: m.pairwise_dot(a([[1.0]]), a([[1.0, 2.0]])),
    "token too large": lambda m, a: m.cooccurrence(a([0, 3]), 3, 1),
    "token too small": lambda m, a: m.cooccurrence(a([0, -2]), 3, 1),
    "tokens not integers": lambda m, a: m.cooccurrence(a([0.0]), 3, 1),
    "window of 0": lambda m, a: m.cooccurrence(a([0]), 3, 0),
    "table not square": lambda m, a: m.ppmi(a([[1.0, 2.0]])),
    "vectors too wide": lambda m, a: m.svd_embeddings(a([[1.0]]), 2),
    "mask not boolean": lambda m, a: m.attention(*[a([[1.0]])] * 3, mask=a([[1.0]])),
    "mask too narrow": lambda m, a: m.attention(*[a([[1.0]] * 3)] * 3, mask=a([[True, True]])),
    "attention of integers": lambda m, a: m.attention(*[a([[1]])] * 3),
    "mask of integers": lambda m, a: m.attention_vjp(*[a([[1.0]])] * 4, mask=a([[1]])),
    "bias of booleans": lambda m, a: m.attention_weights(*[a([[1.0]])] * 2, bias=a([[True]])),
    "a value too many": lambda m, a: m.attention(*[a([[1.0]])] * 2, a([[1.0]] * 2)),
    "scale of 0": lambda m, a: m.attention(*[a([[1.0]])] * 3, scale=0),
    "scale below 0": lambda m, a: m.attention_weights(*[a([[1.0]])] * 2, scale=-1.0),
    "scale undefined": lambda m, a: m.attention_vjp(*[a([[1.0]])] * 4, scale=float("nan")),
    "weights as a tuple": lambda m, a: m.qk_circuit((a([[[1.0]]]),) * 4),
    "weights of integers": lambda m, a: m.ov_circuit(HeadParameters(*[a([[[1]]])] * 4)),
    "weights of two dtypes": lambda m, a: m.multi_head_attention(a([[1.0]], "float32"), ones(a)),
    "words too wide": lambda m, a: m.multi_head_attention(a([[1.0, 2.0]]), ones(a)),
    "memory too wide": lambda m, a: m.multi_head_weights(a([[1.0]]), ones(a), a([[1.0, 2.0]])),
    "mask of other keys": lambda m, a: m.multi_head_attention(
        a([[1.0]] * 2), ones(a), mask=a([[True] * 3])
    ),
    "gradient of other keys": lambda m, a: m.project_vjp(
        a([[1.0]] * 2), ones(a), a([[[1.0]] * 2]), *[a([[[1.0]] * 3])] * 2
    ),
    "cache of other groups": lambda m, a: m.extend_cache(
        KVCache(*[a([[[1.0]]] * 2)] * 2), *[a([[[1.0]]])] * 2
    ),
    "heads not in groups": lambda m, a: m.grouped_attention(
        a([[[1.0]]] * 3), *[a([[[1.0]]] * 2)] * 2
    ),
    "causal by a number": lambda m, a: m.multi_head_weights(a([[1.0]]), ones(a), causal=1),
    "bias without heads": lambda m, a: m.multi_head_attention(a([[1.0]]), ones(a), bias=a([[0.0]])),
    "no queries known": lambda m, a: m.causal_mask(-1, 2),
    "offset below 0": lambda m, a: m.causal_attention(*[a([[1.0]])] * 3, offset=-1),
    "offset of a fraction": lambda m, a: m.causal_mask(2, 2, offset=0.5),
    "window of nothing": lambda m, a: m.sliding_window_mask(2, 2, 0),
    "rounds of nothing": lambda m, a: m.sinkhorn(a([[0.0]]), n_rounds=0),
    "logits not square": lambda m, a: m.sinkhorn(a([[0.0, 1.0]])),
    "weights of other streams": lambda m, a: m.read_streams(a([[[1.0]]]), a([[1.0, 2.0]])),
    "mixed into other streams": lambda m, a: m.write_streams(
        *(a(x) for x in ([[[1.0]]], [[1.0]], [[1.0]], [[[1.0, 2.0]]]))
    ),
    "no such expert": lambda m, a: m.hash_routing(a([[1.0]]), a([[1]]), Routing(1)),
    "an expert below 0": lambda m, a: m.hash_routing_vjp(
        a([[1.0]]), a([[-1]]), Routing(1), a([[1.0]])
    ),
    "capacity below 0": lambda m, a: m.drop_overflow(a([[1.0]]), -1),
    "prefix below 0": lambda m, a: m.prefix_mask(2, 2, -1),
    "lengths of floats": lambda m, a: m.padding_mask(a([1.0]), 2),
    "documents of booleans": lambda m, a: m.packed_mask(a([True]), a([1])),
    "additive mask of booleans": lambda m, a: m.from_additive(a([[True]])),
    "finite fill": lambda m, a: m.from_additive(a([[0.0, -1e9]])),
    "finite fill of float16": lambda m, a: m.from_additive(a([[0.0, -65504.0]], "float16")),
    "fill of NaN": lambda m, a: m.from_additive(a([[0.0, float("nan")]])),
    "hidden by +inf": lambda m, a: m.from_additive(a([[0.0, float("inf")]])),
    "mask of numbers": lambda m, a: m.to_additive(a([[0.0]])),
    "influence of integers": lambda m, a: m.count_leaks(a([[1]]), a([[True]])),
    "temperature of 0": lambda m, a: m.temperature(a([0.0]), tau=0),
    "no word to stay": lambda m, a: m.top_k(a([0.0]), k=0),
    "nucleus of nothing": lambda m, a: m.top_p(a([0.0]), p=0.0),
    "nucleus of more than all": lambda m, a: m.top_p(a([0.0]), p=1.5),
    "share above 1": lambda m, a: m.min_p(a([0.0]), p=2),
    "share in percent, a string": lambda m, a: m.min_p(a([0.0]), p="5 %"),
    "numbers to draw by of integers": lambda m, a: m.sample(a([0.0]), a([0])),
    "odd width of waves": lambda m, a: m.sinusoidal(a([0]), 3),
    "positions of floats": lambda m, a: m.sinusoidal(a([0.0]), 2),
    "base of 0": lambda m, a: m.sinusoidal(a([0]), 2, base=0.0),
    "interpolation below 0": lambda m, a: m.sinusoidal(a([0]), 2, interpolation=-1.0),
    "odd width to turn": lambda m, a: m.rope(a([[1.0]]), a([[1.0]])),
    "unknown pairing": lambda m, a: m.rope(a([[1.0, 2.0]]), a([[0.0, 1.0]]), "neighbours"),
    "no pairing": lambda m, a: m.rope_vjp(a([[1.0, 2.0]]), a([[0.0, 1.0]]), None),
    "waves of other positions": lambda m, a: m.rope(a([[1.0, 2.0]]), a([[0.0, 1.0]] * 2)),
    "odd width to permute": lambda m, a: m.rope_permutation(3),
    "row too large": lambda m, a: m.embedding(a([0, 3]), a([[1.0]] * 3)),
    "row below 0": lambda m, a: m.embedding(a([0, -1]), a([[1.0]] * 3)),
    "row of an empty table": lambda m, a: m.embedding_vjp(a([0]), a([[]]).mT, a([[1.0]])),
    "no distance of zero": lambda m, a: m.relative_bias(a([[1.0, 2.0]]), 2, 2),
    "no heads": lambda m, a: m.alibi_slopes(0),
    "pairing an array": lambda m, a: m.rope(*[a([[1.0, 2.0]])] * 2, np.array(["half", "half"])),
    "pairing an empty array": lambda m, a: m.rope_vjp(*[a([[1.0, 2.0]])] * 2, np.array([])),
    "a class for a count": lambda m, a: m.causal_mask(2, np.int64),
    "a class for an axis": lambda m, a: m.softmax(a([1.0]), axis=int),
    "tokens for a table without rows": lambda m, a: m.embedding(a([0]), a([[]]).reshape(0, 1)),
    "mask of other keys, backwards": lambda m, a: m.multi_head_attention_vjp(
        a([[1.0]] * 2), ones(a), a([[1.0]] * 2), mask=a([[True] * 3])
    ),
    "infinite entry": lambda m, a: m.svd_embeddings(a([[float("inf")]]), 1),
}


@pytest.mark.parametrize("call", BAD.values(), ids=BAD)
def test_bad_input_is_refused_in_the_same_words(call: Callable) -> None:
    def array(values: object, dtype: str | None = None) -> np.ndarray:
        return np.array(values, dtype)

    def tensor(values: object, dtype: str | None = None) -> torch.Tensor:
        return torch.from_numpy(array(values, dtype))

    with pytest.raises((TypeError, ValueError)) as first:
        call(reference, array)
    with pytest.raises((TypeError, ValueError)) as second:
        call(fast, tensor)
    assert first.type is second.type
    assert re.match(r"\w+: ", str(first.value))
    words = str(second.value).replace("torch.Tensor", "numpy.ndarray").replace("torch.", "")
    assert words == str(first.value)


SMALL = {
    **{"n_queries": 2, "n_keys": 3, "window": 2, "n_prefix": 1, "n_heads": 2, "offset": 0},
    "capacity": 1,
    "n_rounds": 2,
    **{"n_vocab": 4, "d_model": 2, "d_k": 4, "block": 2, "period": 2, "k": 2, "p": 0.5, "cap": 3.0},
}
SIZES = {
    "T": 2,
    "S": 3,
    "d_k": 4,
    "d_v": 2,
    "N": 3,
    "H": 2,
    "G": 1,
    "d_model": 4,
    "d_ff": 5,
    "n_ctx": 7,
    **{"n_experts": 6, "d_e": 8, "d_c": 9, "d_q": 10, "d_r": 4, "n_taps": 11, "d_x": 12},
    **{"n_streams": 2, "n_groups": 2, "n_series": 2, "n_window": 1, "n_index": 3, "d_i": 5},
    "n_chosen": 2,
}
MADE: dict[Any, Any] = {Configuration: Configuration(), Routing: Routing(top_k=2)}
MADE |= {LayerConfiguration: LayerConfiguration(routing=Routing(top_k=2), index_top_k=1)}
MADE |= {Streams: Streams()}
"""A value of each class of choices, by which arguments are annotated."""
ODD: dict[str, Any] = {
    "a list": [1.0],
    "None": None,
    "an array": np.ones((2, 4)),
    "words in an array": np.array(["adjacent", "half"]),
    "an empty array": np.ones(0),
    "a number of NumPy": np.float64("nan"),
    "a tensor": torch.ones(2, 4),
    "a tensor of a number": torch.tensor(1.0),
    "a word": "x",
    "a class": int,
    "true": True,
    "an object": object(),
}


def given_for(module: ModuleType, name: str, device: str = "cpu") -> dict[str, Any]:
    """Arguments that a function takes."""
    said = documented(getattr(reference, name))
    taken = inspect.signature(getattr(reference, name)).parameters
    numbers: dict[str, Any] = {x: SMALL[x] for x in SMALL if x in said.ranges}
    numbers |= {key: MADE[x.annotation] for key, x in taken.items() if x.annotation in MADE}
    one_mixer = only("attention") if name in LAYERS else {}
    arrays = make(name, SIZES, [()] * len(said.names), numbers | one_mixer).arrays
    if module is fast:
        tensors = {key: to_torch(x, "float64").to(device) for key, x in arrays.items()}
        return arguments(tensors) | numbers
    return arguments(arrays) | numbers


@every("module", [reference, fast])
@every("name", FUNCTIONS)
def test_whatever_is_given_for_an_argument_is_taken_or_refused_by_name(
    module: ModuleType, name: str
) -> None:
    right, function = given_for(module, name), getattr(module, name)

    def refused(argument: str, odd: Any) -> None:
        try:
            function(**right | {argument: odd})
        except (TypeError, ValueError) as error:
            if not str(error).startswith(f"{name}: "):
                raise

    parameters = inspect.signature(function).parameters
    pairs = [(argument, kind) for argument in parameters for kind in ODD]
    try_each(refused, (((a, kind), (a, ODD[kind])) for a, kind in pairs))


@every("name", VALUES_NEEDED)
def test_who_looks_at_values_says_so_where_there_are_none(name: str) -> None:
    with pytest.raises(TypeError, match=rf"^{name}: \w+ must hold values; got a tensor on the dev"):
        getattr(fast, name)(**given_for(fast, name, "meta"))


@every("name", ["embedding", "embedding_vjp"])
def test_a_table_without_rows_says_that_it_has_none(name: str) -> None:
    for module in (reference, fast):
        given = given_for(module, name)
        with pytest.raises(ValueError, match=rf"^{name}: table has no rows, so tokens must be emp"):
            getattr(module, name)(**given | {"table": given["table"][:0]})
        given["tokens"] = given["tokens"][..., :0]
        given |= {"grad": given["grad"][..., :0, :]} if "grad" in given else {}
        assert not getattr(module, name)(**given | {"table": given["table"][:0]}).sum()
