"""Routes of administration, for the role `operate`: what a running project is to do with its views and intakes.

A wish is kept below the project and obeyed by the run that works on a view, in whichever process: these routes answer
when it is written down, not when it is done. `GET /status` tells how far that is.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from headwater.errors import PromotionRefused
from headwater.operate.wish import PROMOTION
from headwater.serve.access import Operates
from headwater.serve.encode import answer
from headwater.serve.service import Service

ACCEPTED = 202
Reason = Annotated[str | None, Query(max_length=500, description="Why, for whoever looks at the status.")]


def routes(service: Service) -> APIRouter:
    """The routes of administration."""
    router = APIRouter(tags=["administration"])
    project = service.project

    @router.post("/views/{name}/pause", status_code=ACCEPTED)
    def pause_view(name: str, access: Operates, reason: Reason = None) -> Response:
        """Let a view rest until it is resumed, over restarts too; a batch that is being written is finished."""
        access.check_view(name)
        view = project.plan().view(name).name
        return answer(_paused("view", view, asdict(project.admin.pause(view, reason=reason))), ACCEPTED)

    @router.post("/views/{name}/resume", status_code=ACCEPTED)
    def resume_view(name: str, access: Operates) -> Response:
        """Let a view go on from where it was; one that has stopped begins again."""
        access.check_view(name)
        view = project.plan().view(name).name
        project.admin.resume(view)
        return answer(_paused("view", view, None), ACCEPTED)

    @router.post("/views/{name}/replay", status_code=ACCEPTED)
    def replay_view(name: str, access: Operates, hold: bool = False) -> Response:
        """Build a view anew from the start of the log; what it has is served until the new version is there.

        With `hold` until that is promoted.
        """
        access.check_view(name)
        view = project.plan().view(name).name
        project.admin.ask_replay(view, hold=hold)
        return answer({"view": view, "replay": "asked"}, ACCEPTED)

    @router.post("/streams/{name}/pause", status_code=ACCEPTED)
    def pause_intake(name: str, access: Operates, reason: Reason = None) -> Response:
        """Let the intake of a stream or table rest until it is resumed, over restarts too."""
        access.check_stream(name)
        topic = project.declarations.topic(name).name
        return answer(_paused("topic", topic, asdict(project.admin.pause(topic, reason=reason))), ACCEPTED)

    @router.post("/streams/{name}/resume", status_code=ACCEPTED)
    def resume_intake(name: str, access: Operates) -> Response:
        """Let an intake go on from where it was."""
        access.check_stream(name)
        topic = project.declarations.topic(name).name
        project.admin.resume(topic)
        return answer(_paused("topic", topic, None), ACCEPTED)

    @router.post("/promote")
    def promote(access: Operates, dry_run: bool = False, hold: bool = False) -> Response:
        """Let the declarations that are in the project's folder now take effect, or (`dry_run`) tell what would change.

        Views that have changed are built as their next versions beside what is served; the others go on undisturbed.
        With `hold` what is served stays so until the next version is promoted.
        """
        access.check_whole()
        if not service.apart or dry_run:
            return answer(project.admin.promote(only_tell=dry_run, hold=hold).as_dict())
        promotion = project.admin.promote(only_tell=True)  # which refuses what the run would
        outcome = project.admin.ask_promotion(only_tell=False, wait=PROMOTION, hold=hold)
        if outcome is None or "error" in outcome:
            raise PromotionRefused(
                "the declarations were not promoted",
                detail="No run has taken them up." if outcome is None else str(outcome["error"]["summary"]),
                hint="Repeat the request, or look at GET /status.",
            )
        return answer(promotion.as_dict())

    @router.get("/plan")
    def plan(access: Operates) -> Response:
        """Tell what the declarations that are in the project's folder now would change, if they were promoted."""
        access.check_whole()
        change = project.admin.change()
        return answer({"changes": bool(change)} | change.as_dict())

    @router.get("/audit")
    def audit(access: Operates, last: Annotated[int, Query(ge=1, le=10_000)] = 100) -> Response:
        """The acts that were done to the project, by whom, oldest first."""
        access.check_whole()
        return answer({"acts": [asdict(act) for act in project.admin.audit(last)]})

    return router


def _paused(kind: str, name: str, paused: dict[str, Any] | None) -> dict[str, Any]:
    return {kind: name, "paused": paused}
