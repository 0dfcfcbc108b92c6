"""Times the language server as an editor meets it: a change of a file, then the findings.

Usage: `editor.py --rounds N OUTLIVE FILE…`. Prints the seconds of every round for each file, as
one JSON line. The client is pygls; its own work is in the figures.
"""

import argparse
import asyncio
import json
import sys
import time
from pathlib import Path

from lsprotocol import types
from pygls.lsp.client import LanguageClient


def main() -> int:
    """Measures what the command line names."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("outlive")
    parser.add_argument("files", nargs="+", type=Path)
    arguments = parser.parse_args()
    print(json.dumps(asyncio.run(session(arguments.outlive, arguments.files, arguments.rounds))))
    return 0


async def session(outlive: str, files: list[Path], rounds: int) -> dict[str, list[float]]:
    """One server for all files, as in an editor."""
    client = LanguageClient("bench", "1")
    await client.start_io(outlive, "lsp")
    pulls = types.DiagnosticClientCapabilities()
    capabilities = types.ClientCapabilities(
        text_document=types.TextDocumentClientCapabilities(diagnostic=pulls)
    )
    await client.initialize_async(types.InitializeParams(capabilities=capabilities))
    client.initialized(types.InitializedParams())
    seconds = {str(file): await edit(client, file, rounds) for file in files}
    await client.shutdown_async(None)
    client.exit(None)
    await client.stop()
    return seconds


async def edit(client: LanguageClient, file: Path, rounds: int) -> list[float]:
    """Opens a file, then types a letter in its middle, again and again."""
    text = file.read_text()
    uri = file.as_uri()
    document = types.TextDocumentItem(uri=uri, language_id="python", version=0, text=text)
    client.text_document_did_open(types.DidOpenTextDocumentParams(text_document=document))
    await findings(client, uri)
    line = len(text.splitlines()) // 2
    at = types.Position(line=line, character=0)
    seconds = []
    for version in range(1, rounds + 1):
        # A comment of its own line first, which then grows: no round finds the text it knows.
        typed = "#\n" if version == 1 else "#"
        change = types.TextDocumentContentChangePartial(
            range=types.Range(start=at, end=at), text=typed
        )
        started = time.perf_counter()
        client.text_document_did_change(
            types.DidChangeTextDocumentParams(
                text_document=types.VersionedTextDocumentIdentifier(uri=uri, version=version),
                content_changes=[change],
            )
        )
        await findings(client, uri)
        seconds.append(time.perf_counter() - started)
    closed = types.TextDocumentIdentifier(uri=uri)
    client.text_document_did_close(types.DidCloseTextDocumentParams(text_document=closed))
    return seconds


async def findings(client: LanguageClient, uri: str) -> None:
    """Asks for the findings and waits for them."""
    document = types.TextDocumentIdentifier(uri=uri)
    answer = await client.text_document_diagnostic_async(
        types.DocumentDiagnosticParams(text_document=document)
    )
    assert answer.kind == "full"


if __name__ == "__main__":
    sys.exit(main())
