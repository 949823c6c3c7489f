"""Files of parameters, ours and those under other libraries' names: whole, or refused by name."""

import hashlib
import json
import multiprocessing
import resource
import signal
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import save as as_bytes
from safetensors.numpy import save_file

from test_models import CHOICES, GPT, SMALL, in_torch, model
from tformer.checksums import BLANK, with_checksum
from tformer.models.files import WeightsError, load, save
from tformer.models.state_dicts import from_state_dict
from tformer.parameters import EncoderDecoderParameters, named_leaves


def test_a_model_comes_back_from_its_file(tmp_path: Path) -> None:
    for i, (sizes, configuration) in enumerate(CHOICES):
        made, path = model(sizes, configuration), tmp_path / f"{i}.safetensors"
        save(path, in_torch(made) if i % 2 else made, configuration)
        found, said = load(path)
        assert said == configuration
        pairs = zip(named_leaves(found), named_leaves(made), strict=True)
        for (name, one), (other_name, other) in pairs:
            assert name == other_name
            np.testing.assert_array_equal(one, other)
    both = EncoderDecoderParameters(model(), model(replace(SMALL, has_cross_attention=True)))
    save(tmp_path / "both", both, GPT)
    assert isinstance(load(tmp_path / "both")[0], EncoderDecoderParameters)
    assert sorted(x.name for x in tmp_path.iterdir())[-1] == "both"


def forged(path: Path, arrays: Mapping[str, Any], **about: str) -> Path:
    """A file whose checksum is right, whatever is in it."""
    path.write_bytes(with_checksum(as_bytes(dict(arrays)), about))
    return path


def test_a_damaged_or_foreign_file_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "m"
    save(path, model(), GPT)
    whole = path.read_bytes()
    for cut in (0, 4, 100, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:cut])
        with pytest.raises(WeightsError, match="is not a file that save wrote, whole"):
            load(path)
    with pytest.raises(WeightsError, match="cannot be read"):
        load(tmp_path / "absent")
    save_file({"a": np.ones(3)}, path)
    with pytest.raises(WeightsError, match="it has no checksum"):
        load(path)
    with pytest.raises(WeightsError, match="no kind of model in it"):
        load(forged(path, {"a": np.ones(3)}))
    arrays, said = dict(named_leaves(model())), json.dumps(asdict(GPT))
    table, gain = arrays["embedding"], arrays["norm.gain"]
    spoilt = np.where(np.arange(24) == 7, np.nan, gain)
    wrong = [
        (arrays | {"more": np.ones(2)}, "unexpected: more"),
        ({k: x for k, x in arrays.items() if k != "embedding"}, "embedding is missing"),
        (
            {k: x for k, x in arrays.items() if k != "blocks.1.heads.w_q"},
            "blocks.1.heads.w_q is mis",
        ),
        ({k: x for k, x in arrays.items() if ".1." not in k}, "blocks must be numbered from 0"),
        ({k: x for k, x in arrays.items() if k != "positions"}, "positions is None"),
        (arrays | {"norm.gain": spoilt}, "norm.gain has numbers that are not finite"),
        (arrays | {"norm.gain": gain + np.inf}, "norm.gain has numbers that are not finite"),
        (arrays | {"norm.gain": np.ones(24, int)}, "norm.gain must hold floating-point numbers"),
        (arrays | {"embedding": table.T.copy()}, "axis d_model is 17 in embedding but 24 in blo"),
        (arrays | {"norm.gain": gain[:, None]}, r"norm.gain needs 1 axis \(d_model\)"),
    ]
    for names, words in wrong:
        with pytest.raises(WeightsError, match=f"^load: .*{words}"):
            load(forged(path, names, kind="ModelParameters", configuration=said))
    for text, words in [
        ('{"norm": "batch"}', 'norm must be "layer"'),
        ("{", "the configuration in"),
        ("[1]", "the configuration in"),
        ('{"eps": "small"}', "eps must be a number"),
        ("[" * 9999, "the configuration in"),
    ]:
        with pytest.raises(WeightsError, match=words):
            load(forged(path, arrays, kind="ModelParameters", configuration=text))


def test_no_flipped_bit_is_read(tmp_path: Path) -> None:
    """In each byte of its length, in every seventh of the header and in some of the numbers."""
    path, rng = tmp_path / "m", np.random.default_rng(0)
    tiny = replace(SMALL, n_vocab=3, d_model=4, n_layers=1, n_heads=1, d_ff=2)
    save(path, model(tiny), GPT)
    whole = path.read_bytes()
    head = 8 + int.from_bytes(whole[:8], "little")
    for place in [*range(8), *range(8, head, 7), *rng.integers(head, len(whole), 50)]:
        damaged = bytearray(whole)
        damaged[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        with pytest.raises(WeightsError, match="is not a file that save wrote, whole"):
            load(path)


def test_headers_that_are_none_are_refused_though_their_checksum_is_right(tmp_path: Path) -> None:
    path = tmp_path / "m"
    save(path, model(), GPT)
    data = path.read_bytes()
    for change in (
        lambda head: head | {"embedding": 7},
        lambda head: head | {"embedding": {"dtype": "F64"}},
        lambda head: head | {"embedding": head["embedding"] | {"dtype": "BF16"}},
        lambda head: head | {"embedding": head["embedding"] | {"dtype": "F99"}},
        lambda head: head | {"embedding": head["embedding"] | {"shape": [-1, 2]}},
        lambda head: head | {"embedding": head["embedding"] | {"data_offsets": [0, 10**15]}},
        lambda head: head | {"__metadata__": {"sha256": "", "kind": 3}},
        lambda head: {"__metadata__": head["__metadata__"]},
    ):
        path.write_bytes(with_header(data, change))
        with pytest.raises(WeightsError, match=r"^load: "):
            load(path)


def with_header(data: bytes, change: Any) -> bytes:
    """A file with another header, and the checksum that belongs to it."""
    size = int.from_bytes(data[:8], "little")
    changed = change(json.loads(data[8 : 8 + size]))
    changed["__metadata__"]["sha256"] = BLANK
    head = json.dumps(changed, separators=(",", ":")).encode()
    head += b" " * (-len(head) % 8)
    whole = len(head).to_bytes(8, "little") + head + data[8 + size :]
    return whole.replace(BLANK.encode(), hashlib.sha256(whole).hexdigest().encode(), 1)


def test_what_cannot_be_loaded_is_not_saved_and_what_was_there_stays(tmp_path: Path) -> None:
    path = tmp_path / "m"
    save(path, model(), GPT)
    before, made = path.read_bytes(), model()
    spoilt = replace(made, embedding=np.full((17, 24), np.inf))
    for parameters, configuration, words in [
        (spoilt, GPT, "embedding has numbers that are not finite"),
        (replace(made, positions=None), GPT, "positions is None"),
        (made.blocks[0], GPT, "must be ModelParameters or EncoderDecoderParameters; got BlockPar"),
        (in_torch(made, torch.bfloat16), GPT, "BFloat16"),
        (replace(made, embedding=np.ones((17, 9))), GPT, "axis d_model is 9 in embedding but 24"),
    ]:
        with pytest.raises(WeightsError, match=f"^save: .*{words}"):
            save(path, parameters, configuration)
    with pytest.raises(WeightsError, match="was not written"):
        save(tmp_path / "absent" / "m", made, GPT)
    assert path.read_bytes() == before
    assert [x.name for x in tmp_path.iterdir()] == ["m"]


def test_without_room_the_file_before_stays(tmp_path: Path) -> None:
    """Files may have no more than so many bytes: writing stops in the middle, as on a full disk."""
    path = tmp_path / "m"
    save(path, model(), GPT)
    before = path.read_bytes()

    def full() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) // 2, len(before) // 2))
        with pytest.raises(WeightsError, match="was not written: "):
            save(path, model(std=0.1), GPT)

    child = multiprocessing.get_context("fork").Process(target=full)
    child.start()
    child.join()
    assert child.exitcode == 0
    assert path.read_bytes() == before
    assert [x.name for x in tmp_path.iterdir()] == ["m"]


def state() -> dict[str, Any]:
    """A state dict in GPT-2's names, of one block."""
    of_block = {
        "ln_1.weight": (8,),
        "ln_1.bias": (8,),
        "attn.c_attn.weight": (8, 24),
        "attn.c_attn.bias": (24,),
        "attn.c_proj.weight": (8, 8),
        "attn.c_proj.bias": (8,),
        "ln_2.weight": (8,),
        "ln_2.bias": (8,),
        "mlp.c_fc.weight": (8, 32),
        "mlp.c_fc.bias": (32,),
        "mlp.c_proj.weight": (32, 8),
        "mlp.c_proj.bias": (8,),
    }
    outer = {"wte.weight": (5, 8), "wpe.weight": (6, 8), "ln_f.weight": (8,), "ln_f.bias": (8,)}
    return {
        k: np.ones(s) for k, s in ({f"h.0.{k}": s for k, s in of_block.items()} | outer).items()
    }


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda s: s | {"h.0.attn.bias": np.ones(3)}, ""),
        (lambda s: {f"transformer.{k}": x for k, x in s.items()}, ""),
        (lambda s: s | {"score.weight": np.ones(3)}, "unexpected: score.weight"),
        (lambda s: {k: x for k, x in s.items() if k != "wte.weight"}, "wte.weight is missing"),
        (lambda s: {k: x for k, x in s.items() if "c_fc.w" not in k}, "h.0.mlp.c_fc.weight is mis"),
        (lambda s: {k.replace("h.0", "h.1"): x for k, x in s.items()}, "numbered from 0"),
        (lambda s: {}, "numbered from 0"),
        (lambda s: s | {"h.0.attn.c_proj.weight": np.ones(8)}, "w_o needs 2 axes"),
        (lambda s: s | {"h.0.attn.c_attn.weight": np.ones((8, 25))}, "has 25 columns"),
        (lambda s: s | {"h.0.mlp.c_fc.weight": np.ones((32, 8))}, "axis d_model is 8 .* but 32"),
        (lambda s: s | {"wpe.weight": np.ones((6, 9))}, "axis d_model is 8 .* but 9 in positions"),
        (lambda s: s | {"h.0.ln_1.bias": np.ones(4)}, "but 4 in blocks.0.heads_norm.bias"),
    ],
)
def test_a_state_dict_of_another_library_is_taken_whole_or_refused(change: Any, words: str) -> None:
    given: Mapping[str, Any] = change(state())
    if not words:
        assert from_state_dict("gpt2", given, n_heads=2).blocks[0].heads.w_q.shape == (2, 8, 4)
        return
    with pytest.raises(WeightsError, match=f"^from_state_dict: .*{words}"):
        from_state_dict("gpt2", given, n_heads=2)


def test_names_may_have_something_in_front_and_matrices_lie_either_way() -> None:
    """As nanoGPT saves what it has compiled: linear layers, and a prefix before all names."""
    rng = np.random.default_rng(0)
    own = {name: rng.standard_normal(x.shape) for name, x in state().items()}
    right = dict(named_leaves(from_state_dict("gpt2", own, n_heads=2)))
    for front in ("", "module.", "_orig_mod.transformer.", "module._orig_mod.transformer."):
        linear = {front + k: x.T if "attn.c" in k or "mlp" in k else x for k, x in own.items()}
        for given in ({front + k: x for k, x in own.items()}, linear):
            found = from_state_dict("gpt2", given, n_heads=2)
            assert all((x == right[name]).all() for name, x in named_leaves(found))
        half = linear | {front + "h.0.mlp.c_fc.weight": own["h.0.mlp.c_fc.weight"]}
        with pytest.raises(WeightsError, match=r"axis d_model is 8 in embedding but 32 in"):
            from_state_dict("gpt2", half, n_heads=2)
    twice = own | {"module.wte.weight": own["wte.weight"]}
    with pytest.raises(WeightsError, match=r"two of wte.weight, one of them module.wte.weight"):
        from_state_dict("gpt2", twice, n_heads=2)


def test_a_naming_or_number_of_heads_that_does_not_fit_is_refused() -> None:
    with pytest.raises(WeightsError, match="naming must be one of gpt2, llama; got 'bert'"):
        from_state_dict("bert", state(), n_heads=2)
    with pytest.raises(WeightsError, match="of width 8 cannot be split into 3 heads"):
        from_state_dict("gpt2", state(), n_heads=3)
