"""The app that the pages belong to."""

from companyos_shared.chassis import Pages

PAGES = Pages("companyos_datahub.pages", app="datahub", title="DataHub")
