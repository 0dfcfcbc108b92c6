"""A server of plain files, as any static host is, and one whose grid is being made."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer


class Files(SimpleHTTPRequestHandler):
    """Answers with files, silently."""

    def log_message(self, *_):
        """Nothing: the test's output is not a log."""


class LiveFiles(Files):
    """Answers `progress.js` too, and tiles of a generation, with what the test says."""

    progress: dict
    # PNG files by generation.
    tiles: dict

    def do_GET(self):  # noqa: N802
        """Called by the server, which chose the name."""
        generation = int(self.path.partition("?g=")[2] or 0)
        if "/progress.js" in self.path:
            script = f"outliveProgress({json.dumps(self.progress)});"
            self.answer("text/javascript", script.encode())
        elif "/grid_files/" in self.path and generation in self.tiles:
            self.answer("image/png", self.tiles[generation])
        else:
            super().do_GET()

    def answer(self, kind, body):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def served(folder, handler=Files):
    """The address of a folder while it is served."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
