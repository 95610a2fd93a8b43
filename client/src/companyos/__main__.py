"""`python -m companyos`: the command line, where the script `companyos` is not on the path."""

from companyos.cli.main import app

app(prog_name="companyos")
