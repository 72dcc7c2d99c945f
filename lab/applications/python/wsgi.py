"""An application for gunicorn."""

from collections.abc import Callable, Iterable


def app(environ: dict[str, object], start_response: Callable[[str, list[tuple[str, str]]], object]) -> Iterable[bytes]:
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"well"]
