"""Measure the real model in four bits: python benchmarks/real_model.py [table | memories]

SmolLM2-135M-Instruct writes on from one prompt: the package transformers in float32, `tformer.fast`
in float32 and in the four bits of the file, with a cache and by reading all tokens again, in turns.
llama.cpp writes too, from the same file, if the package llama-cpp-python is installed.
Then memory, each in a process of its own, and how far the logits of four bits are from float32.

The time is that of the processor, since the machine may be busy; of all turns the least counts.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any
from unittest import mock

import numpy as np
import torch
from attention import ONE_THREAD, RESULTS, _machine
from torch.nn.functional import cross_entropy
from transformers import LlamaConfig, LlamaForCausalLM

from tformer import fast
from tformer.models import from_pretrained, generate
from tformer.models.pretrained import PretrainedModel
from tformer.parameters import leaves, tree_map
from tformer.pretrained import checkpoint
from tformer.pretrained.wheel import path

FILE = RESULTS / "real_model.json"
TURNS, NEW, AGAIN = 3, 16, 2
PROMPTS = (32, 128)
LLAMA = "llama.cpp"
WAYS = (
    "transformers",
    "fast, 32 bits",
    "fast, 4 bits",
    *((LLAMA,) if find_spec("llama_cpp") else ()),
)
TEXT = (
    "The history of the steam engine begins long before the eighteenth century, when water was "
    "first lifted by fire from the mines of Cornwall. Thomas Newcomen built a machine that "
    "filled a cylinder with steam and then cooled it, so that the pressure of the air drove the "
    "piston down. It was slow and burned a great deal of coal, but it could work day and night "
    "without rest. James Watt saw that most of the heat was lost because the same cylinder was "
    "heated and cooled in turn. He added a second vessel, which stayed cold, and the engine "
    "needed only a third of the coal. In the years that followed, engines turned wheels, moved "
    "ships, and at last pulled trains across the country."
)


def theirs() -> LlamaForCausalLM:
    """The same numbers in the other library, in float32."""
    found = checkpoint()
    about = found.architecture
    config = LlamaConfig(
        vocab_size=about.n_vocab,
        hidden_size=about.d_model,
        num_hidden_layers=about.n_layers,
        num_attention_heads=about.n_heads,
        num_key_value_heads=about.n_groups,
        intermediate_size=about.d_ff,
        rms_norm_eps=about.eps,
        max_position_embeddings=about.n_context,
        rope_parameters={"rope_type": "default", "rope_theta": about.base},
        tie_word_embeddings=True,
        eos_token_id=None,
        bos_token_id=None,
        pad_token_id=0,
    )
    with torch.device("meta"):
        made = LlamaForCausalLM(config)
    state = {name: torch.from_numpy(x) for name, x in found.common("half").items()}
    state["lm_head.weight"] = state["model.embed_tokens.weight"]
    made.load_state_dict(state, assign=True)
    made.model.rotary_emb = type(made.model.rotary_emb)(config)
    return made.eval()


def ours(bits: int) -> PretrainedModel:
    """The model as tensors."""
    found = from_pretrained(bits=bits)
    if bits == 4:
        return found
    return found._replace(parameters=tree_map(torch.from_numpy, found.parameters))


def llama() -> Any:
    """The same file in llama.cpp, as its plain kernels read it; those for AMX fail here."""
    library = import_module("llama_cpp")
    settings = library.llama_model_default_params()
    settings.use_extra_bufts = False
    with mock.patch("llama_cpp.llama_cpp.llama_model_default_params", return_value=settings):
        return library.Llama(str(path()), n_ctx=512, n_threads=1, n_threads_batch=1, verbose=False)


def read_by_llama(model: Any, tokens: list[int], before: int = 0) -> int:
    """Read tokens after the first `before` of the cache; return the likeliest next one."""
    model.n_tokens = before
    model.eval(tokens)
    logits = import_module("llama_cpp").llama_get_logits(model.ctx)
    return int(np.ctypeslib.as_array(logits, (model.n_vocab(),)).argmax())


def made(name: str) -> Any:
    """The model of a way."""
    if name == LLAMA:
        return llama()
    return theirs() if name == WAYS[0] else ours(4 if "4" in name else 32)


def written(model: Any, tokens: torch.Tensor, n: int, cached: bool) -> list[int]:
    """The n likeliest tokens after a prompt; of a pass without a cache only the last logits."""
    if isinstance(model, LlamaForCausalLM):
        asked = {"max_new_tokens": n, "min_new_tokens": n, "do_sample": False, "use_cache": cached}
        return model.generate(tokens[None], **asked)[0, len(tokens) :].tolist()
    if not isinstance(model, PretrainedModel):
        text = tokens.tolist()
        for i in range(n):
            known = len(text) - 1 if cached and i else 0
            text.append(read_by_llama(model, text[known:], known))
        return text[len(tokens) :]
    p, c = model.parameters, model.configuration
    if cached:
        return [*generate(fast.cached_decoder, tokens, p, c, n)]
    full = tokens
    for _ in range(n):
        hidden = fast.encoder(full, p, c, fast.causal_mask(len(full), len(full)))
        token = fast.unembed(hidden[-1:], p).argmax(-1)
        full = torch.cat([full, token])
    return full[len(tokens) :].tolist()


def measure() -> dict[str, Any]:
    """All of it."""
    models = {name: made(name) for name in WAYS}
    text = torch.tensor(models[WAYS[2]].tokenizer.encode(TEXT))
    seconds: dict[str, dict[str, list[float]]] = {name: {} for name in WAYS}
    texts: dict[str, list[int]] = {}
    for turn in range(TURNS + 1):  # the first is not counted
        for n in PROMPTS:
            for cached, new in ((True, NEW), (False, AGAIN)):
                for name, model in models.items():
                    began = time.process_time()
                    texts[f"{name}, {n}, {cached}"] = written(model, text[:n], new, cached)
                    took = (time.process_time() - began) / new
                    if turn:
                        way = f"{'cached' if cached else 'again'} {n}"
                        seconds[name].setdefault(way, []).append(round(took, 5))
    steps = {name: decoding(model, text[: PROMPTS[0]]) for name, model in models.items()}
    for _ in range(10 * TURNS):
        for name in WAYS:
            began = time.process_time()
            steps[name]()
            took = round(time.process_time() - began, 5)
            seconds[name].setdefault("step", []).append(took)
    return {
        "machine": _machine("cpu"),
        "load": os.getloadavg()[0],
        "seconds": seconds,
        "texts": texts,
        "logits": logits(models[WAYS[1]], models[WAYS[2]], text),
        "memory": {name: memory(name) for name in WAYS},
    }


def decoding(model: Any, tokens: torch.Tensor) -> Callable[[], None]:
    """One more token after a prompt that is in the cache."""
    one = tokens[-1:]
    if isinstance(model, LlamaForCausalLM):
        past = model(tokens[None], use_cache=True).past_key_values

        def step() -> None:
            model(one[None], past_key_values=past, use_cache=True)
            past.crop(-1)

        return step
    if not isinstance(model, PretrainedModel):
        read_by_llama(model, tokens.tolist())
        return lambda: (read_by_llama(model, one.tolist(), len(tokens)), None)[1]
    p, c = model.parameters, model.configuration
    caches = fast.cached_decoder(tokens, p, c)[1]
    return lambda: (fast.cached_decoder(one, p, c, caches), None)[1]


def logits(exact: PretrainedModel, coarse: PretrainedModel, text: torch.Tensor) -> dict[str, float]:
    """How far the logits of four bits are from those of float32 of the same file."""
    y = fast.decoder(text, exact.parameters, exact.configuration)
    z = torch.cat([x for x, _ in steps(coarse, text)])
    p, difference = y.log_softmax(-1), (z - y).abs()
    return {
        "tokens": len(text),
        "largest": y.abs().max().item(),
        "worst": difference.max().item(),
        "root mean square": difference.square().mean().sqrt().item(),
        "divergence": (p.exp() * (p - z.log_softmax(-1))).sum(-1).mean().item(),
        "loss, 32 bits": cross_entropy(y[:-1], text[1:]).item(),
        "loss, 4 bits": cross_entropy(z[:-1], text[1:]).item(),
        "same likeliest": (y.argmax(-1) == z.argmax(-1)).float().mean().item(),
    }


def steps(model: PretrainedModel, text: torch.Tensor) -> list[Any]:
    """The logits of each token of a text, read one by one with a cache."""
    found: list[Any] = []
    for token in text.split(1):
        caches = found[-1][1] if found else None
        found.append(fast.cached_decoder(token, model.parameters, model.configuration, caches))
    return found


def memory(name: str) -> dict[str, float]:
    """Megabytes: of parameters, and by how much a process grew that loaded them and wrote."""
    command = [sys.executable, __file__, "memory", name]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def _resident() -> float:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def tell_memory(name: str) -> None:
    """Print what `memory` reads."""
    before = _resident()
    model = made(name)
    written(model, torch.arange(PROMPTS[0]) + 500, 8, True)
    total, grown = held(model) / 1e6, _resident() - before
    print(json.dumps({"parameters": round(total, 1), "grown": round(grown, 1)}))


def held(model: Any) -> int:
    """Bytes of the parameters, tied ones once; llama.cpp maps the file."""
    if isinstance(model, LlamaForCausalLM):
        found = [*model.parameters()]
    elif isinstance(model, PretrainedModel):
        found = leaves(model.parameters)
    else:
        return path().stat().st_size
    return sum(
        {
            (x.packed if isinstance(x, fast.QuantisedMatrix) else x).data_ptr(): x.nbytes
            for x in found
        }.values()
    )


def table(found: dict[str, Any]) -> str:
    """The tables for people, as Markdown."""
    about, least = (
        found["machine"],
        {
            name: {way: min(times) for way, times in ways.items()}
            for name, ways in found["seconds"].items()
        },
    )
    packages = ", ".join(f"{name} {number}" for name, number in about["packages"].items())
    parts = [
        "# The real model in four bits, measured\n",
        "Written by `python benchmarks/real_model.py`; see decision 053.\n",
        f"{about['processor']}; one thread; Python {about['python']}, {packages}.",
        f"The machine was busy: load {found['load']:.1f} on {about['cores']} cores.",
        f"Processor time in turns, the least of {TURNS} (of one more token {10 * TURNS}).\n",
        "SmolLM2-135M-Instruct, greedy. Tokens a second, and times transformers:",
        f"one more token after a prompt of {PROMPTS[0]}; {NEW} tokens with a cache, the pass over",
        f"the prompt with them; {AGAIN} tokens, each by a pass over all tokens before it, of which",
        "only the last logits are computed.\n",
    ]
    ways = ["step", *(f"{how} {n}" for n in PROMPTS for how in ("cached", "again"))]
    heads = ["one more", *(f"{how}, {n}" for n in PROMPTS for how in ("cache", "no cache"))]
    parts += [f"| | {' | '.join(heads)} |", "|:--" + "|--:" * len(ways) + "|"]
    theirs_ = least[WAYS[0]]
    for name in least:
        cells = [f"{1 / least[name][x]:.1f} ({theirs_[x] / least[name][x]:.2f})" for x in ways]
        parts.append(f"| {name} | {' | '.join(cells)} |")
    parts += ["\n| | parameters, MB | process, MB | times transformers |", "|:--|--:|--:|--:|"]
    for name in least:
        one, first = found["memory"][name], found["memory"][WAYS[0]]
        shares = " and ".join(f"{one[k] / first[k]:.2f}" for k in one)
        parts.append(f"| {name} | {one['parameters']} | {one['grown']} | {shares} |")
    said, texts = found["logits"], found["texts"]
    same = [n for n in PROMPTS if len({str(texts[f"{x}, {n}, True"]) for x in least}) == 1]
    parts += [
        "\nLogits of four bits against float32 of the same file,",
        f"{said['tokens']} tokens read one by one: largest difference {said['worst']:.2f}",
        f"(the largest logit is {said['largest']:.1f}), root mean square",
        f"{said['root mean square']:.3f}, divergence {said['divergence']:.5f} nats a token,",
        f"loss {said['loss, 4 bits']:.4f} against {said['loss, 32 bits']:.4f},",
        f"the same likeliest token in {said['same likeliest']:.3f}. All write the same",
        f"{NEW} tokens after prompts of: {', '.join(map(str, same)) or 'none'}.",
        "llama.cpp was compiled for this machine; weights stay as in the file (no AMX)."
        if LLAMA in least
        else "llama.cpp was not measured.",
    ]
    return "\n".join(parts) + "\n"


def main(chosen: list[str]) -> None:
    """Measure, unless only the table is asked for, and write it."""
    torch.set_num_threads(1)
    with torch.no_grad():
        if chosen[:1] == ["memory"]:
            tell_memory(chosen[1])
            return
        if chosen == ["memories"]:  # the rest stays as it was
            found = json.loads(FILE.read_text(encoding="utf-8"))
            found["memory"] = {name: memory(name) for name in found["seconds"]}
            FILE.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        elif chosen != ["table"]:
            FILE.write_text(json.dumps(measure(), indent=1) + "\n", encoding="utf-8")
    found = json.loads(FILE.read_text(encoding="utf-8"))
    (RESULTS.parent / "real_model.md").write_text(table(found), encoding="utf-8")


if __name__ == "__main__":
    if os.environ.get("OPENBLAS_NUM_THREADS") != "1":
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | ONE_THREAD)
    main(sys.argv[1:])
