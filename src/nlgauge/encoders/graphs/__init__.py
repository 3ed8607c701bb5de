"""ONNX graphs of encoders, written from a `config.json` without torch."""
