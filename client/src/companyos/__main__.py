"""Run the command line with `python -m companyos`."""

from companyos.cli.main import app

app(prog_name="companyos")
