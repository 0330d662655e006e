"""Actions: what an operator has a running project do, as buttons of a page. Each needs the role `operate`."""

from __future__ import annotations

from collections.abc import Callable

from fastapi.concurrency import run_in_threadpool
from nicegui import ui

from headwater.errors import HeadwaterError
from headwater.operate.audit import acting_as
from headwater.operate.status import ViewStatus
from headwater.serve.access import laid_to
from headwater.serve.dashboard.visit import Visit

NEEDED = "This needs a token with the role operate."


def action(visit: Visit, name: str, icon: str, do: Callable[[], str]) -> ui.button:
    """A button that does something, in a thread of its own, and tells what it says; or why it could not be done."""

    async def act() -> None:
        if not visit.may("operate"):
            ui.notify(NEEDED, type="negative")
            return
        try:
            with acting_as(laid_to(visit.access())):
                ui.notify(await run_in_threadpool(do))
        except HeadwaterError as error:
            ui.notify(error.summary, type="negative")

    button = ui.button(name, icon=icon, on_click=act).props("outline dense no-caps size=sm").mark(name)
    if not visit.may("operate"):
        button.disable()
        button.tooltip(NEEDED)
    return button


def view_actions(visit: Visit, view: str) -> Callable[[ViewStatus], None]:
    """Pause, resume and replay a view; a function that shows those that the state of the view allows."""
    project = visit.service.project

    def pause() -> str:
        project.admin.pause(view, reason=f"{visit.access().name}, on the dashboard")
        return f"{view} rests after the batch that is being written."

    def resume() -> str:
        project.admin.resume(view)
        return f"{view} goes on."

    def replay() -> str:
        project.admin.ask_replay(view)
        return f"{view} is built anew from the log; what it has is served until then."

    with ui.row().classes("gap-2 no-wrap"):
        pausing, resuming = action(visit, "pause", "pause", pause), action(visit, "resume", "play_arrow", resume)
        action(visit, "replay", "restart_alt", replay)

    def show(status: ViewStatus) -> None:
        rests = status.state in ("paused", "stopped")
        pausing.set_visibility(status.state != "paused")
        resuming.set_visibility(rests)

    return show
