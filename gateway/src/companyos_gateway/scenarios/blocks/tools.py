"""Groups of tools that scenarios offer with their tasks."""

from __future__ import annotations

TICKET_TOOLS = (
    "ticketdesk_list_tickets",
    "ticketdesk_search_tickets",
    "ticketdesk_get_ticket",
    "ticketdesk_update_ticket",
    "ticketdesk_transition_ticket",
    "ticketdesk_assign_ticket",
    "ticketdesk_verify_ticket",
    "ticketdesk_complete_checklist_item",
    "ticketdesk_add_comment",
    "ticketdesk_list_comments",
    "ticketdesk_unlink_tickets",
    "ticketdesk_link_approval",
)
METRIC_TOOLS = (
    "datahub_query_metric",
    "datahub_refresh_metric",
    "datahub_get_refresh_job",
    "datahub_list_refresh_jobs",
    "datahub_get_source",
)
RECORD_TOOLS = ("datahub_search_records", "datahub_get_record", "datahub_update_record")
PEOPLE_TOOLS = (
    "datahub_search_people",
    "datahub_get_person",
    "datahub_get_approver",
    "datahub_get_calendar",
)
POLICY_TOOLS = ("datahub_search_policies", "datahub_get_policy")
APPROVAL_READ_TOOLS = (
    "approvalflow_list_approval_types",
    "approvalflow_get_approval_type",
    "approvalflow_list_delegations",
    "approvalflow_get_approval",
    "approvalflow_list_approvals",
)
APPROVAL_TOOLS = (
    *APPROVAL_READ_TOOLS,
    "approvalflow_submit_approval",
    "approvalflow_provide_information",
    "approvalflow_withdraw_approval",
)

COMMON_TOOLS = (*TICKET_TOOLS, *RECORD_TOOLS, *PEOPLE_TOOLS, *POLICY_TOOLS)
"""Tools of a task about a ticket and records, with an approval or without."""

USUAL_TOOLS = (*COMMON_TOOLS, *APPROVAL_TOOLS)

USUAL_DISTRACTORS = (
    "ticketdesk_create_ticket",
    "datahub_report_data_issue",
    "approvalflow_create_delegation",
)
"""Tools that most tasks with an approval do not need."""
