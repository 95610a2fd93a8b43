"""CompanyOS for BrowserGym: `gymnasium.make("companyos.integrations.browsergym:browsergym/companyos")`."""

from companyos.extras import require_library

with require_library("browsergym", "pip install browsergym-core"):
    from browsergym.core.registration import register_task

from companyos.integrations.browsergym.task import CompanyOSTask, register_scenarios

__all__ = ["CompanyOSTask", "register_scenarios"]

register_task(CompanyOSTask.get_task_id(), CompanyOSTask)
