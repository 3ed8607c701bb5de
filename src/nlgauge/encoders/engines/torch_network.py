"""The network of a model's folder as transformers has it, with every weight that its vectors depend on."""

from __future__ import annotations

from typing import Any, NamedTuple

from nlgauge.encoders.engines.torch_support import in_precision, quiet, refuse_adapter
from nlgauge.encoders.precision import DEFAULT_PRECISION
from nlgauge.errors import ModelError
from nlgauge.models.resolve import ModelFiles

__all__ = ["Network", "load_network", "padding_id"]


class Network(NamedTuple):
    """A model, and the part of it that encodes: another one where there is a decoder."""

    whole: Any
    encoder: Any


def load_network(torch: Any, transformers: Any, files: ModelFiles, *, precision: str = DEFAULT_PRECISION) -> Network:
    """Read it; weights that are missing or of another shape are refused by name."""
    refuse_adapter(files.path, model=files.name)
    try:
        with quiet(transformers):
            whole, found = transformers.AutoModel.from_pretrained(
                files.path,
                local_files_only=True,
                output_loading_info=True,
                ignore_mismatched_sizes=True,  # reported by name below
                **in_precision(torch, transformers, precision),
            )
    except Exception as error:  # whatever the reader of a file raises
        msg = f"transformers cannot load model {files.name!r}: {error}"
        raise ModelError(msg) from error
    # By structure: config.json of an encoder cut out of such a model does not say what it was.
    encoder = whole.encoder if hasattr(whole, "encoder") and hasattr(whole, "decoder") else whole
    _require_weights(files.name, whole, encoder, found)
    return Network(whole, encoder)


def _require_weights(name: str, whole: Any, encoder: Any, found: dict[str, Any]) -> None:
    """Refuse weights that transformers would replace by random numbers; only a pooler is never used."""
    used = {id(parameter) for parameter in encoder.parameters()}
    parameters = {name: id(parameter) for name, parameter in whole.named_parameters()}
    lost = [*found["missing_keys"], *(entry[0] for entry in found["mismatched_keys"])]
    lost = sorted(one for one in lost if parameters.get(one) in used and "pooler" not in one.split("."))
    if lost:
        more = f" and {len(lost) - 3} more" if len(lost) > 3 else ""
        msg = (
            f"the weights of model {name!r} do not fit its config.json ({encoder.config.model_type!r}): "
            f"missing or of another shape: {', '.join(lost[:3])}{more}"
        )
        raise ModelError(msg)


def padding_id(network: Any) -> int:
    """The token that fills short texts of a batch; families that number positions by it need their own."""
    stated = getattr(network.config, "pad_token_id", None)
    return stated if isinstance(stated, int) and stated >= 0 else 0
