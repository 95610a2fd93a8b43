"""Skills of scripted agents: steady calls, handling tickets, finding approvers. They see only what an agent sees."""

from companyos_gateway.scenarios.skills.approvals import ApprovalSkill
from companyos_gateway.scenarios.skills.hands import Hands, Refused
from companyos_gateway.scenarios.skills.tickets import TicketSkill

__all__ = ["ApprovalSkill", "Hands", "Refused", "TicketSkill"]
