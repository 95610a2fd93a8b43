"""The pages of DataHub: metrics and their sources, records, vendors, people, the calendar, policies, data issues."""

from companyos_datahub.pages import calendar, issues, metrics, people, policies, records, sources, vendors
from companyos_datahub.pages.app import PAGES

__all__ = ["PAGES", "calendar", "issues", "metrics", "people", "policies", "records", "sources", "vendors"]
