"""Small random models of each family, made and saved by transformers, with tokenizers of the kind the family has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tokenizers
from tests.encoders.tiny_models import write_tokenizer
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers

#: What the vocabularies are made from.
CORPUS = [
    "the committee repaired twenty ferries because nobody wrote letters about the storm",
    "yet wages of museum guards in Göteborg rose to 3.14 per minute; it isn't naïve at all",
    "The cat sat on the red ferry, late! The dogs ran early, and the storm was blue.",
    "unknown unknowns were waiting in the harbour; 7 of them sat down, 12 did not",
]

#: Sizes that most configurations share; kept odd, so that no two of them can be taken for each other.
_SIZES = {
    "hidden_size": 24,
    "intermediate_size": 40,
    "num_attention_heads": 3,
    "num_hidden_layers": 3,
    "max_position_embeddings": 60,
    "vocab_size": 300,
}
_DISTILBERT = {
    "dim": 24,
    "hidden_dim": 40,
    "n_heads": 3,
    "n_layers": 3,
    "max_position_embeddings": 60,
    "vocab_size": 300,
}
_V3 = {
    "relative_attention": True,
    "position_buckets": 8,
    "max_relative_positions": -1,
    "norm_rel_ebd": "layer_norm",
    "share_att_key": True,
    "pos_att_type": ["p2c", "c2p"],
    "position_biased_input": False,
    "type_vocab_size": 0,
    "layer_norm_eps": 1e-7,
}

#: Name -> (prefix of transformers' classes, tokenizer, configuration).
SHAPES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "bert": ("Bert", "wordpiece", {}),
    "bert-multilingual": ("Bert", "wordpiece", {"num_attention_heads": 4, "hidden_size": 32, "type_vocab_size": 3}),
    "roberta": ("Roberta", "bytes", {"pad_token_id": 1, "type_vocab_size": 1, "layer_norm_eps": 1e-5}),
    "roberta-pad-0": ("Roberta", "bytes", {"pad_token_id": 0, "num_hidden_layers": 2, "num_attention_heads": 1}),
    "roberta-pad-5": ("Roberta", "bytes", {"pad_token_id": 5, "intermediate_size": 24, "num_attention_heads": 8}),
    "xlm-roberta": ("XLMRoberta", "sentencepiece", {"pad_token_id": 1, "type_vocab_size": 1, "layer_norm_eps": 1e-5}),
    "xlm-roberta-wide": ("XLMRoberta", "sentencepiece", {"hidden_size": 64, "num_attention_heads": 2}),
    "camembert": ("Camembert", "sentencepiece", {"pad_token_id": 1, "num_hidden_layers": 1}),
    "distilbert": ("DistilBert", "wordpiece", _DISTILBERT),
    "distilbert-sinusoidal": ("DistilBert", "wordpiece", _DISTILBERT | {"sinusoidal_pos_embds": True, "n_layers": 5}),
    "electra": ("Electra", "wordpiece", {"embedding_size": 24}),
    "electra-narrow": ("Electra", "wordpiece", {"embedding_size": 10, "num_attention_heads": 4}),
    "electra-wide": ("Electra", "wordpiece", {"embedding_size": 36, "num_hidden_layers": 1, "type_vocab_size": 5}),
    "deberta-v3": ("DebertaV2", "sentencepiece", _V3),
    "deberta-v3-buckets": ("DebertaV2", "sentencepiece", _V3 | {"position_buckets": 13, "num_attention_heads": 4}),
    "deberta-v2-xlarge": (
        "DebertaV2",
        "sentencepiece",
        _V3 | {"conv_kernel_size": 3, "conv_act": "gelu", "attention_head_size": 8, "pos_att_type": "p2c|c2p"},
    ),
    "deberta-own-projections": (
        "DebertaV2",
        "sentencepiece",
        {
            "relative_attention": True,
            "pos_att_type": ["c2p", "p2c"],
            "type_vocab_size": 2,
            "embedding_size": 16,
            "max_relative_positions": 7,
            "conv_kernel_size": 5,
        },
    ),
    "deberta-c2p": (
        "DebertaV2",
        "sentencepiece",
        {"relative_attention": True, "pos_att_type": ["c2p"], "position_buckets": 6, "norm_rel_ebd": "none"},
    ),
    "deberta-p2c": (
        "DebertaV2",
        "sentencepiece",
        {"relative_attention": True, "pos_att_type": ["p2c"], "num_attention_heads": 1, "num_hidden_layers": 1},
    ),
    "deberta-absolute": ("DebertaV2", "sentencepiece", {"relative_attention": False, "pos_att_type": ["c2p"]}),
    "modernbert": ("ModernBert", "bytes", {"local_attention": 8, "hidden_size": 32, "num_attention_heads": 4}),
    "modernbert-every-2": (
        "ModernBert",
        "bytes",
        {
            "local_attention": 5,
            "global_attn_every_n_layers": 2,
            "hidden_size": 36,
            "num_hidden_layers": 5,
            "global_rope_theta": 500.0,
            "local_rope_theta": 20.0,
        },
    ),
    "modernbert-global": (
        "ModernBert",
        "bytes",
        {"global_attn_every_n_layers": 1, "norm_bias": True, "attention_bias": True, "mlp_bias": True},
    ),
    "modernbert-listed": (
        "ModernBert",
        "bytes",
        {
            "layer_types": ["sliding_attention", "full_attention", "sliding_attention"],
            "local_attention": 2,
            "num_attention_heads": 2,
            "rope_parameters": {
                "full_attention": {"rope_type": "default", "rope_theta": 300.0},
                "sliding_attention": {"rope_type": "default", "rope_theta": 40.0},
            },
        },
    ),
}


def save_random(folder: Path, shape: str, *, head: str = "Model", half: str | None = None, seed: int = 0) -> Path:
    """A model's folder as transformers writes it; every weight is random, and large enough to matter."""
    import torch
    import transformers

    family, kind, changes = SHAPES[shape]
    sizes = {} if family == "DistilBert" else _SIZES
    padding = {"pad_token_id": 0} if "pad_token_id" not in changes and family != "XLMRoberta" else {}
    own = {"cls_token_id": 0, "sep_token_id": 0} if family == "ModernBert" else {}
    around = {"bos_token_id": 0, "eos_token_id": 0}
    config = getattr(transformers, f"{family}Config")(**(sizes | padding | around | own | changes))
    torch.manual_seed(seed)
    # Nothing brings the sums of a network back to size that normalises before each of them.
    spread = 0.2 if family == "ModernBert" else 0.3
    model = getattr(transformers, family + head)(config).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            scale = "norm" in name.lower() and name.endswith("weight")
            weight.normal_(mean=1.0 if scale else 0.0, std=spread)
    if half is not None:
        model = model.to(getattr(torch, half))
    transformers.utils.logging.disable_progress_bar()
    model.save_pretrained(folder)
    write_family_tokenizer(folder, kind)
    return folder


def write_family_tokenizer(folder: Path, kind: str) -> None:
    """WordPiece (BERT), byte-level BPE (RoBERTa, ModernBERT) or SentencePiece's unigrams (XLM-R, DeBERTa-v3)."""
    if kind == "wordpiece":
        write_tokenizer(folder, max_length=None)
        return
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    if kind == "bytes":
        tokenizer = tokenizers.Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        trainer: Any = trainers.BpeTrainer(
            vocab_size=300,
            special_tokens=special,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        )
    else:
        tokenizer = tokenizers.Tokenizer(models.Unigram())
        tokenizer.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC()])
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
        tokenizer.decoder = decoders.Metaspace()
        trainer = trainers.UnigramTrainer(
            vocab_size=160, special_tokens=special, unk_token="<unk>", show_progress=False
        )
    tokenizer.train_from_iterator(CORPUS, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    save_tokenizer(tokenizer, folder)


def save_tokenizer(tokenizer: tokenizers.Tokenizer, folder: Path) -> None:
    """As transformers writes it."""
    import transformers

    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", pad_token="<pad>", unk_token="<unk>"
    ).save_pretrained(folder)
