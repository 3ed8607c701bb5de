"""ONNX weights without torch: the parameters of the exported model, whatever the exporter calls them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from tests.encoders.tiny_models import TINY, tiny_tensors, write_model

from nlgauge.encoders.checkpoint import CheckpointWeights
from nlgauge.encoders.engines.graph_engines import OnnxEncoder
from nlgauge.encoders.graphs.families import encoder_graph, family_of
from nlgauge.encoders.onnx_file import OnnxFile
from nlgauge.encoders.torch_file import UnsafeFileError
from nlgauge.errors import UnsupportedModelError
from nlgauge.io.store.resolve import ModelFiles

#: How exporters write x W^T + b: the name of the node, the name and the form of the weights.
STYLES = ("bias", "node", "transpose", "gemm", "gemm-transposed", "alias")

Arrays = dict[str, NDArray[Any]]


def export(
    config: dict[str, Any], tensors: Arrays, style: str, *, change: Callable[[onnx.GraphProto], None] | None = None
) -> bytes:
    """The graph of a family with its weights inside, and products as one of the exporters writes them."""
    family = family_of(config, model="tiny")
    graph = encoder_graph(family, config, (config["num_hidden_layers"],))
    model = onnx.load_model_from_string(graph.data)
    nodes, initializers = [], {name: tensors[name] for name in graph.parameters}
    for number, node in enumerate(model.graph.node):
        if node.op_type != "Gemm":
            nodes.append(node)
            continue
        x, weight, bias = node.input
        plain, value = f"onnx::MatMul_{number}", f"{node.output[0]}_product"
        path = f"/{weight.removesuffix('.weight').replace('.', '/')}"
        if style in {"gemm", "gemm-transposed"}:
            array = initializers.pop(weight)
            initializers[plain] = array if style == "gemm-transposed" else np.ascontiguousarray(array.T)
            nodes.append(
                helper.make_node("Gemm", [x, plain, bias], node.output, transB=int(style == "gemm-transposed"))
            )
            continue
        if style == "transpose":
            nodes.append(helper.make_node("Transpose", [weight], [plain], perm=[1, 0]))
        else:
            initializers[plain] = np.ascontiguousarray(initializers.pop(weight).T)
        name, added = "", bias
        if style == "node":
            name, added = f"{path}/MatMul", f"onnx::Add_{number}"
            nodes.append(helper.make_node("Identity", [bias], [added]))
        elif style == "alias":
            added = bias
            initializers[f"shared_{number}"] = initializers.pop(bias)
            nodes.append(helper.make_node("Identity", [f"shared_{number}"], [bias]))
        nodes.append(helper.make_node("MatMul", [x, plain], [value], name=name))
        nodes.append(helper.make_node("Add", [added, value], node.output))
    kept = [tensor for tensor in model.graph.initializer if not tensor.external_data]
    del model.graph.node[:], model.graph.initializer[:]
    model.graph.node.extend(nodes)
    model.graph.initializer.extend(kept)
    model.graph.initializer.extend(numpy_helper.from_array(value, name) for name, value in initializers.items())
    if change is not None:
        change(model.graph)
    data: bytes = model.SerializeToString()
    return data


def with_onnx(folder: Path, data: bytes, *, config: dict[str, Any] | None = None, name: str = "model.onnx") -> Path:
    """A model's folder whose weights are an ONNX file."""
    write_model(folder, config or TINY["bert"])
    (folder / "model.safetensors").unlink()
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_bytes(data)
    return folder


def weights(folder: Path, config: dict[str, Any]) -> Arrays:
    family = family_of(config, model="tiny")
    wanted = encoder_graph(family, config, (config["num_hidden_layers"],)).parameters
    return dict(CheckpointWeights(folder, family, model="tiny", engine="onnx").take(wanted))


@pytest.mark.parametrize("kind", ["bert", "mpnet"])
@pytest.mark.parametrize("style", STYLES)
def test_parameters_whatever_the_exporter_calls_them(tmp_path: Path, kind: str, style: str) -> None:
    config = TINY[kind] | {"hidden_size": 24, "intermediate_size": 24, "num_attention_heads": 2}  # all are square
    tensors = tiny_tensors(config)
    read = weights(with_onnx(tmp_path, export(config, tensors, style), config=config), config)
    assert len(read) > 20
    for name, value in read.items():
        np.testing.assert_array_equal(value, tensors[name], err_msg=name)


@pytest.mark.usefixtures("own_cache")
@pytest.mark.parametrize("name", ["model.onnx", "onnx/model.onnx", "small.onnx"])
def test_vectors_are_those_of_the_safetensors_file(tmp_path: Path, name: str) -> None:
    config = TINY["bert"]
    folders = [
        write_model(tmp_path / "safe", config),
        with_onnx(tmp_path / "onnx", export(config, tiny_tensors(config), "bias"), name=name),
    ]
    ids = np.arange(5, 13)[None]
    first, second = (OnnxEncoder(ModelFiles("tiny", folder), threads=1).encode(ids, (0, 2, 4)) for folder in folders)
    for safe, read in zip(first, second, strict=True):
        np.testing.assert_array_equal(safe, read)


@pytest.mark.parametrize("kind", [np.float16, np.float64])
def test_other_floats_are_converted(tmp_path: Path, kind: Any) -> None:
    tensors = {name: value.astype(kind) for name, value in tiny_tensors(TINY["bert"]).items()}
    read = weights(with_onnx(tmp_path, export(TINY["bert"], tensors, "bias")), TINY["bert"])
    assert all(value.dtype == np.float32 for value in read.values())
    np.testing.assert_array_equal(
        read["encoder.layer.0.output.dense.weight"],
        tensors["encoder.layer.0.output.dense.weight"].astype(np.float32),
    )


def test_scaled_product_is_refused(tmp_path: Path) -> None:
    def scale(graph: onnx.GraphProto) -> None:
        node = next(node for node in graph.node if node.op_type == "Gemm")
        node.attribute.append(helper.make_attribute("alpha", 0.5))

    folder = with_onnx(tmp_path, export(TINY["bert"], tiny_tensors(TINY["bert"]), "gemm", change=scale))
    with pytest.raises(UnsupportedModelError, match="scales its weight or bias"):
        weights(folder, TINY["bert"])


# External data


def external(
    data: bytes, *, location: str, offset: int | None = None, length: int | None = None
) -> tuple[bytes, bytes]:
    """Move the weights of a file to a second one; `offset` and `length` falsify those of the word vectors."""
    model, body = onnx.load_model_from_string(data), b""
    for tensor in [tensor for tensor in model.graph.initializer if tensor.raw_data]:
        place = {"location": location, "offset": len(body), "length": len(tensor.raw_data)}
        if tensor.name == "embeddings.word_embeddings.weight":
            place |= {key: value for key, value in (("offset", offset), ("length", length)) if value is not None}
        body += tensor.raw_data
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
        for key, value in place.items():
            tensor.external_data.add(key=key, value=str(value))
    head: bytes = model.SerializeToString()
    return head, body


@pytest.mark.parametrize("data_name", ["model.onnx.data", "model.onnx_data"])
def test_external_data_is_read_and_in_the_digest(tmp_path: Path, data_name: str) -> None:
    tensors = tiny_tensors(TINY["bert"])
    head, body = external(export(TINY["bert"], tensors, "bias"), location=data_name)
    folder = with_onnx(tmp_path, head)
    (folder / data_name).write_bytes(body)
    read = weights(folder, TINY["bert"])
    for name, value in read.items():
        np.testing.assert_array_equal(value, tensors[name], err_msg=name)
    digest = ModelFiles("tiny", folder).weights_digest
    (folder / data_name).write_bytes(body[:-1] + b"?")
    assert ModelFiles("tiny", folder).weights_digest != digest


@pytest.mark.parametrize(
    ("location", "place", "message"),
    [
        ("../secret", {}, "in '../secret', which is not a data file of the model"),
        ("/etc/passwd", {}, "in '/etc/passwd', which is not a data file"),
        ("config.json", {}, "in 'config.json', which is not a data file"),
        ("model.onnx.data", {"offset": 10**9}, "beyond the end of 'model.onnx.data'"),
        ("model.onnx.data", {"offset": -4}, "with a wrong place"),
        ("model.onnx.data", {"length": 4}, "of 4 bytes, which do not fit its shape"),
    ],
)
def test_external_data_elsewhere_or_of_another_size_is_refused(
    tmp_path: Path, location: str, place: dict[str, int], message: str
) -> None:
    head, body = external(export(TINY["bert"], tiny_tensors(TINY["bert"]), "bias"), location=location, **place)
    folder = with_onnx(tmp_path / "model", head)
    (tmp_path / "secret").write_bytes(body)
    (folder / "model.onnx.data").write_bytes(body)
    with pytest.raises(UnsupportedModelError, match=message):
        weights(folder, TINY["bert"])


def test_a_shape_of_many_axes_is_refused_at_once(tmp_path: Path) -> None:
    """The product of its sizes would have millions of digits."""
    model = onnx.load_model_from_string(export(TINY["bert"], tiny_tensors(TINY["bert"]), "bias"))
    for stored in model.graph.initializer:
        if stored.name == "embeddings.word_embeddings.weight":
            stored.dims.extend([2**62] * 100_000)
    folder = with_onnx(tmp_path / "model", model.SerializeToString())
    with pytest.raises(UnsupportedModelError, match=r"do not fit its shape"):
        weights(folder, TINY["bert"])


# What is refused


def quantise(graph: onnx.GraphProto) -> None:
    graph.node.append(helper.make_node("DynamicQuantizeLinear", ["ids"], ["q", "scale", "zero"]))


def fuse(graph: onnx.GraphProto) -> None:
    gone = "onnx::MatMul"
    nodes = [node for node in graph.node if not any(name.startswith(gone) for name in node.input)]
    del graph.node[:]
    graph.node.extend([*nodes, helper.make_node("Attention", ["ids"], ["y"], domain="com.microsoft")])


def rename(graph: onnx.GraphProto) -> None:
    for tensor in graph.initializer:
        if tensor.name.startswith("encoder."):
            tensor.name = "val_" + tensor.name[:12] + str(hash(tensor.name) % 997)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (quantise, r"refused to read model\.onnx of model 'tiny'.*quantised weights \(DynamicQuantizeLinear\)"),
        (fuse, r"lacks the weight .* optimised for an engine \(Attention\); export it again without"),
        (rename, r"lacks the weight .* do not follow the model's parameters"),
    ],
)
def test_graphs_without_the_parameters_are_refused_with_a_reason(
    tmp_path: Path, change: Callable[[onnx.GraphProto], None], message: str
) -> None:
    folder = with_onnx(tmp_path, export(TINY["bert"], tiny_tensors(TINY["bert"]), "bias", change=change))
    with pytest.raises(Exception, match=message):
        weights(folder, TINY["bert"])


@pytest.mark.parametrize(
    "data", [b"", b"\x00\x01", b"version https://git-lfs.github.com/spec/v1\n", b"\x3a\xff\xff\xff\x0f"]
)
def test_files_that_are_no_onnx_are_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "model.onnx").write_bytes(data)
    with pytest.raises(UnsafeFileError, match=r"message|damaged"):
        OnnxFile(tmp_path / "model.onnx")


def test_every_truncation_is_an_error_and_never_another_model(tmp_path: Path) -> None:
    data = export(TINY["bert"], tiny_tensors(TINY["bert"]), "bias")
    for length in range(0, len(data), len(data) // 40):
        path = tmp_path / "model.onnx"
        path.write_bytes(data[:length])
        with pytest.raises(UnsafeFileError):
            OnnxFile(path)
