"""An editor without a screen: pygls' client in front of the real language server."""

import asyncio
from contextlib import contextmanager
from pathlib import Path

from lsprotocol import types
from pygls.lsp.client import LanguageClient
from pygls.workspace import PositionCodec, TextDocument

from support import paths
from support.lab import PATIENCE_SECONDS

# What VS Code can do, as far as it concerns us, except that it would ask for diagnostics.
CAPABILITIES = {
    "general": {"positionEncodings": ["utf-16"]},
    "textDocument": {
        "codeAction": {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": [""]}}},
        "hover": {"contentFormat": ["markdown", "plaintext"]},
        "publishDiagnostics": {"relatedInformation": True, "versionSupport": True},
    },
    "workspace": {"workspaceEdit": {"documentChanges": True}},
}


@contextmanager
def editor(folder, capabilities=None, options=None):
    """An editor that has a folder open."""
    started = Editor(folder)
    try:
        started.initialize(capabilities or CAPABILITIES, options)
        yield started
        started.shut_down()
    finally:
        started.close()


class Editor:
    """Says what an editor says, and keeps what it is told."""

    def __init__(self, folder):
        self.folder = folder
        self.loop = asyncio.new_event_loop()
        self.client = LanguageClient("outlive-tests", "1")
        self.documents = {}
        self.notebooks = {}
        self.published = {}
        self.messages = []
        self.requests = []
        self.settings = {}
        self.server_capabilities = None
        self._arrival = asyncio.Event()
        self._listen()
        self.wait(self.client.start_io(str(paths.program()), "lsp", cwd=folder))

    def wait(self, work):
        """Waits for an answer."""
        return self.loop.run_until_complete(asyncio.wait_for(work, PATIENCE_SECONDS))

    def until(self, holds):
        """Waits until something holds that messages bring about."""

        async def look():
            while not holds():
                self._arrival.clear()
                await self._arrival.wait()

        self.wait(look())

    def uri(self, name):
        """That of a file in the folder."""
        return (Path(self.folder) / name).as_uri()

    # Sessions

    def initialize(self, capabilities, options=None):
        converter = self.client.protocol._converter
        capabilities = converter.structure(capabilities, types.ClientCapabilities)
        result = self.wait(
            self.client.initialize_async(
                types.InitializeParams(
                    capabilities=capabilities,
                    root_uri=Path(self.folder).as_uri(),
                    initialization_options=options,
                )
            )
        )
        self.server_capabilities = result.capabilities
        self.client.initialized(types.InitializedParams())

    def shut_down(self):
        """Ends the session as the protocol says; the server's exit code."""
        self.wait(self.client.shutdown_async(None))
        self.client.exit(None)
        return self.wait(self.server.wait())

    @property
    def server(self):
        return self.client._server

    def close(self):
        if self.server.returncode is None:
            self.server.kill()
        self.wait(self.client.stop())
        self.loop.close()

    # Scripts

    def open(self, name, text, language="python"):
        document = self._remember(self.uri(name), text)
        item = types.TextDocumentItem(document.uri, language, document.version, text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return document.uri

    def change(self, uri, *changes):
        """Each is a text, or a range and a text."""
        document = self.documents[uri]
        document.version += 1
        changes = [self._apply(document, change) for change in changes]
        self.client.text_document_did_change(
            types.DidChangeTextDocumentParams(
                types.VersionedTextDocumentIdentifier(document.version, uri), changes
            )
        )

    def close_document(self, uri):
        self.client.text_document_did_close(
            types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri))
        )

    # Notebooks

    def open_notebook(self, name, *texts):
        """Opens a notebook of code cells; the URIs of the notebook and of its cells."""
        uri = self.uri(name)
        cells = [self._cell(uri, text) for text in texts]
        items = [self._item(cell.document) for cell in cells]
        notebook = types.NotebookDocument(uri, "jupyter-notebook", 1, cells)
        self.notebooks[uri] = notebook
        self.client.notebook_document_did_open(types.DidOpenNotebookDocumentParams(notebook, items))
        return uri, [cell.document for cell in cells]

    def change_cell(self, uri, cell, *changes):
        document = self.documents[cell]
        document.version += 1
        self._change_notebook(
            uri,
            text_content=[
                types.NotebookDocumentCellContentChanges(
                    types.VersionedTextDocumentIdentifier(document.version, cell),
                    [self._apply(document, change) for change in changes],
                )
            ],
        )

    def insert_cell(self, uri, index, text):
        cell = self._cell(uri, text)
        self.notebooks[uri].cells.insert(index, cell)
        self._change_notebook(
            uri,
            structure=types.NotebookDocumentCellChangeStructure(
                array=types.NotebookCellArrayChange(index, 0, [cell]),
                did_open=[self._item(cell.document)],
            ),
        )
        return cell.document

    def delete_cell(self, uri, index):
        cell = self.notebooks[uri].cells.pop(index)
        self._change_notebook(
            uri,
            structure=types.NotebookDocumentCellChangeStructure(
                array=types.NotebookCellArrayChange(index, 1),
                did_close=[types.TextDocumentIdentifier(cell.document)],
            ),
        )

    def close_notebook(self, uri):
        cells = [types.TextDocumentIdentifier(it.document) for it in self.notebooks[uri].cells]
        self.client.notebook_document_did_close(
            types.DidCloseNotebookDocumentParams(types.NotebookDocumentIdentifier(uri), cells)
        )

    # Questions

    def diagnostics(self, uri):
        """Those that were published for the present version."""
        version = self.documents[uri].version
        self.until(lambda: uri in self.published and self.published[uri].version == version)
        return self.published[uri].diagnostics

    def pulled(self, uri, previous=None):
        """The answer to `textDocument/diagnostic`."""
        parameters = types.DocumentDiagnosticParams(
            types.TextDocumentIdentifier(uri), previous_result_id=previous
        )
        report = self.wait(self.client.text_document_diagnostic_async(parameters))
        if report.kind == "full":
            report.items = list(report.items)
        return report

    def actions(self, uri, place, only=None):
        """The code actions at a place."""
        context = types.CodeActionContext(diagnostics=[], only=only)
        parameters = types.CodeActionParams(types.TextDocumentIdentifier(uri), place, context)
        return list(self.wait(self.client.text_document_code_action_async(parameters)))

    def hover(self, uri, line, character):
        parameters = types.HoverParams(
            types.TextDocumentIdentifier(uri), types.Position(line, character)
        )
        return self.wait(self.client.text_document_hover_async(parameters))

    def apply(self, action):
        """Makes the edits of an action, and tells the server so."""
        for change in action.edit.document_changes:
            uri = change.text_document.uri
            assert change.text_document.version == self.documents[uri].version
            # From the end, so that those before stay where they are.
            edits = sorted(
                change.edits,
                key=lambda edit: (edit.range.start.line, edit.range.start.character),
                reverse=True,
            )
            changes = [(edit.range, edit.new_text) for edit in edits]
            owner = self._notebook_of(uri)
            if owner:
                self.change_cell(owner, uri, *changes)
            else:
                self.change(uri, *changes)

    def text(self, uri):
        return self.documents[uri].source

    # What the server says

    def _listen(self):
        @self.client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def published(parameters):
            parameters.diagnostics = list(parameters.diagnostics)
            self.published[parameters.uri] = parameters
            self._arrival.set()

        @self.client.feature(types.WINDOW_SHOW_MESSAGE)
        def shown(parameters):
            self.messages.append(parameters.message)
            self._arrival.set()

        @self.client.feature(types.CLIENT_REGISTER_CAPABILITY)
        def registered(parameters):
            self.requests += [it.method for it in parameters.registrations]
            self._arrival.set()

        @self.client.feature(types.WORKSPACE_DIAGNOSTIC_REFRESH)
        def refreshed(parameters):
            self.requests.append(types.WORKSPACE_DIAGNOSTIC_REFRESH)
            self._arrival.set()

        @self.client.feature(types.WORKSPACE_CONFIGURATION)
        def configured(parameters):
            return [self.settings.get(item.section) for item in parameters.items]

    # What the editor keeps

    def _remember(self, uri, text):
        encoding = self.server_capabilities.position_encoding
        self.documents[uri] = TextDocument(
            uri, text, version=1, position_codec=PositionCodec(encoding)
        )
        return self.documents[uri]

    def _apply(self, document, change):
        if isinstance(change, str):
            change = types.TextDocumentContentChangeWholeDocument(change)
        else:
            change = types.TextDocumentContentChangePartial(*change)
        document.apply_change(change)
        return change

    def _cell(self, notebook, text):
        path = notebook.removeprefix("file://")
        uri = f"vscode-notebook-cell:{path}#W{len(self.documents)}sZmlsZQ%3D%3D"
        self._remember(uri, text)
        return types.NotebookCell(types.NotebookCellKind.Code, uri)

    def _item(self, uri):
        document = self.documents[uri]
        return types.TextDocumentItem(uri, "python", document.version, document.source)

    def _change_notebook(self, uri, **cells):
        notebook = self.notebooks[uri]
        notebook.version += 1
        self.client.notebook_document_did_change(
            types.DidChangeNotebookDocumentParams(
                types.VersionedNotebookDocumentIdentifier(notebook.version, uri),
                types.NotebookDocumentChangeEvent(cells=types.NotebookDocumentCellChanges(**cells)),
            )
        )

    def _notebook_of(self, uri):
        for notebook in self.notebooks.values():
            if any(cell.document == uri for cell in notebook.cells):
                return notebook.uri
        return None
