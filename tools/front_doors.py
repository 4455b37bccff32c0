"""The contract that packages are entered by their front doors, for import-linter.

A module is imported by modules of its own package only; others import the package, which exports
what it offers: at most six names, or the number that is listed for it, and its docstring says why.
Packages of words that everybody speaks are listed as open: there, the modules are the doors.
"""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

from importlinter import Contract, ContractCheck, fields, output

MOST_NAMES = 6
REASON = "More than six names go out"
"""How the sentence begins that says why a door is wider."""


class FrontDoors(Contract):
    """No import of a module behind another package's front door, and no door wider than listed."""

    type_name = "front_doors"
    open_packages = fields.SetField(subfield=fields.StringField())
    wider_doors = fields.SetField(subfield=fields.StringField())

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
        packages = {name for name in graph.modules if graph.find_children(name)} - opened
        wide = list(wide_doors(_sources(packages), self.wider_doors))
        return ContractCheck(kept=not (behind or wide), metadata={"behind": behind, "wide": wide})

    def render_broken_contract(self, check):  # type: ignore[no-untyped-def]
        """One line for each import."""
        for importer, module in check.metadata["behind"]:
            output.print_error(f"{importer} -> {module}", bold=False)
        for sentence in check.metadata["wide"]:
            output.print_error(sentence, bold=False)


def wide_doors(sources: Mapping[str, str], listed: Collection[str]) -> Iterator[str]:
    """A sentence for each package with another number of names than it may have.

    `sources` is the text of the `__init__` of each package, `listed` has lines such as
    `wavescope.native 28`.
    """
    number_of = {name: int(number) for name, number in map(str.split, sorted(listed))}
    for package in sorted(number_of.keys() - sources.keys()):
        yield f"{package} is listed as a wider door and is no package with a door"
    for package, source in sorted(sources.items()):
        module = ast.parse(source)
        count, allowed = _name_count(module), number_of.get(package, MOST_NAMES)
        if package in number_of and count != allowed:
            yield f"{package} exports {count} names and is listed with {allowed}"
        elif count > allowed:
            yield f"{package} exports {count} names, more than {MOST_NAMES}"
        elif allowed > MOST_NAMES and REASON not in (ast.get_docstring(module) or ""):
            yield f"{package} does not say why it is wider: {REASON}: ..."


def _name_count(module: ast.Module) -> int:
    """How many names are in `__all__`."""
    return sum(
        len(statement.value.elts)
        for statement in module.body
        if isinstance(statement, ast.Assign)
        and isinstance(statement.value, ast.List | ast.Tuple)
        and any(isinstance(to, ast.Name) and to.id == "__all__" for to in statement.targets)
    )


def _sources(packages: Iterable[str]) -> dict[str, str]:
    """The text of the `__init__` of each package."""
    root = importlib.util.find_spec("wavescope")
    if root is None or root.origin is None:
        return {}
    top = Path(root.origin).parent
    files = {name: top.joinpath(*name.split(".")[1:], "__init__.py") for name in packages}
    return {name: file.read_text() for name, file in files.items() if file.exists()}
