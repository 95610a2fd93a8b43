"""Request schemas of information and escalation."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from companyos_shared.framework import NotBlank, RequestModel, example

LONGEST_ANSWER = 2000
LONGEST_REASON = 500

Id = Annotated[str, Field(min_length=1, max_length=64), NotBlank]

APPROVER_DESCRIPTION = (
    "Employee who decides: a holder of the role that the type requires for the amount, or a person with a delegation "
    "from such a holder that is in force and covers the type and, if it has one, the amount. A deputy named in the "
    "directory may not decide without such a delegation. Must be in the office today, and must not be the "
    "requester or somebody who has already approved this request."
)


class Information(RequestModel):
    """An answer to the approver's question, changed fields, or both."""

    model_config = example(answer="The contract is CON-12.", fields={"has_contract": True})

    answer: str = Field(
        "",
        max_length=LONGEST_ANSWER,
        description=(
            "The information that the approver asked for. If it is missing, the approver asks once more and then "
            "rejects the request."
        ),
    )
    fields: dict[str, Any] = Field(
        default_factory=dict, description="Fields of the request to change; the others keep their values."
    )


class Escalation(RequestModel):
    """The new approver and the reason."""

    model_config = example(approver_id="E-104", reason="Out until Friday.")

    approver_id: Id = Field(description=APPROVER_DESCRIPTION)
    reason: str = Field("", max_length=LONGEST_REASON, description="Reason for the escalation.")
    reason_ref: Id | None = Field(None, description="ID of the related policy, record or person.")
