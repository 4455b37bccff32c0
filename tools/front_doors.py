"""The contract that packages are entered by their front doors, for import-linter.

A module is imported by modules of its own package only; others import the package, which exports
what it offers. Packages of words that everybody speaks are listed as open: there, the modules are
the doors.
"""

from __future__ import annotations

from importlinter import Contract, ContractCheck, fields, output


class FrontDoors(Contract):
    """No import of a module behind another package's front door."""

    type_name = "front_doors"
    open_packages = fields.SetField(subfield=fields.StringField())

    def check(self, graph, verbose):  # type: ignore[no-untyped-def]  # noqa: ARG002
        """Every import of a plain module from outside its package, unless that is open."""
        opened = set(self.open_packages)
        behind = [
            (importer, module)
            for module in sorted(graph.modules)
            if not graph.find_children(module)
            for package in [module.rpartition(".")[0]]
            if package not in opened and package in graph.modules
            for importer in sorted(graph.find_modules_that_directly_import(module))
            if importer != package and not importer.startswith(f"{package}.")
        ]
        return ContractCheck(kept=not behind, metadata={"behind": behind})

    def render_broken_contract(self, check):  # type: ignore[no-untyped-def]
        """One line for each import."""
        for importer, module in check.metadata["behind"]:
            output.print_error(f"{importer} -> {module}", bold=False)
