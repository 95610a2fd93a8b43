"""Skills of scripted agents: steady calls, tickets, metrics, approvers, whole pieces of work, and ways to cheat.

They see only what an agent sees.
"""

from companyos_gateway.scenarios.skills.approvals import ApprovalSkill
from companyos_gateway.scenarios.skills.desk import DeskSkill, ticket_of
from companyos_gateway.scenarios.skills.figures import FigureSkill, Terms, Unavailable, freshen
from companyos_gateway.scenarios.skills.hands import Hands, Refused
from companyos_gateway.scenarios.skills.in_order import InOrder
from companyos_gateway.scenarios.skills.measures import Measured, MeasureSkill
from companyos_gateway.scenarios.skills.records import RecordSkill
from companyos_gateway.scenarios.skills.requests import RequestSkill
from companyos_gateway.scenarios.skills.tickets import TicketSkill
from companyos_gateway.scenarios.skills.vendors import find_vendor
from companyos_gateway.scenarios.skills.worker import LADDER, Objection, Worker

__all__ = [
    "LADDER",
    "ApprovalSkill",
    "DeskSkill",
    "FigureSkill",
    "Hands",
    "InOrder",
    "MeasureSkill",
    "Measured",
    "Objection",
    "RecordSkill",
    "Refused",
    "RequestSkill",
    "Terms",
    "TicketSkill",
    "Unavailable",
    "Worker",
    "find_vendor",
    "freshen",
    "ticket_of",
]
