"""Scripted players and their skills: tool calls, tickets, metrics, approvals, whole workflows, and adversaries.

Players see only what an agent sees.
"""

from companyos_players.approvals import ApprovalSkill, RequestSkill
from companyos_players.metrics import (
    MetricReading,
    MetricSkill,
    MetricUnavailableError,
    RefreshPolicy,
    ReportMetricSkill,
    refresh_until_fresh,
)
from companyos_players.player import Json
from companyos_players.records import RecordSkill, find_vendor
from companyos_players.tickets import TicketSkill, TicketWorkflow, ticket_key_in
from companyos_players.tool_client import MissingFactError, ToolClient, ToolRefusedError
from companyos_players.worker import PRIORITIES, MeasuringWorker, Objection, OrderedApprovalWorker, Worker

__all__ = [
    "PRIORITIES",
    "ApprovalSkill",
    "Json",
    "MeasuringWorker",
    "MetricReading",
    "MetricSkill",
    "MetricUnavailableError",
    "MissingFactError",
    "Objection",
    "OrderedApprovalWorker",
    "RecordSkill",
    "RefreshPolicy",
    "ReportMetricSkill",
    "RequestSkill",
    "TicketSkill",
    "TicketWorkflow",
    "ToolClient",
    "ToolRefusedError",
    "Worker",
    "find_vendor",
    "refresh_until_fresh",
    "ticket_key_in",
]
