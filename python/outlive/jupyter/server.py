"""The server extension: makes Outlive's provisioner the default, and answers for front ends."""

from __future__ import annotations

from typing import Any

from outlive.jupyter import events


def _load_jupyter_server_extension(app: Any) -> None:  # noqa: ANN401
    """Jupyter's name for what a server extension does when it is loaded."""
    # A server that starts without Outlive is better than one that does not start.
    try:
        _make_default(app)
        events.register(app.event_logger)
        _add_handlers(app)
    except Exception:
        app.log.warning("Outlive is not in use in this server", exc_info=True)


def _make_default(app: Any) -> None:  # noqa: ANN401
    """Covers all kernels whose specification does not name a provisioner of its own."""
    from jupyter_client.provisioning import (  # type: ignore[import-not-found]
        KernelProvisionerFactory,
    )

    from outlive.jupyter.provisioner import NAME

    factory = KernelProvisionerFactory.instance(parent=app)
    # The environment or a configuration file may have chosen another: that is the user's word.
    if factory.default_provisioner_name == "local-provisioner":
        factory.default_provisioner_name = NAME
    elif factory.default_provisioner_name != NAME:
        text = "Kernels start without Outlive: provisioner `%s` is configured"
        app.log.warning(text, factory.default_provisioner_name)


def _add_handlers(app: Any) -> None:  # noqa: ANN401
    from jupyter_server.utils import url_path_join  # type: ignore[import-not-found]

    from outlive.jupyter import handlers, kernels
    from outlive.jupyter.pulse import Pulse

    def is_busy(kernel_id: str) -> bool:
        manager = app.kernel_manager
        found = manager.get_kernel(kernel_id) if kernel_id in manager else None
        return getattr(found, "execution_state", None) == "busy"

    def figures(kernel_id: str) -> dict[str, Any]:
        return handlers.status(kernels.find(kernel_id))

    app.web_app.settings[handlers.PULSE] = Pulse(app.event_logger, is_busy, figures)
    base = url_path_join(app.web_app.settings["base_url"], "outlive", "kernels")
    kernel = r"(?P<kernel_id>\w+-\w+-\w+-\w+-\w+)"
    found = [
        (url_path_join(base, kernel, name), handler) for name, handler in handlers.HANDLERS.items()
    ]
    app.web_app.add_handlers(".*$", found)
