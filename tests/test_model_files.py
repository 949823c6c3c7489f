"""Files of parameters, ours and those under other libraries' names: whole, or refused by name."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from test_models import CHOICES, GPT, SMALL, in_torch, model
from tformer.models.files import WeightsError, load, save
from tformer.models.names import named_by
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
    both = EncoderDecoderParameters(model(), model(replace(SMALL, crossed=True)))
    save(tmp_path / "both", both, GPT)
    assert isinstance(load(tmp_path / "both")[0], EncoderDecoderParameters)
    assert sorted(x.name for x in tmp_path.iterdir())[-1] == "both"


def test_a_damaged_or_foreign_file_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "m"
    save(path, model(), GPT)
    whole = path.read_bytes()
    for cut in (0, 4, 100, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:cut])
        with pytest.raises(WeightsError, match="cannot be read as safetensors"):
            load(path)
    with pytest.raises(WeightsError, match="cannot be read"):
        load(tmp_path / "absent")
    save_file({"a": np.ones(3)}, path)
    with pytest.raises(WeightsError, match="not a file that save wrote"):
        load(path)
    arrays, about = dict(named_leaves(model())), {"kind": "ModelParameters", "configuration": "{}"}
    wrong = [
        (arrays | {"more": np.ones(2)}, "no place for more"),
        ({k: x for k, x in arrays.items() if k != "embedding"}, "embedding is missing"),
        (
            {k: x for k, x in arrays.items() if k != "blocks.1.heads.w_q"},
            "blocks.1.heads.w_q is mis",
        ),
        ({k: x for k, x in arrays.items() if ".1." not in k}, "blocks must be numbered from 0"),
    ]
    for names, words in wrong:
        save_file(names, path, about)
        with pytest.raises(WeightsError, match=words):
            load(path)
    save_file(arrays, path, about | {"configuration": '{"norm": "batch"}'})
    with pytest.raises(WeightsError, match=r'the configuration in .* norm must be "layer"'):
        load(path)


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
        (lambda s: s | {"score.weight": np.ones(3)}, "no place for score.weight"),
        (lambda s: {k: x for k, x in s.items() if k != "wte.weight"}, "wte.weight is missing"),
        (lambda s: {k: x for k, x in s.items() if "c_fc.w" not in k}, "h.0.mlp.c_fc.weight is mis"),
        (lambda s: {k.replace("h.0", "h.1"): x for k, x in s.items()}, "numbered from 0"),
        (lambda s: {}, "numbered from 0"),
        (lambda s: s | {"h.0.attn.c_proj.weight": np.ones(8)}, "w_o needs 2 axes"),
    ],
)
def test_a_state_dict_of_another_library_is_taken_whole_or_refused(change: Any, words: str) -> None:
    given: Mapping[str, Any] = change(state())
    if not words:
        assert named_by("gpt2", given, n_heads=2).blocks[0].heads.w_q.shape == (2, 8, 4)
        return
    with pytest.raises(WeightsError, match=f"^named_by: .*{words}"):
        named_by("gpt2", given, n_heads=2)


def test_a_naming_or_number_of_heads_that_does_not_fit_is_refused() -> None:
    with pytest.raises(WeightsError, match="naming must be one of gpt2, llama; got 'bert'"):
        named_by("bert", state(), n_heads=2)
    with pytest.raises(WeightsError, match="of width 8 has no 3 heads"):
        named_by("gpt2", state(), n_heads=3)
