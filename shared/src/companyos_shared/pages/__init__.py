"""Page rendering shared by the gateway and the services: shell, forms and templates. Each form is a tool call."""

from companyos_shared.pages.forms import MalformedForm, SubmittedForm, read_form
from companyos_shared.pages.shell import AppLink, Said, Shell
from companyos_shared.pages.writing import HEADERS, MOUNT, STATIC, Templates

__all__ = [
    "HEADERS",
    "MOUNT",
    "STATIC",
    "AppLink",
    "MalformedForm",
    "Said",
    "Shell",
    "SubmittedForm",
    "Templates",
    "read_form",
]
