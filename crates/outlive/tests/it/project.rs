//! A folder of source files, and `outlive check` in it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde::Serialize;
use serde_json::ser::PrettyFormatter;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::context::text;

/// A loop with one finding: a warning, `OL101`, with a safe fix. The line is the eighth.
pub(crate) const LEAK: &str = "\
import torch

def train(model, criterion, optimizer, loader):
    total_loss = 0
    for x, y in loader:
        loss = criterion(model(x), y)
        loss.backward()
        total_loss += loss
        optimizer.step()
    return total_loss
";

/// A loop with a warning and an error, neither of which has a safe fix.
pub(crate) const EVALUATION: &str = "\
import torch
from torch import nn

model = nn.Linear(4, 1)
criterion = nn.MSELoss()

def validate(loader):
    total_loss = 0
    for x, y in loader:
        loss = criterion(model(x), y)
        total_loss += loss
    print(float(total_loss))
";

/// Nothing is wrong with it.
pub(crate) const SOUND: &str = "import torch\n\nx = torch.zeros(3)\n";

pub(crate) struct Project {
    folder: TempDir,
}

impl Project {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let project = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        for (path, text) in files {
            project.write(path, text);
        }
        project
    }

    pub(crate) fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.folder.path().join(path)
    }

    pub(crate) fn write(&self, path: impl AsRef<Path>, text: &str) {
        let path = self.path(path);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs_err::read_to_string(self.path(path)).unwrap()
    }

    /// `outlive` with these arguments, in the folder.
    pub(crate) fn outlive(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_outlive"));
        command
            .args(arguments)
            .current_dir(self.folder.path())
            // What git is told to ignore everywhere is not part of the test.
            .env("XDG_CONFIG_HOME", self.folder.path())
            .env("HOME", self.folder.path())
            .stdin(Stdio::null());
        command
    }

    /// The same as a user who may not do everything. The program lies in the folder, since its own
    /// may be out of reach.
    pub(crate) fn outlive_of_nobody(&self, arguments: &[&str]) -> Command {
        const NOBODY: u32 = 65_534;
        let program = self.path("outlive");
        fs_err::copy(env!("CARGO_BIN_EXE_outlive"), &program).unwrap();
        let mut command = Command::new(program);
        command.args(arguments).current_dir(self.folder.path());
        command.uid(NOBODY).gid(NOBODY);
        command
    }

    /// `outlive check` with these arguments.
    pub(crate) fn check(&self, arguments: &[&str]) -> Output {
        let mut command = self.outlive(&["check"]);
        command.args(arguments).output().unwrap()
    }

    /// Where something is found, in the order of the output: `train.py:8`.
    pub(crate) fn found(&self, arguments: &[&str]) -> Vec<String> {
        let value = self.json(arguments);
        let findings = value["findings"].as_array().unwrap().iter();
        findings
            .map(|found| format!("{}:{}", found["path"].as_str().unwrap(), found["line"]))
            .collect()
    }

    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let output = self.check(&[&["--format", "json"], arguments].concat());
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

/// A notebook as JupyterLab writes it: text, an output, the code, a shell cell.
pub(crate) fn notebook(code: &str) -> String {
    let lines: Vec<&str> = code.trim_end().split_inclusive('\n').collect();
    let value = json!({
        "cells": [
            { "cell_type": "markdown", "metadata": {}, "source": ["# Training\n", "é \u{1f600}"] },
            {
                "cell_type": "code",
                "execution_count": 3,
                "metadata": { "tags": ["kept"] },
                "outputs": [{ "name": "stdout", "output_type": "stream", "text": ["total_loss += loss\n"] }],
                "source": lines,
            },
            {
                "cell_type": "code",
                "execution_count": null,
                "metadata": {},
                "outputs": [],
                "source": ["%%bash\n", "ls"],
            },
        ],
        "metadata": { "kernelspec": { "name": "python3", "language": "python" } },
        "nbformat": 4,
        "nbformat_minor": 5,
    });
    // Not as we would write it, so that nothing can be right by chance.
    let formatter = PrettyFormatter::with_indent(b"   ");
    let mut bytes = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
    value.serialize(&mut serializer).unwrap();
    text(&bytes).replace('é', "\\u00e9") + "\n\n"
}

/// A file name that breaks lines, terminals, commands and encodings.
pub(crate) fn hostile_name() -> &'static OsStr {
    OsStr::from_bytes(b"a\n::error::b,c:\x1b[31m\"<&>%\xff.py")
}

pub(crate) fn stdout(output: &Output) -> &str {
    text(&output.stdout)
}
