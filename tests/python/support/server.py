"""A real Jupyter server, and a real front end's side of its interface."""

import asyncio
import json
import re
import signal
import socket
import subprocess
import threading
import urllib.error
import urllib.request
import uuid
from contextlib import asynccontextmanager, suppress

from tornado.websocket import websocket_connect

PATIENCE_SECONDS = 60
TOKEN = "of-the-tests"


class Server:
    """`jupyter server`, in an environment that may be set up."""

    def __init__(self, environment, *flags, **options):
        """Starts it, and waits until it says where it listens."""
        self.environment = environment
        words = [environment.python, "-m", "jupyter_server", "--ServerApp.port=0", "--no-browser"]
        words += ["--allow-root", f"--IdentityProvider.token={TOKEN}", *flags]
        root = environment.private / "notebooks"
        root.mkdir(exist_ok=True)
        self.process = subprocess.Popen(
            [str(word) for word in words],
            env=environment.variables(**options.pop("env", {})),
            cwd=root,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            **options,
        )
        self.log = []
        self.base = None
        for line in self.process.stderr:
            self.log.append(line)
            found = re.search(r"(http://127\.0\.0\.1:\d+)/\?token=", line)
            if found:
                self.base = found[1]
                break
        assert self.base, "".join(self.log)
        # Whoever does not read lets the server stand still.
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        self._await_port()

    def _await_port(self):
        """Jupyter says where it will listen before it does, and says nothing when it does."""
        port = int(self.base.rpartition(":")[2])
        while self.process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
            except ConnectionRefusedError:
                continue
            return

    def _read(self):
        for line in self.process.stderr:
            self.log.append(line)

    def close(self):
        """Ends it as a service manager would."""
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        finally:
            self._reader.join()
            self.process.stderr.close()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def ask(self, path, method="GET", body=None, token=TOKEN):
        """One request; gives the status and what was answered."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"token {token}"} if token else {}
        request = urllib.request.Request(
            f"{self.base}/{path}", data=data, headers=headers, method=method
        )
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
                told = answer.read()
                return answer.status, json.loads(told) if told else None
        except urllib.error.HTTPError as error:
            with error:
                return error.code, None

    def start_kernel(self):
        """Starts a kernel; gives its id."""
        status, model = self.ask("api/kernels", "POST", {"name": "python3"})
        assert status == 201
        return model["id"]

    @asynccontextmanager
    async def events(self):
        """The server's events, as they come."""
        url = f"{self.base.replace('http', 'ws')}/api/events/subscribe?token={TOKEN}"
        connection = await websocket_connect(url)
        try:
            yield Events(connection)
        finally:
            await _close(connection)

    @asynccontextmanager
    async def kernel(self, kernel_id):
        """A notebook's connection to a kernel."""
        session = uuid.uuid4().hex
        url = f"{self.base.replace('http', 'ws')}/api/kernels/{kernel_id}/channels"
        connection = await websocket_connect(f"{url}?session_id={session}&token={TOKEN}")
        try:
            yield Notebook(connection, session)
        finally:
            await _close(connection)


async def _close(connection):
    """Closes a connection, and waits until the other side did too."""
    connection.close()
    while await connection.read_message() is not None:
        pass


class Events:
    """What the server tells its front ends."""

    def __init__(self, connection):
        self._connection = connection

    async def verdict(self):
        """The next verdict."""
        while True:
            told = await asyncio.wait_for(self._connection.read_message(), PATIENCE_SECONDS)
            event = json.loads(told)
            if event["schema_id"] == "urn:outlive:verdict":
                return event


class Notebook:
    """Sends cells to a kernel."""

    def __init__(self, connection, session):
        self._connection = connection
        self._session = session

    def send(self, code):
        """Sends a cell, and does not wait for it."""
        name = uuid.uuid4().hex
        header = {
            "msg_id": name,
            "msg_type": "execute_request",
            "username": "",
            "session": self._session,
            "version": "5.3",
            "date": "2026-01-01T00:00:00Z",
        }
        content = {
            "code": code,
            "silent": False,
            "store_history": True,
            "user_expressions": {},
            "allow_stdin": False,
            "stop_on_error": True,
        }
        message = {"header": header, "parent_header": {}, "metadata": {}, "content": content}
        self._connection.write_message(json.dumps({**message, "channel": "shell", "buffers": []}))
        return name

    async def told(self, name):
        """What a cell prints, piece by piece, until it is done."""
        while True:
            told = await asyncio.wait_for(self._connection.read_message(), PATIENCE_SECONDS)
            message = json.loads(told)
            if message["parent_header"].get("msg_id") != name:
                continue
            content = message["content"]
            if message["msg_type"] == "stream" and content["name"] == "stdout":
                yield content["text"]
            elif message["msg_type"] == "status" and content["execution_state"] == "idle":
                return

    async def run(self, code):
        """Runs a cell; gives what it printed."""
        return "".join([text async for text in self.told(self.send(code))])

    async def run_again(self, code):
        """The same until there is an answer: what is sent while a kernel starts may be lost."""
        for _ in range(5):
            with suppress(asyncio.TimeoutError):
                return await asyncio.wait_for(self.run(code), PATIENCE_SECONDS / 4)
        raise TimeoutError(code)

    async def restarting(self):
        """Waits until the server says that it starts the kernel again."""
        while True:
            told = await asyncio.wait_for(self._connection.read_message(), PATIENCE_SECONDS)
            if json.loads(told)["content"].get("execution_state") == "restarting":
                return
