"""The package is typed, and the stubs describe the compiled module."""

from __future__ import annotations

import inspect
import os
import pickle
import subprocess
import sys
import typing
from pathlib import Path

import pytest

import incumbent
import incumbent.celery
import incumbent.cron
import incumbent.fastapi
from incumbent import sync, testing

MODULES = [incumbent, sync, testing, incumbent.errors, incumbent.celery, incumbent.cron, incumbent.fastapi]
EXAMPLE = Path(__file__).parent / "typed" / "example.py"
PACKAGE = Path(incumbent.__file__).parent


def checked(*command: str, cwd: Path) -> None:
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    ran = subprocess.run(
        [sys.executable, "-m", *command], cwd=cwd, env=environment, capture_output=True, text=True, timeout=300
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.timeout(300)
def test_the_stubs_are_what_the_compiled_module_is(tmp_path):
    allowed = tmp_path / "allowed"
    # Names of types that exist for type checkers only, and the base of generic classes.
    names = ["T_co", "(Candidate|Leader|Event|HeldEvent|Init|Observed)Tuple", "(Feed|Operation).__class_getitem__"]
    allowed.write_text("".join(f"incumbent._incumbent.{name}\n" for name in names))
    checked("mypy.stubtest", "incumbent._incumbent", "--allowlist", str(allowed), "--ignore-unused-allowlist", cwd=tmp_path)


@pytest.mark.timeout(300)
def test_a_program_that_uses_the_package_passes_mypy_strict(tmp_path):
    checked("mypy", "--strict", "--cache-dir", str(tmp_path), str(EXAMPLE), cwd=tmp_path)


@pytest.mark.timeout(300)
def test_the_package_passes_mypy_strict(tmp_path):
    checked("mypy", "--strict", "--cache-dir", str(tmp_path), "-p", "incumbent", cwd=tmp_path)


@pytest.mark.timeout(300)
def test_a_program_that_uses_the_package_passes_pyright_strict(tmp_path):
    (tmp_path / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict"}')
    (tmp_path / "example.py").write_text(EXAMPLE.read_text())
    checked("pyright", "--pythonpath", sys.executable, cwd=tmp_path)


@pytest.mark.parametrize("module", MODULES)
def test_everything_public_says_what_it_is(module):
    silent = []
    for name in module.__all__:
        thing = getattr(module, name)
        if name in ("__version__", "Event", "DrainHandler", "HealthCheck", "Length"):
            continue
        if not inspect.getdoc(thing):
            silent.append(name)
        if inspect.isclass(thing):
            own = [member for member in vars(thing) if not member.startswith("_")]
            silent += [f"{name}.{member}" for member in own if not described(thing, member)]
    assert module.__doc__ and silent == []


@pytest.mark.parametrize("module", MODULES)
def test_the_annotations_of_everything_public_resolve_while_a_program_runs(module):
    resolved = 0
    for name in module.__all__:
        thing = getattr(module, name)
        methods = vars(thing).values() if inspect.isclass(thing) else ()
        functions = [method for method in (getattr(one, "fget", one) for one in methods) if inspect.isfunction(method)]
        for one in [thing, *functions]:
            if inspect.isclass(one) or inspect.isfunction(one):
                typing.get_type_hints(one)
                resolved += 1
            if inspect.isfunction(one):
                inspect.signature(one, eval_str=True)
    assert resolved


@pytest.mark.parametrize("module", MODULES)
def test_everything_public_is_named_after_its_public_module_and_pickled_by_that_name(module):
    named = 0
    for name in module.__all__:
        thing = getattr(module, name)
        if (inspect.isclass(thing) or inspect.isfunction(thing)) and typing.get_origin(thing) is None:
            home = "incumbent.errors" if name in incumbent.errors.__all__ else module.__name__
            assert (thing.__module__, pickle.loads(pickle.dumps(thing))) == (home, thing)
            named += 1
    assert named and repr(sync.Term) == "<class 'incumbent.sync.Term'>" != repr(incumbent.Term)


def test_a_star_import_shadows_nothing_of_python():
    import builtins

    assert not set(incumbent.__all__) & set(dir(builtins)) and not set(sync.__all__) & set(dir(builtins))
    assert repr(incumbent.Warning) == "<class 'incumbent.Warning'>"


def described(thing: type, member: str) -> bool:
    value = inspect.getattr_static(thing, member)
    plain = not callable(value) and not isinstance(value, (property, classmethod, staticmethod))
    # The text below an attribute documents it.
    return plain or bool(inspect.getdoc(value))


def test_help_shows_how_it_is_used():
    text = inspect.getdoc(incumbent)
    assert "incumbent.run(" in text and "incumbent.sync" in text


def test_the_package_says_that_it_is_typed_and_which_version_it_is():
    assert (PACKAGE / "py.typed").is_file()
    assert incumbent.__version__.count(".") == 2
