"""Runs a module of the product with a defect: `python -m verification.faults.with_defect NAME MODULE ARGUMENTS...`."""

from __future__ import annotations

import runpy
import sys

import pytest

from companyos.openenv_preload import preload_openenv


def main(name: str, module: str, *arguments: str) -> None:
    """Install a defect of FAULT_DEFECTS, and run a module as `python -m` does."""
    preload_openenv()
    from verification.defects import FAULT_DEFECTS

    FAULT_DEFECTS[name](pytest.MonkeyPatch())
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
