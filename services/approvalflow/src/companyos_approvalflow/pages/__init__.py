"""Pages of ApprovalFlow."""

from companyos_approvalflow.pages import delegations, request, requests, types
from companyos_approvalflow.pages.app import PAGES

__all__ = ["PAGES", "delegations", "request", "requests", "types"]
