"""Trainer routes: the list of scenarios and the evidence of an episode."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from fastapi.responses import Response
from pydantic import BaseModel, Field

from companyos.contract import CompanyOSState, EpisodeVerdict, InjectionInfo, ScenarioInfo, VerdictLimits
from companyos.signed_evidence import PUBLIC_KEY, EvidenceSignature, canonical_json
from companyos_gateway.api.episodes import EpisodeId
from companyos_gateway.api.openapi import JUDGED_RESPONSES
from companyos_gateway.api.query_params import STRICT_QUERY
from companyos_gateway.api.scenario_info import scenario_summary
from companyos_gateway.engine.episode import FREE_PAGE_VIEWS, Episode
from companyos_gateway.engine.errors import EpisodeClosedError, RubricFailedError
from companyos_gateway.evaluation import FinishDeclaration
from companyos_gateway.evaluation.guessing import MAX_GUESSES
from companyos_gateway.evaluation.injection_checks import WINDOW
from companyos_gateway.runtime import GatewayRuntime
from companyos_gateway.scenarios.rescoring import PlannedTask
from companyos_shared.web.lazy_routes import LazyRouter

LIMITS = VerdictLimits(wrong_approvers=MAX_GUESSES, leaked_characters=WINDOW, free_page_views=FREE_PAGE_VIEWS)


class EvidenceKey(BaseModel):
    """The public key that verifies the gateway's evidence."""

    algorithm: Literal["ed25519"] = "ed25519"
    public_key: str = Field(pattern=PUBLIC_KEY, description="The key in hexadecimal.")


class StoredEvidence(BaseModel):
    """The inputs and the verdict of an evaluation, complete enough to evaluate again, and their signature."""

    state: CompanyOSState
    brief: str
    company: str
    acting_as: str
    started_at: datetime
    task: PlannedTask
    verdict: EpisodeVerdict
    injections: list[InjectionInfo]
    folder: str = Field(description="Folder of the episode below `episodes/` in the data folder of each service.")
    finish: FinishDeclaration | None
    initial: dict[str, Any]
    changes: dict[str, Any]
    audits: dict[str, Any] = Field(description="The agent's calls by service, with what each returned.")
    views: list[Any] = Field(description="Objects that pages showed, and after which step.")
    declared_at: datetime | None = Field(description="Simulated time of the `finish` declaration.")
    signature: EvidenceSignature = Field(description="Signature of all other members, in their order.")


def trainer_router(runtime: GatewayRuntime) -> LazyRouter:
    """Return the routes that require the trainer token."""
    router = LazyRouter(prefix="/v1", tags=["Trainer"], dependencies=STRICT_QUERY)

    @router.get("/scenarios")
    async def scenarios() -> list[ScenarioInfo]:
        """List the scenarios by name."""
        return [
            ScenarioInfo(name=name, summary=scenario_summary(scenario), limits=LIMITS)
            for name, scenario in sorted(runtime.engine().scenarios.items())
        ]

    @router.get("/evidence-key")
    async def evidence_key() -> EvidenceKey:
        """Get the public key of the gateway.

        It verifies the signatures of evidence. A gateway keeps its key as long as its data folder.
        """
        return EvidenceKey(public_key=runtime.evidence_signer().public_key)

    @router.get("/episodes/{episode_id}/evidence", response_model=StoredEvidence, responses=JUDGED_RESPONSES)
    async def evidence(episode_id: EpisodeId) -> Response:
        """Get the evidence of an episode.

        Returns the initial rows, all changes, all calls and the declaration, together with the brief, the task, the
        injected obstacles and the verdict with every check. The document is signed; `GET /v1/evidence-key` returns the
        public key.
        """
        episode = runtime.engine().store.get(episode_id)
        async with episode.inspection_lock():
            if episode.closed:
                raise EpisodeClosedError
            stored = _unsigned_evidence(episode)
        return Response(canonical_json(runtime.evidence_signer().sign(stored)), media_type="application/json")

    return router


def _unsigned_evidence(episode: Episode) -> dict[str, Any]:
    verdict = episode.progress.find_episode_verdict(episode.task)
    if verdict is None:
        raise RubricFailedError
    finish, key, instance = episode.progress.finish, episode.task.key, episode.task.instance
    task = PlannedTask(
        scenario=key.scenario,
        seed=key.seed,
        chaos=key.chaos,
        overrides=dict(key.overrides),
        sources=instance.source_ids,
    )
    return {
        "task": task.model_dump(mode="json"),
        "verdict": verdict.model_dump(mode="json"),
        "injections": [injection.info().model_dump(mode="json") for injection in instance.injections],
        "brief": instance.brief,
        "company": instance.company_name,
        "acting_as": instance.acting_as,
        "started_at": instance.started_at.isoformat(),
        "state": episode.state().model_dump(mode="json", exclude={"token"}),
        "folder": episode.internal_id,
        "finish": None if finish is None else finish.model_dump(mode="json"),
        **episode.evidence.as_json(),
    }
