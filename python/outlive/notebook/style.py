"""How a block looks: inline, so that it needs no style sheet and survives a saved notebook.

Colours are those of JupyterLab's theme, else of VS Code's, else fixed ones that can be read on
white and on black.
"""

_WARN = "var(--jp-warn-color1, var(--vscode-editorWarning-foreground, #c77700))"
_LINE = "var(--jp-border-color2, var(--vscode-panel-border, rgba(128, 128, 128, 0.35)))"
_SOFT = "var(--jp-layout-color2, var(--vscode-textCodeBlock-background, rgba(128, 128, 128, 0.12)))"
_MONO = "var(--jp-code-font-family, var(--vscode-editor-font-family, monospace))"

BLOCK = (
    f"border: 1px solid {_LINE}; border-left: 4px solid {_WARN}; padding: 8px 12px; "
    "margin: 4px 0; line-height: 1.45; max-width: 72em; overflow-x: auto"
)
HEADLINE = "font-weight: 600"
CODE = f"background: {_SOFT}; font-family: {_MONO}; margin: 4px 0; padding: 2px 8px"
# JupyterLab gives all columns of a table one width; these have little in common.
TABLE = (
    "color: inherit; border-collapse: collapse; margin: 4px 0; border: none; font-size: inherit; "
    "table-layout: auto; width: auto"
)
ROW = "background: transparent"
SIZE = "text-align: right; white-space: nowrap; padding: 1px 10px 1px 0; vertical-align: top"
NAME = (
    f"text-align: left; white-space: nowrap; padding: 1px 10px 1px 0; font-family: {_MONO}; "
    "vertical-align: top"
)
WHAT = "text-align: left; padding: 1px 0; vertical-align: top"
LABEL = "text-align: left; white-space: nowrap; padding: 1px 10px 1px 0; vertical-align: top"
HINTS = "margin: 4px 0; padding-left: 1.4em"
DETAILS = "margin-top: 4px; opacity: 0.85"
