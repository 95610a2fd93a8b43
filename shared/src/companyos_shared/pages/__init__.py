"""Page rendering shared by the gateway and the services: shell, forms and templates. Each form is a tool call."""

from companyos_shared.pages.forms import MalformedFormError, SubmittedForm, parse_form
from companyos_shared.pages.rendering import HEADERS, MOUNT, STATIC, Templates
from companyos_shared.pages.shell import AppLink, FormResult, Shell, result_of_query

__all__ = [
    "HEADERS",
    "MOUNT",
    "STATIC",
    "AppLink",
    "FormResult",
    "MalformedFormError",
    "Shell",
    "SubmittedForm",
    "Templates",
    "parse_form",
    "result_of_query",
]
