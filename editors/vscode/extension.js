// Starts `outlive lsp` and connects it with VS Code. Everything else is the server's.

"use strict";

const { commands, window, workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

const SECTION = "outlive";
// What the server wants to know at its start; it asks for changes itself.
const WANTED = ["select", "ignore", "info", "budget"];
// Not the other side of a comparison, nor what is in a repository.
const SCHEMES = ["file", "untitled", "vscode-notebook-cell"];

let client;

async function start() {
  const settings = workspace.getConfiguration(SECTION);
  const path = settings.get("path");
  const server = { command: path, args: ["lsp"] };
  client = new LanguageClient(SECTION, "Outlive", server, {
    documentSelector: SCHEMES.map((scheme) => ({ scheme, language: "python" })),
    initializationOptions: Object.fromEntries(
      WANTED.map((name) => [name, settings.get(name)]),
    ),
  });
  try {
    await client.start();
  } catch (error) {
    window.showErrorMessage(`Cannot start \`${path} lsp\`: ${error.message}`);
  }
}

async function stop() {
  const stopped = client;
  client = undefined;
  // One that never started cannot be stopped.
  if (stopped?.isRunning()) {
    await stopped.stop();
  }
}

async function restart() {
  await stop();
  await start();
}

async function activate(context) {
  context.subscriptions.push(
    commands.registerCommand("outlive.restart", restart),
    workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration(`${SECTION}.path`)) {
        restart();
      }
    }),
  );
  await start();
}

module.exports = { activate, deactivate: stop };
