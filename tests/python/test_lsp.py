"""`outlive lsp` and a real client: findings, changes and pages in an editor."""

import json
import os
import shutil
import subprocess
import sys

import pytest

pytest.importorskip("pygls")

from lsprotocol import types

from support import paths
from support.editor import CAPABILITIES, editor
from support.lab import PATIENCE_SECONDS

MODEL = "import torch\nmodel = torch.nn.Linear(4, 1)\nlosses = []\n"
LOOP = """\
for batch in loader:
    loss = model(batch).sum()
    loss.backward()
    losses.append(loss)
"""
LEAK = MODEL + LOOP
FIXED = LEAK.replace("append(loss)", "append(loss.detach())")
EVERYWHERE = types.Range(types.Position(0, 0), types.Position(9999, 0))


def places(diagnostics):
    """What each is about, and its line."""
    return [(found.data["rule"], found.range.start.line) for found in diagnostics]


LEAKS = [("retained_graph_append", 6)]
LEAKS_IN_LOOP = [("retained_graph_append", 1)]


def test_a_finding_is_told_with_its_reasons_and_goes_when_it_is_mended(tmp_path):
    with editor(tmp_path) as vim:
        uri = vim.open("train.py", LEAK)
        (found,) = vim.diagnostics(uri)
        assert (found.code, found.source) == ("OL102", "outlive")
        assert found.severity == types.DiagnosticSeverity.Warning
        assert found.range == types.Range(types.Position(6, 18), types.Position(6, 22))
        message, help = found.message.splitlines()
        assert message.startswith("`losses` keeps ")
        assert help.startswith("help: ")
        assert found.code_description is None
        first, second = found.related_information
        assert (first.location.uri, first.location.range.start.line) == (uri, 4)
        assert "`loss` comes from `model(batch).sum()`" in first.message
        assert second.location.range.start.line == 5
        assert found.data["fix"]["applicability"] == "safe"
        vim.change(uri, FIXED)
        assert vim.diagnostics(uri) == []


def test_an_editor_without_a_place_for_the_reasons_has_them_in_the_message(tmp_path):
    with editor(tmp_path, {"textDocument": {"publishDiagnostics": {}}}) as vim:
        (found,) = vim.diagnostics(vim.open("train.py", LEAK))
        assert found.related_information is None
        assert "`loss` comes from `model(batch).sum()`" in found.message


def test_edits_count_in_the_units_that_were_agreed_upon(tmp_path):
    for encoding in ("utf-16", "utf-8", "utf-32"):
        capabilities = {**CAPABILITIES, "general": {"positionEncodings": [encoding]}}
        with editor(tmp_path, capabilities) as vim:
            assert vim.server_capabilities.position_encoding == encoding
            mended = FIXED.replace("losses.append", "print('😀é'); losses.append")
            uri = vim.open("a.py", mended + "y = 2\n")
            assert vim.diagnostics(uri) == []
            document = vim.documents[uri]
            at = document.source.index(".detach()")
            taken = types.Range(
                document.client_position_at_offset(at),
                document.client_position_at_offset(at + len(".detach()")),
            )
            last = types.Range(types.Position(7, 0), types.Position(7, 1))
            vim.change(uri, (taken, ""), (last, "z"))
            (found,) = vim.diagnostics(uri)
            start = document.offset_at_position(found.range.start)
            end = document.offset_at_position(found.range.end)
            assert document.source[start:end] == "loss"
            assert document.source.endswith("\nz = 2\n")


def test_a_quick_fix_mends_what_it_is_offered_for(tmp_path):
    with editor(tmp_path) as vim:
        uri = vim.open("a.py", LEAK)
        (found,) = vim.diagnostics(uri)
        action, *_ = vim.actions(uri, found.range, only=["quickfix"])
        assert action.title == found.data["fix"]["title"]
        assert (action.kind, action.is_preferred) == ("quickfix", True)
        assert list(action.diagnostics) == [found]
        vim.apply(action)
        assert vim.text(uri) == FIXED
        assert vim.diagnostics(uri) == []


def test_a_finding_can_be_ignored_and_the_comment_removed_again(tmp_path):
    with editor(tmp_path) as vim:
        uri = vim.open("a.py", LEAK)
        (found,) = vim.diagnostics(uri)
        *_, ignore = vim.actions(uri, found.range, only=["quickfix"])
        assert ignore.title == "Ignore with `# outlive: ignore[retained_graph_append]`"
        assert (ignore.is_preferred, list(ignore.diagnostics)) == (None, [found])
        vim.apply(ignore)
        comment = "  # outlive: ignore[retained_graph_append]"
        assert vim.text(uri) == LEAK.replace("append(loss)", f"append(loss){comment}")
        assert vim.diagnostics(uri) == []
        # What it silenced is mended: then it silences nothing.
        vim.change(uri, vim.text(uri).replace("append(loss)", "append(loss.detach())"))
        (unused,) = vim.diagnostics(uri)
        assert (unused.code, unused.range.start.line) == ("OL901", 6)
        (remove,) = vim.actions(uri, unused.range, only=["quickfix"])
        vim.apply(remove)
        assert vim.text(uri) == FIXED
        assert vim.diagnostics(uri) == []


def test_an_editor_without_versions_gets_plain_edits(tmp_path):
    capabilities = {**CAPABILITIES, "workspace": {}}
    with editor(tmp_path, capabilities) as vim:
        uri = vim.open("a.py", LEAK)
        action, *_ = vim.actions(uri, EVERYWHERE, only=["quickfix"])
        ((changed, edits),) = action.edit.changes.items()
        assert (changed, len(edits)) == (uri, 1)


def test_all_safe_changes_are_made_at_once(tmp_path):
    with editor(tmp_path) as vim:
        uri = vim.open("a.py", LEAK + LOOP)
        assert len(vim.diagnostics(uri)) == 2
        (action,) = vim.actions(uri, EVERYWHERE, only=["source.fixAll"])
        assert action.kind == "source.fixAll.outlive"
        vim.apply(action)
        assert "append(loss)" not in vim.text(uri)
        assert vim.diagnostics(uri) == []
        assert vim.actions(uri, EVERYWHERE) == []


def test_an_action_is_offered_where_its_finding_is(tmp_path):
    with editor(tmp_path) as vim:
        uri = vim.open("a.py", LEAK)
        elsewhere = types.Range(types.Position(1, 0), types.Position(1, 5))
        assert vim.actions(uri, elsewhere, only=["quickfix"]) == []
        assert vim.actions(uri, EVERYWHERE, only=["refactor"]) == []


def test_hover_shows_the_rule_on_a_finding_and_nothing_elsewhere(tmp_path):
    with editor(tmp_path) as vim:
        uri = vim.open("a.py", LEAK)
        shown = vim.hover(uri, 6, 20)
        (found,) = vim.diagnostics(uri)
        assert shown.range == found.range
        assert shown.contents.kind == types.MarkupKind.Markdown
        assert shown.contents.value.startswith(found.message.splitlines()[0])
        page = paths.REPOSITORY / "docs/rules/retained_graph_append.md"
        assert page.read_text().splitlines()[0] in shown.contents.value
        assert vim.hover(uri, 0, 0) is None
        assert vim.hover(vim.uri("not_open.py"), 0, 0) is None


def test_an_editor_that_asks_is_answered_and_not_told_unasked(tmp_path):
    capabilities = json.loads(json.dumps(CAPABILITIES))
    capabilities["textDocument"]["diagnostic"] = {}
    capabilities["workspace"]["diagnostics"] = {"refreshSupport": True}
    with editor(tmp_path, capabilities) as code:
        assert code.server_capabilities.diagnostic_provider.inter_file_dependencies is False
        uri = code.open("a.py", LEAK)
        report = code.pulled(uri)
        assert places(report.items) == LEAKS
        assert code.pulled(uri, previous=report.result_id).kind == "unchanged"
        code.change(uri, FIXED)
        changed = code.pulled(uri, previous=report.result_id)
        assert (changed.kind, changed.items) == ("full", [])
        assert code.published == {}
        # It is told that it should ask again.
        (tmp_path / "outlive.toml").write_text("ignore = ['OL1']\n")
        code.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([]))
        code.until(lambda: "workspace/diagnostic/refresh" in code.requests)
        # Its cells are told unasked, and said once.
        _, (cell,) = code.open_notebook("b/a.ipynb", LEAK)
        assert code.diagnostics(cell) == []
        (tmp_path / "outlive.toml").unlink()
        code.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([]))
        code.until(lambda: places(code.published[cell].diagnostics) == LEAKS)
        assert code.pulled(cell).items == []


def test_the_cells_of_a_notebook_are_one_program_and_are_told_each(tmp_path):
    with editor(tmp_path) as code:
        notebook, (first, second) = code.open_notebook("a.ipynb", "%%time\n" + MODEL, LOOP)
        assert code.diagnostics(first) == []
        assert places(code.diagnostics(second)) == [("retained_graph_append", 3)]
        # What a value comes from may be said in another cell.
        code.change_cell(notebook, second, "for batch in loader:\n    losses.append(run(batch))\n")
        assert code.diagnostics(second) == []
        new = code.insert_cell(notebook, 1, "def run(batch):\n    return model(batch)\n")
        code.until(lambda: places(code.published[second].diagnostics) == LEAKS_IN_LOOP)
        assert code.diagnostics(new) == []
        action, ignore = code.actions(second, EVERYWHERE, only=["quickfix"])
        assert [change.text_document.uri for change in ignore.edit.document_changes] == [second]
        code.apply(action)
        assert code.text(second) == (
            "for batch in loader:\n    losses.append(run(batch).detach())\n"
        )
        assert code.diagnostics(second) == []


def test_cells_that_are_gone_have_no_findings(tmp_path):
    with editor(tmp_path) as code:
        notebook, (_, second) = code.open_notebook("a.ipynb", MODEL, LOOP)
        assert code.diagnostics(second)
        code.delete_cell(notebook, 1)
        code.until(lambda: code.published[second].diagnostics == [])


def test_a_place_in_another_cell_is_named_by_that_cell(tmp_path):
    with editor(tmp_path) as code:
        start = "total = 0\n" + MODEL + "loss = model(batch).sum()\n"
        _, (first, second) = code.open_notebook(
            "a.ipynb", start, "kept = []\nfor epoch in range(9):\n    kept.append(loss)\n"
        )
        for found in code.diagnostics(second):
            uris = {note.location.uri for note in found.related_information}
            assert uris <= {first, second}


def test_all_safe_changes_of_a_cell_stay_in_it(tmp_path):
    with editor(tmp_path) as code:
        _, (_, second, third) = code.open_notebook("a.ipynb", MODEL, LOOP, LOOP)
        for cell in (second, third):
            (action,) = code.actions(cell, EVERYWHERE, only=["source.fixAll"])
            assert [change.text_document.uri for change in action.edit.document_changes] == [cell]
            code.apply(action)
            assert "append(loss.detach())" in code.text(cell)
            assert code.diagnostics(cell) == []


def test_what_is_closed_has_no_diagnostics(tmp_path):
    with editor(tmp_path) as vim:
        uri = vim.open("a.py", LEAK)
        assert vim.diagnostics(uri)
        vim.close_document(uri)
        vim.until(lambda: vim.published[uri].diagnostics == [])
        notebook, (cell,) = vim.open_notebook("a.ipynb", LEAK)
        assert vim.diagnostics(cell)
        vim.close_notebook(notebook)
        vim.until(lambda: vim.published[cell].diagnostics == [])


def test_only_python_is_checked(tmp_path):
    with editor(tmp_path) as vim:
        notes = vim.open("notes.md", LEAK, language="markdown")
        uri = vim.open("a.py", LEAK)
        assert vim.diagnostics(uri)
        assert notes not in vim.published


def test_a_script_may_say_any_encoding_and_have_any_name(tmp_path):
    with editor(tmp_path) as vim:
        text = "# coding: latin-1\n" + LEAK.replace("    losses", "    'é'; losses")
        for name in ("a.py", "a.ipynb", "untitled"):
            (found,) = vim.diagnostics(vim.open(name, text))
            assert found.range.start == types.Position(7, 23)


def test_the_projects_configuration_holds_and_can_change(tmp_path):
    configuration = tmp_path / "pyproject.toml"
    configuration.write_text("[tool.outlive]\nignore = ['retained-graph-append']\n")
    with editor(tmp_path) as vim:
        uri = vim.open("a.py", LEAK)
        assert vim.diagnostics(uri) == []
        configuration.write_text("[tool.outlive]\nignor = []\n")
        vim.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([]))
        vim.until(lambda: vim.messages)
        assert "Unknown key `ignor` in" in vim.messages[0]
        # Without a configuration that can be read, all rules hold.
        vim.until(lambda: places(vim.published[uri].diagnostics) == LEAKS)
        assert vim.diagnostics(vim.open("venv/a.py", LEAK)) == [], "not the project's own"


def test_the_editors_settings_choose_the_rules_and_can_change(tmp_path):
    with editor(tmp_path, options={"ignore": ["OL1"]}) as vim:
        uri = vim.open("a.py", LEAK)
        assert vim.diagnostics(uri) == []
        vim.client.workspace_did_change_configuration(
            types.DidChangeConfigurationParams({"outlive": {"select": ["retained-graph-append"]}})
        )
        vim.until(lambda: places(vim.published[uri].diagnostics) == LEAKS)
        vim.client.workspace_did_change_configuration(
            types.DidChangeConfigurationParams({"outlive": {"selekt": []}})
        )
        vim.until(lambda: vim.messages)
        assert "unknown field `selekt`" in vim.messages[0]
        assert places(vim.published[uri].diagnostics) == LEAKS


def test_the_settings_of_the_extension_for_vs_code_are_the_servers(tmp_path):
    package = json.loads((paths.REPOSITORY / "editors/vscode/package.json").read_text())
    settings = {
        name.removeprefix("outlive."): setting["default"]
        for name, setting in package["contributes"]["configuration"]["properties"].items()
    }
    assert set(settings) == {"path", "select", "ignore", "info", "budget"}
    with editor(tmp_path, options=settings) as code:
        assert places(code.diagnostics(code.open("a.py", LEAK))) == LEAKS
        code.client.workspace_did_change_configuration(
            types.DidChangeConfigurationParams({"outlive": settings})
        )
        assert places(code.diagnostics(code.open("b.py", LEAK))) == LEAKS
        assert code.messages == []


@pytest.mark.skipif(not shutil.which("node"), reason="no `node` here")
def test_the_extension_for_vs_code_is_javascript():
    script = paths.REPOSITORY / "editors/vscode/extension.js"
    subprocess.run(["node", "--check", script], check=True)


def test_an_editor_that_keeps_its_settings_is_asked_for_them(tmp_path):
    capabilities = json.loads(json.dumps(CAPABILITIES))
    capabilities["workspace"]["configuration"] = True
    capabilities["workspace"]["didChangeConfiguration"] = {"dynamicRegistration": True}
    capabilities["workspace"]["didChangeWatchedFiles"] = {"dynamicRegistration": True}
    with editor(tmp_path, capabilities) as code:
        code.until(lambda: len(code.requests) == 2)
        assert code.requests == [
            "workspace/didChangeWatchedFiles",
            "workspace/didChangeConfiguration",
        ]
        uri = code.open("a.py", LEAK)
        assert code.diagnostics(uri)
        code.settings["outlive"] = {"ignore": ["retained-graph-append"]}
        code.client.workspace_did_change_configuration(types.DidChangeConfigurationParams(None))
        code.until(lambda: code.published[uri].diagnostics == [])


def test_the_latest_text_wins(tmp_path):
    with editor(tmp_path) as vim:
        uri = vim.open("a.py", LEAK)
        for number in range(300):
            vim.change(uri, LEAK if number % 2 else FIXED)
        assert places(vim.diagnostics(uri)) == LEAKS


def test_a_large_file_holds_up_neither_answers_nor_other_files(tmp_path):
    with editor(tmp_path) as vim:
        large = vim.open("large.py", LEAK + "x = [1, 2, 3]\n" * 50_000)
        uri = vim.open("a.py", LEAK)
        assert vim.hover(vim.uri("not_open.py"), 0, 0) is None
        assert places(vim.diagnostics(uri)) == LEAKS
        assert places(vim.diagnostics(large)) == LEAKS


def test_what_is_too_large_is_said_once(tmp_path):
    with editor(tmp_path) as vim:
        uri = vim.open("large.py", LEAK + "x = 1\n" * 1_500_000)
        assert vim.diagnostics(uri) == []
        vim.until(lambda: vim.messages)
        assert "large.py`: Too large to check" in vim.messages[0]
        vim.change(uri, LEAK + "x = 2\n" * 1_500_000)
        assert vim.diagnostics(uri) == []
        vim.change(uri, LEAK)
        assert places(vim.diagnostics(uri)) == LEAKS
        assert len(vim.messages) == 1


class Wire:
    """The server without a client, for what no client says."""

    def __init__(self, folder):
        self.process = subprocess.Popen(
            [paths.program(), "lsp", "--stdio"],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def send(self, body, header=None):
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        header = header if header is not None else f"Content-Length: {len(body)}\r\n\r\n".encode()
        self.process.stdin.write(header + body)
        self.process.stdin.flush()

    def ask(self, number, method, parameters=None):
        self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": parameters})
        answer = self.receive()
        assert answer["id"] == number
        return answer

    def tell(self, method, parameters=None):
        self.send({"jsonrpc": "2.0", "method": method, "params": parameters})

    def receive(self):
        header = self.process.stdout.readline()
        assert header.lower().startswith(b"content-length: "), header
        assert self.process.stdout.readline() == b"\r\n"
        return json.loads(self.process.stdout.read(int(header.split()[1])))

    def ended(self):
        """The exit code, and what else was written."""
        rest, errors = self.process.communicate(timeout=PATIENCE_SECONDS)
        return self.process.returncode, rest, errors


@pytest.fixture
def wire(tmp_path):
    with Wire(tmp_path) as started:
        yield started


def code_of(answer):
    return answer["error"]["code"]


def test_the_exit_code_says_whether_the_session_was_closed(tmp_path):
    with Wire(tmp_path) as wire:
        wire.ask(1, "initialize", {"capabilities": {}})
        assert wire.ask(2, "shutdown")["result"] is None
        wire.tell("exit")
        assert wire.ended() == (0, b"", b"")
    with Wire(tmp_path) as wire:
        wire.ask(1, "initialize", {"capabilities": {}})
        wire.tell("exit")
        assert wire.ended() == (1, b"", b"")
    with Wire(tmp_path) as wire:
        wire.process.stdin.close()
        wire.process.stdin = None
        assert wire.ended() == (1, b"", b"")


def test_requests_out_of_order_are_refused(wire):
    assert code_of(wire.ask(1, "textDocument/hover")) == -32002
    wire.tell("textDocument/didOpen")
    assert "capabilities" in wire.ask(2, "initialize")["result"]
    assert code_of(wire.ask(3, "initialize")) == -32600
    assert code_of(wire.ask(4, "textDocument/definition")) == -32601
    assert code_of(wire.ask(5, "textDocument/hover", {"position": "here"})) == -32602
    wire.ask(6, "shutdown")
    assert code_of(wire.ask(7, "textDocument/hover")) == -32600


def test_a_message_that_is_none_is_answered_and_the_next_one_heard(wire):
    wire.ask(1, "initialize", {"capabilities": {}})
    for body, header, code in [
        (b"{", None, -32700),
        (b"\xff\xfe", None, -32700),
        (b"[" * 100_000, None, -32700),
        (b"[]", None, -32600),
        (b'{"id": 1.5, "method": "shutdown"}', None, -32600),
        (b"", b"Content-Length: -1\r\n\r\n", -32700),
        (b"", b"Content-Type: x\r\n\r\n", -32700),
    ]:
        wire.send(body, header)
        answer = wire.receive()
        assert code_of(answer) == code, body[:40]
        assert "result" in wire.ask(9, "textDocument/hover", hover_at("file:///none.py"))
    for parameters in [None, [], {"textDocument": 5}, {"textDocument": {"uri": "no uri"}}]:
        for method in ["didOpen", "didChange", "didClose", "didSave"]:
            wire.tell(f"textDocument/{method}", parameters)
            wire.tell(f"notebookDocument/{method}", parameters)
    for method in ["$/cancelRequest", "$/setTrace", "workspace/didChangeConfiguration", "?"]:
        wire.tell(method, {"settings": None})
    wire.send({"jsonrpc": "2.0", "id": "nobody asked", "result": 7})
    assert "result" in wire.ask(10, "textDocument/hover", hover_at("file:///none.py"))
    wire.ask(11, "shutdown")
    wire.tell("exit")
    assert wire.ended()[0] == 0


def hover_at(uri):
    return {"textDocument": {"uri": uri}, "position": {"line": 0, "character": 0}}


def test_a_cancelled_request_is_answered(wire):
    wire.ask(1, "initialize", {"capabilities": {"textDocument": {"diagnostic": {}}}})
    item = {"uri": "file:///large.py", "languageId": "python", "version": 1}
    # Long enough for the question to come before the answer is there.
    item["text"] = "import torch\nx = [1, 2, 3]\n" * 300_000
    wire.tell("textDocument/didOpen", {"textDocument": item})
    wire.send({"id": "late", "method": "textDocument/hover", "params": hover_at(item["uri"])})
    wire.tell("$/cancelRequest", {"id": "late"})
    assert code_of(wire.receive()) == -32800
    # One that is open when the session ends is answered too.
    wire.send({"id": "later", "method": "textDocument/hover", "params": hover_at(item["uri"])})
    wire.send({"id": "end", "method": "shutdown"})
    assert [wire.receive()["id"] for _ in range(2)] == ["later", "end"]


def test_the_server_ends_with_the_editors_process(tmp_path):
    waits = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    with subprocess.Popen(waits, stdin=subprocess.PIPE) as gone, Wire(tmp_path) as wire:
        wire.ask(1, "initialize", {"capabilities": {}, "processId": gone.pid})
        gone.communicate()
        assert wire.process.wait(PATIENCE_SECONDS) == 1


def test_a_process_that_cannot_be_seen_is_not_missed(tmp_path):
    waits = [sys.executable, "-c", ""]
    gone = subprocess.Popen(waits)
    gone.wait()
    with Wire(tmp_path) as wire:
        wire.ask(1, "initialize", {"capabilities": {}, "processId": gone.pid})
        assert "result" in wire.ask(2, "textDocument/hover", hover_at("file:///none.py"))
        assert os.path.exists(f"/proc/{wire.process.pid}")
