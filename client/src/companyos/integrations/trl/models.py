"""Which model learns: a small Qwen on a GPU, by Unsloth where it is installed; without a GPU one made on the spot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from companyos.integrations.trl.demonstrations import Conversation
from companyos.integrations.trl.spec import CompanyOSSpec
from companyos.integrations.trl.tiny import tiny_model, tiny_tokenizer

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

TINY = "tiny"
ON_GPU = "Qwen/Qwen2.5-1.5B-Instruct"
CONTEXT = 16_384
_RANK = 16
_PROJECTIONS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
"""What is adapted; never the last layer, which the embedding shares its weights with."""


@dataclass
class Learner:
    """A model with its tokenizer; `peft_config` is for a trainer to adapt it by, None where it learns as it is."""

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    peft_config: Any = None

    def take(self, model: PreTrainedModel) -> None:
        """Go on with what a trainer has made of the model; adapted once, it is not adapted again."""
        self.model, self.peft_config = model, None

    def save(self, folder: Path) -> None:
        """Keep both where `load` finds them."""
        self.model.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)


def has_gpu() -> bool:
    """Say whether there is a GPU that PyTorch can use."""
    import torch

    return bool(torch.cuda.is_available())


def default_model() -> str:
    """Return what is trained where nobody says."""
    return ON_GPU if has_gpu() else TINY


def load(name: str | Path, *, seed: int = 0, spec: CompanyOSSpec, shown: Sequence[Conversation] = ()) -> Learner:
    """Return a learner: a name on the Hub, a folder, or `tiny`, whose words come from what it will be shown."""
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

    # AutoTokenizer takes the tokenizer of any Qwen for Qwen's own, which cuts a text at other places than the tiny one.
    kind = PreTrainedTokenizerFast if (Path(name) / "tokenizer.json").is_file() else AutoTokenizer
    tokenizer = kind.from_pretrained(name)
    if not has_gpu():
        return Learner(AutoModelForCausalLM.from_pretrained(name), tokenizer)
    from peft import LoraConfig

    model = AutoModelForCausalLM.from_pretrained(name, dtype="bfloat16", device_map="cuda")
    adapted = LoraConfig(r=_RANK, lora_alpha=2 * _RANK, target_modules=_PROJECTIONS, task_type="CAUSAL_LM")
    return Learner(model, tokenizer, None if hasattr(model, "peft_config") else adapted)
