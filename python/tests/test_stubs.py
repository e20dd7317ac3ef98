"""Checks that the stubs match the modules, and that public functions are annotated."""

import ast
import importlib
import inspect
import pathlib

import attnscope as at
import pytest

PACKAGE = pathlib.Path(at.__file__).parent


def public(names):
    return {name for name in names if not name.startswith("_")}


def members(body):
    """Names that a stub declares, and those of its classes."""
    found = {}
    for node in body:
        if isinstance(node, ast.ClassDef):
            found[node.name] = public(members(node.body))
        elif isinstance(node, ast.FunctionDef):
            found[node.name] = None
        elif isinstance(node, ast.AnnAssign):
            found[node.target.id] = None
    return found


@pytest.mark.parametrize("name", ["_attnscope", "_scope"])
def test_a_stub_matches_its_module(name):
    module = importlib.import_module(f"attnscope.{name}")
    stub = members(ast.parse((PACKAGE / f"{name}.pyi").read_text(encoding="utf-8")).body)
    # What is passed between the modules themselves.
    assert set(stub) == public(vars(module)) - {"thread_count"}
    for name, declared in stub.items():
        if declared is not None:
            assert declared == public(vars(getattr(module, name))), name


def functions():
    for name in at.__all__:
        thing = getattr(at, name)
        if isinstance(thing, type):
            if not thing.__module__.startswith("attnscope._") or thing.__module__ == "attnscope._attnscope":
                continue
            for member, value in vars(thing).items():
                value = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
                if inspect.isfunction(value) and not member.startswith("_"):
                    yield f"{name}.{member}", value
        elif inspect.isfunction(thing):
            yield name, thing


# attention() and its like give what came in: numpy or torch. Model.record() is annotated in its overloads.
ELSEWHERE = {"attention", "linear_attention", "weights", "Model.record"}


FUNCTIONS = dict(functions())


@pytest.mark.parametrize("name", FUNCTIONS)
def test_public_functions_are_annotated(name):
    assert name in ELSEWHERE or "return" in FUNCTIONS[name].__annotations__


def test_type_checkers_see_every_name_that_is_loaded_late():
    tree = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    checked = next(node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    seen = {alias.name: node.module for node in checked.body for alias in node.names}
    assert {name: home for name, home in seen.items() if home is not None} == at._HOMES
    assert {name for name, home in seen.items() if home is None} == set(at._SUBMODULES)
