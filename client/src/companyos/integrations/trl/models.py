"""Tiny models that train on a CPU, with a tokenizer for the vocabulary of the conversations."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from companyos.integrations.trl.demonstrations import Conversation
from companyos.integrations.trl.language import SHORT_NAME
from companyos.integrations.trl.spec import CompanyOSSpec

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase, PreTrainedTokenizerFast


VOCABULARY_SIZE = 4_000
"""Number of learned tokens, besides those that represent a whole text."""

PHRASE_FREQUENCY = 20
"""A phrase becomes a token if at least one in this many conversations contains it."""

MAX_LENGTH = 4_096
_WIDTH, _LAYERS = 64, 2

_START, _END, _PAD = "<|im_start|>", "<|im_end|>", "<|endoftext|>"
_TEMPLATE = "qwen2_5.jinja"
_MARKS = (
    "assistant\n",
    "user\n",
    "user\n<tool_response>\n",
    "\n</tool_response>",
    "<tool_call>\n",
    "\n</tool_call>",
)
"""Markers that the template writes around every message."""


def tiny_tokenizer(shown: Sequence[Conversation], tools: Sequence[Callable[..., Any]]) -> PreTrainedTokenizerFast:
    """Return a tokenizer with Qwen 2.5's chat template, trained on conversations.

    A short name is one token, and so is the common start of every prompt including the tools: a model of this size
    cannot read schemas.
    """
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast
    from trl import chat_template_utils

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(SHORT_NAME.pattern), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY_SIZE,
        min_frequency=max(2, len(shown) // PHRASE_FREQUENCY),
        special_tokens=[_PAD, _START, _END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(_texts(shown), trainer)
    made = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token=_END, pad_token=_PAD, model_max_length=MAX_LENGTH, padding_side="left"
    )
    made.chat_template = (chat_template_utils._CHAT_TEMPLATES_DIR / _TEMPLATE).read_text(encoding="utf-8")
    made.add_tokens([*_constants(made, shown[0].messages[0], tools), *_names(shown)])
    return made


def tiny_model(tokenizer: PreTrainedTokenizerFast, *, seed: int) -> PreTrainedModel:
    """Return an untrained Qwen 2 model with a few hundred thousand parameters."""
    from transformers import Qwen2Config, Qwen2ForCausalLM, set_seed

    set_seed(seed)
    config = Qwen2Config(
        vocab_size=len(tokenizer),
        hidden_size=_WIDTH,
        intermediate_size=2 * _WIDTH,
        num_hidden_layers=_LAYERS,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=MAX_LENGTH,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    return Qwen2ForCausalLM(config)


def _texts(shown: Iterable[Conversation]) -> Iterable[str]:
    """Yield the texts of conversations, with calls as the template writes them."""
    for conversation in shown:
        for message in conversation.messages[1:]:
            yield message["content"]
            for call in message.get("tool_calls", ()):
                function = call["function"]
                yield f'{{"name": "{function["name"]}", "arguments": {json.dumps(function["arguments"])}}}'


def _constants(
    tokenizer: PreTrainedTokenizerFast, system: dict[str, Any], tools: Sequence[Callable[..., Any]]
) -> Iterable[str]:
    """Yield the texts that every prompt repeats: the system message with the tools, and the turn markers."""
    text = tokenizer.apply_chat_template([system], tools=list(tools), tokenize=False)
    yield text.removesuffix("\n").removeprefix(_START).removesuffix(_END)
    yield from _MARKS


def _names(shown: Sequence[Conversation]) -> list[str]:
    """Return the short names in conversations."""
    return sorted({name for text in _texts(shown) for name in SHORT_NAME.findall(text)})


TINY = "tiny"
ON_GPU = "Qwen/Qwen2.5-1.5B-Instruct"
CONTEXT = 16_384
_RANK = 16
_PROJECTIONS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
"""Layers with an adapter; the output layer has none, because it shares its weights with the embedding."""


@dataclass
class Learner:
    """A model with its tokenizer; `peft_config` is the adapter configuration, None for full training."""

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    peft_config: Any = None

    def replace_model(self, model: PreTrainedModel) -> None:
        """Replace the model with the trained one, without adapting it again."""
        self.model, self.peft_config = model, None

    def save(self, folder: Path) -> None:
        """Save model and tokenizer for `load`."""
        self.model.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)


def has_gpu() -> bool:
    """Return whether PyTorch can use a GPU."""
    import torch

    return bool(torch.cuda.is_available())


def default_model() -> str:
    """Return the default model name."""
    return ON_GPU if has_gpu() else TINY


def load(name: str | Path, *, seed: int = 0, spec: CompanyOSSpec, shown: Sequence[Conversation] = ()) -> Learner:
    """Load a learner: a name on the Hub, a folder, or `tiny`, whose vocabulary comes from the conversations."""
    if name == TINY:
        tokenizer = tiny_tokenizer(shown, spec.tools(spec.rows[0]))
        return Learner(tiny_model(tokenizer, seed=seed), tokenizer)
    if has_gpu() and find_spec("unsloth") is not None:
        return _by_unsloth(str(name), seed)
    return _by_transformers(str(name))


def _by_unsloth(name: str, seed: int) -> Learner:
    from unsloth import FastLanguageModel

    model, tokenizer = FastLanguageModel.from_pretrained(name, max_seq_length=CONTEXT, load_in_4bit=True)
    if not hasattr(model, "peft_config"):
        model = FastLanguageModel.get_peft_model(
            model, r=_RANK, lora_alpha=2 * _RANK, target_modules=_PROJECTIONS, random_state=seed
        )
    return Learner(model, tokenizer)


def _by_transformers(name: str) -> Learner:
    from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedTokenizerFast

    # AutoTokenizer replaces the tokenizer of any Qwen model with Qwen's own, which splits text differently.
    kind = PreTrainedTokenizerFast if (Path(name) / "tokenizer.json").is_file() else AutoTokenizer
    tokenizer = kind.from_pretrained(name)
    if not has_gpu():
        return Learner(AutoModelForCausalLM.from_pretrained(name), tokenizer)
    from peft import LoraConfig

    model = AutoModelForCausalLM.from_pretrained(name, dtype="bfloat16", device_map="cuda")
    lora_config = LoraConfig(r=_RANK, lora_alpha=2 * _RANK, target_modules=_PROJECTIONS, task_type="CAUSAL_LM")
    return Learner(model, tokenizer, None if hasattr(model, "peft_config") else lora_config)
