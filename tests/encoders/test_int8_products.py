"""Products of whole numbers: exact sums, at the largest values that can occur, and exactly what the formula says."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from nlgauge.encoders.int8 import Plan, QuantisedBuilder, Rounding, bytes_name, steps_name

INTO, OUT, ROWS = 384, 48, 5


def plan(rounding: Rounding) -> Plan:
    return Plan("tiny", "", "", "", "", {"x": rounding}, {"product": "x"})


def multiply(rounding: Rounding, x: NDArray[np.float32], *, fused: bool, **parameters: Any) -> NDArray[np.float32]:
    """A single product on the engine that its form is for."""
    build = QuantisedBuilder(plan(rounding), fused=fused)
    named = {bytes_name("product"): parameters["whole"], steps_name("product"): parameters["steps"]}
    if "bias" in parameters:
        named["product.bias"] = parameters["bias"]
    scale = parameters.get("scale", 1.0)
    build.linear("x", "product", INTO, OUT, "y", bias="bias" in parameters, scale=scale)
    model = onnx.load_model_from_string(build.finish([("y", OUT)], as_inputs=False).data)
    del model.graph.input[:], model.graph.output[:]
    model.graph.input.append(helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", INTO]))
    model.graph.output.append(helper.make_tensor_value_info("y", TensorProto.FLOAT, ["rows", OUT]))
    kept = [tensor for tensor in model.graph.initializer if tensor.name not in named]
    del model.graph.initializer[:]
    model.graph.initializer.extend([*kept, *(numpy_helper.from_array(value, name) for name, value in named.items())])
    return _on_onnxruntime(model, x) if fused else _on_openvino(model, x)


def _on_onnxruntime(model: onnx.ModelProto, x: NDArray[np.float32]) -> NDArray[np.float32]:
    import onnxruntime

    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    result: NDArray[np.float32] = session.run(None, {"x": x})[0]
    return result


def _on_openvino(model: onnx.ModelProto, x: NDArray[np.float32]) -> NDArray[np.float32]:
    import openvino

    core = openvino.Core()
    network = core.read_model(model.SerializeToString())
    compiled = core.compile_model(network, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    return np.array(compiled({"x": x})[0])


@pytest.fixture(params=[True, False], ids=["onnx", "openvino"])
def fused(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def test_sums_are_exact_at_the_largest_values(fused: bool) -> None:
    # Under `qemu-x86_64 -cpu Haswell` (no VNNI) both are exact too, and with weights up to 127 both are wrong.
    random = np.random.default_rng(0)
    x = random.choice([0, 254, 255], (ROWS, INTO)).astype(np.float32)
    whole = random.choice([-64, 63, 64], (INTO, OUT)).astype(np.int8)
    x[0], whole[:, 0], whole[:, 1] = 255, 64, -64
    result = multiply(Rounding(0.0, 255.0), x, fused=fused, whole=whole, steps=np.ones(OUT, dtype=np.float32))
    assert np.array_equal(result, x.astype(np.int64) @ whole.astype(np.int64))


def test_a_product_is_what_the_formula_says(fused: bool) -> None:
    random = np.random.default_rng(1)
    x = random.normal(size=(ROWS, INTO)).astype(np.float32)
    whole = random.integers(-64, 65, (INTO, OUT)).astype(np.int8)
    steps, bias = random.uniform(0.01, 0.02, OUT), random.normal(size=OUT)
    powers = tuple(int(power) for power in random.integers(-2, 3, INTO))
    rounding = Rounding(-6.0, 9.0, powers)
    result = multiply(
        rounding,
        x,
        fused=fused,
        whole=whole,
        steps=steps.astype(np.float32),
        bias=bias.astype(np.float32),
        scale=0.25,
    )
    step, zero = rounding.grid()
    rounded = np.clip(np.rint(x / 2.0 ** np.array(powers) / np.float32(step)) + zero, 0, 255) - zero
    assert result == pytest.approx(0.25 * (step * steps * (rounded @ whole) + bias), abs=1e-4)


def test_products_that_a_plan_does_not_name_stay_as_they_are() -> None:
    build = QuantisedBuilder(plan(Rounding(-1.0, 1.0)), fused=True)
    build.linear("x", "other", INTO, OUT, "y")
    assert set(build.parameters) == {"other.weight", "other.bias"}
