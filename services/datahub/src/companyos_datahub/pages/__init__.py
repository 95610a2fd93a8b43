"""Pages of DataHub."""

from companyos_datahub.pages import calendar, issues, metrics, people, policies, records, sources, vendors
from companyos_datahub.pages.app import PAGES

__all__ = ["PAGES", "calendar", "issues", "metrics", "people", "policies", "records", "sources", "vendors"]
