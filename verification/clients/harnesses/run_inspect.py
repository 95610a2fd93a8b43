"""Evaluates a model stub with Inspect AI by entry point: samples list the tickets and give up, or are cut off."""

from __future__ import annotations

import json
import sys
import tempfile
from importlib.metadata import version

from inspect_ai import eval as evaluate
from inspect_ai.model import ChatMessageTool, ModelOutput, ModelUsage, get_model

URL = sys.argv[1]
SAMPLES = 10
MESSAGES = 3
"""Message limit of the second evaluation, which cuts episodes off after their first call."""

RETURN = -5.2
"""Return of an episode with one read and a `finish` that gives up. A cut-off episode is ended with the same return."""

GIVES_UP = {"outcome": "impossible", "summary": "Nothing more to see."}


def answer(messages, *_):
    """Call one tool, then finish."""
    has_seen = any(isinstance(message, ChatMessageTool) for message in messages)
    called = ("finish", GIVES_UP) if has_seen else ("ticketdesk_list_tickets", {"limit": 1})
    output = ModelOutput.for_tool_call("mockllm", called[0], called[1])
    output.usage = ModelUsage(input_tokens=len(messages), output_tokens=1, total_tokens=len(messages) + 1)
    return output


model = get_model("mockllm/model", custom_outputs=answer)
for message_limit in (None, MESSAGES):
    with tempfile.TemporaryDirectory() as logs:
        (log,) = evaluate(
            "companyos/tasks",
            model=model,
            task_args={"url": URL, "split": "test", "chaos": 0, "count": SAMPLES},
            message_limit=message_limit,
            log_dir=logs,
            display="none",
        )
        assert log.status == "success", log.error
        assert log.results.completed_samples == SAMPLES
        for sample in log.samples:
            assert (sample.limit is None) == (message_limit is None), sample.limit
            score = sample.scores["episode"].value
            assert (score["success"], score["steps"]) == (0.0, 2), sample.scores
            assert abs(score["return"] - RETURN) < 1e-9, sample.scores
            assert sample.store["PlayedSample:record"]["outcome"] == "failed"
            if message_limit is None:
                assert {"system", "user", "assistant", "tool"} == {message.role for message in sample.messages}
        metrics = {score.name: score.metrics["mean"].value for score in log.results.scores}
        assert metrics["success"] == 0.0, metrics
print(json.dumps({"version": version("inspect-ai"), "episodes": 2 * SAMPLES, "steps": 4 * SAMPLES}))
