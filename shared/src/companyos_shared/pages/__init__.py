"""Pages: the shell around them, the forms on them and how they are written. A form is a tool call, and nothing else.

Nothing of a service is known here; whoever has pages brings templates of its own.
"""

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
