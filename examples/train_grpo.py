"""Train an agent in CompanyOS: `python examples/train_grpo.py sft`, then `grpo`, then `eval`.

    sft     supervised warm-up on demonstrations of the scripted oracle
    grpo    reinforcement learning from episode returns, calmest level first
    eval    evaluation on held-out tasks

On a GPU the model is Qwen 2.5 1.5B, with Unsloth if installed. Without a GPU it is a tiny model created from scratch.
Output is written to --out, with metrics.jsonl and curves.png. Without --url a local server is started. In a clone,
`make train-setup` installs the requirements; elsewhere, `pip install 'companyos[server,trl]'`.
"""

import argparse
import json
import os
from pathlib import Path
from typing import Any

os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")

from companyos.integrations.trl import CompanyOSSpec
from companyos.integrations.trl.curves import draw_curves, read_curve
from companyos.integrations.trl.demonstrations import demonstrate, essential_turns, write_conversations
from companyos.integrations.trl.language import Language, ShortNames
from companyos.integrations.trl.models import TINY, default_model, load
from companyos.integrations.trl.rollouts import play
from companyos.integrations.trl.training import METRICS, reinforce, warm_up

HELD_OUT, SHOWN, TRAINED = 0, 1_000, 2_000  # first seeds of the three phases


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("sft", "grpo", "eval"))
    parser.add_argument("--url", help="URL of a running server (default: start a local one)")
    parser.add_argument("--model", help=f"model name on the Hub, a folder, or `{TINY}` (default: by the GPU)")
    parser.add_argument(
        "--scenario", nargs="+", default=["bug_escalation"], help="scenarios to play (default: bug_escalation)"
    )
    parser.add_argument(
        "--chaos", nargs="+", type=int, default=[0], help="chaos levels in training order, such as 0 1 2 (default: 0)"
    )
    parser.add_argument("--episodes", type=int, default=100, help="per scenario and level (default: %(default)s)")
    parser.add_argument("--steps", type=int, default=100, help="training steps (default: %(default)s)")
    parser.add_argument(
        "--batch", type=int, default=16, help="rollouts, or at most 8 demonstrations, per step (default: %(default)s)"
    )
    parser.add_argument("--split", help="eval: use the tasks of this split (default: held-out seeds)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the training (default: %(default)s)")
    parser.add_argument("--out", type=Path, default=Path("runs/grpo"), help="output folder (default: %(default)s)")
    args = parser.parse_args()
    args.model = args.model or default_model()
    {"sft": sft, "grpo": grpo, "eval": evaluate}[args.what](args)


def sft(args: argparse.Namespace) -> None:
    with spec_of(args, SHOWN) as spec:
        demonstrations = demonstrate(spec, spec.rows, choose=essential_turns if args.model == TINY else None)
        shown = [demonstration.conversation for demonstration in demonstrations]
        write_conversations(args.out / "demonstrations.jsonl", shown)
        learner = load(args.model, seed=args.seed, spec=spec, shown=shown)
        rates: dict[str, Any] = {
            "learning_rate": 6e-3 if args.model == TINY else 2e-4,
            "lr_scheduler_type": "constant_with_warmup",
        }
        size: dict[str, Any] = {
            "max_steps": args.steps,
            "per_device_train_batch_size": min(args.batch, 8),
            "warmup_steps": 20,
        }
        warm_up(learner, shown, spec, args.out / "sft", seed=args.seed, **rates, **size)
        learner.save(args.out / "sft")
    print(f"{len(shown)} demonstrations learned, {args.out / 'sft'}")


def grpo(args: argparse.Namespace) -> None:
    warmed = args.out / "sft"
    with spec_of(args, TRAINED) as spec:
        if args.model == TINY and not warmed.exists():
            raise SystemExit("run `sft` first: an untrained tiny model cannot be trained with grpo")
        learner = load(warmed if warmed.exists() else args.model, seed=args.seed, spec=spec)
        settings = SMALL if args.model == TINY else LARGE
        size = {"max_steps": args.steps, "per_device_train_batch_size": args.batch, "num_generations": 8}
        (args.out / METRICS).unlink(missing_ok=True)
        reinforce(learner, spec, args.out, seed=args.seed, **settings, **size)
        learner.save(args.out / "grpo")
    curve = read_curve(args.out / METRICS)
    draw_curves({args.model: curve}, args.out / "curves.png", title=f"{', '.join(args.scenario)}, GRPO")
    print(f"return {curve[0]['reward']:+.2f} -> {curve[-1]['reward']:+.2f}, {args.out / 'curves.png'}")


SMALL = {"learning_rate": 5e-4, "max_completion_length": 600, "scale_rewards": "batch"}
LARGE = {
    "learning_rate": 1e-5,
    "max_completion_length": 12_000,
    "gradient_accumulation_steps": 4,
    "max_tool_calling_iterations": 60,
    "scale_rewards": "batch",
}


def evaluate(args: argparse.Namespace) -> None:
    trained = next((args.out / name for name in ("grpo", "sft") if (args.out / name).exists()), args.model)
    with spec_of(args, HELD_OUT) as spec:
        learner = load(trained, spec=spec)
        played = list(play(learner.model, learner.tokenizer, spec))
    lines = [{**rollout.row, "return": rollout.ending.return_, "success": rollout.ending.success} for rollout in played]
    (args.out / "eval.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    mean = sum(rollout.ending.return_ for rollout in played) / len(played)
    print(f"{trained}: {len(played)} episodes, return {mean:+.2f}, success {sum(x.ending.success for x in played)}")


def spec_of(args: argparse.Namespace, first: int) -> CompanyOSSpec:
    language = ShortNames if args.model == TINY else Language
    if args.what == "eval" and args.split:
        return CompanyOSSpec(
            args.url, args.split, args.chaos, scenario=args.scenario, count=args.episodes, language=language
        )
    seeds = range(first, first + args.episodes)
    return CompanyOSSpec(args.url, chaos=args.chaos, scenario=args.scenario, seeds=seeds, language=language)


if __name__ == "__main__":
    main()
