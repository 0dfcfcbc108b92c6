"""nbclient, and what is made of it: papermill, `jupyter execute`, `nbconvert --execute`.

Kernels are started under Outlive, and the cell in which one died gets the verdict as an output.
nbclient's own error goes on as it was.
"""

from __future__ import annotations

import asyncio
import functools
import importlib.util
from collections.abc import Awaitable
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Callable

from outlive.jupyter import verdict as verdicts

_PATIENCE_SECONDS = 10


def found(name: str) -> ModuleSpec | None:
    """Finds nbclient's module, and sees to it that it is adapted once it was loaded.

    Args:
        name: Its name.
    """
    spec = importlib.util.find_spec(name)
    loader: Any = spec.loader if spec else None
    if loader is None:
        return spec
    load = loader.exec_module

    def load_and_adapt(module: ModuleType) -> None:
        del loader.exec_module
        load(module)
        try:
            adapt(module)
        except Exception:
            verdicts.log.debug("nbclient goes on without Outlive", exc_info=True)

    loader.exec_module = load_and_adapt
    return spec


def adapt(module: Any) -> None:  # noqa: ANN401
    """Puts Outlive around the two steps that matter: a kernel's start, and a cell.

    Args:
        module: `nbclient.client`.
    """
    from nbclient.util import run_sync  # type: ignore[import-not-found]

    client = module.NotebookClient
    start = _starting(client.async_start_new_kernel)
    execute = _executing(client.async_execute_cell, module.DeadKernelError)
    # The plain forms were made of the others when the class was made: they are made anew.
    client.async_start_new_kernel, client.start_new_kernel = start, run_sync(start)
    client.async_execute_cell, client.execute_cell = execute, run_sync(execute)


def _starting(start: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    @functools.wraps(start)
    async def async_start_new_kernel(client: Any, *given: Any, **named: Any) -> Any:  # noqa: ANN401
        _prefer_outlive(client.km)
        return await start(client, *given, **named)

    return async_start_new_kernel


def _executing(
    execute: Callable[..., Awaitable[Any]], dead: type[Exception]
) -> Callable[..., Awaitable[Any]]:
    @functools.wraps(execute)
    async def async_execute_cell(client: Any, cell: Any, *given: Any, **named: Any) -> Any:  # noqa: ANN401
        try:
            return await execute(client, cell, *given, **named)
        except dead:
            await _add_verdict(client.km, cell)
            raise

    return async_execute_cell


def _prefer_outlive(manager: Any) -> None:  # noqa: ANN401
    """Makes the provisioner the default of this process, unless the user chose another."""
    try:
        from jupyter_client.provisioning import (  # type: ignore[import-not-found]
            KernelProvisionerFactory,
        )

        from outlive.jupyter.provisioner import NAME

        factory = KernelProvisionerFactory.instance(parent=getattr(manager, "parent", None))
        if factory.default_provisioner_name == "local-provisioner":
            factory.default_provisioner_name = NAME
    except Exception:
        verdicts.log.debug("The kernel starts without Outlive", exc_info=True)


async def _add_verdict(manager: Any, cell: Any) -> None:  # noqa: ANN401
    try:
        life = getattr(getattr(manager, "provisioner", None), "life", None)
        if life is None:
            return
        told = await asyncio.wait_for(life.verdict(), _PATIENCE_SECONDS)
        if told:
            cell.setdefault("outputs", []).append(_output(told))
            verdicts.mark_told(life.directory)
    except Exception:
        verdicts.log.debug("The cell has no verdict", exc_info=True)


def _output(told: dict[str, Any]) -> Any:  # noqa: ANN401
    from nbformat.v4 import new_output  # type: ignore[import-not-found]

    where = f" at {told['place']}" if told["place"] else ""
    plain = f"{told['headline']}{where}\n{told['text']}"
    data = {"text/plain": plain, "text/html": verdicts.as_html(told)}
    return new_output("display_data", data=data, metadata={"outlive": told["verdict"]})
