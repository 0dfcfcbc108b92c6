//! From a stack to the line a person can change.
//!
//! Most allocations happen inside libraries; the line worth showing is the innermost one that the
//! user wrote. Places are compared as numbers and resolved once, since one line usually stands in
//! thousands of stacks.

use std::borrow::Cow;
use std::collections::HashMap;

use outlive_record::kind::StackKind;
use outlive_record::read::{Frame, Recording, Stack};

/// More code objects than the largest box has room for; higher numbers are damage.
const MOST_CODES: usize = 1 << 22;
/// Deeper than the recorder follows; a stack that says more is damaged.
const DEEPEST: usize = 256;

/// Where memory was acquired.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Place {
    /// A line of Python.
    Line {
        /// File, as the interpreter names it.
        file: String,
        /// Line, if the table has one.
        line: Option<u32>,
        /// Qualified name.
        function: String,
    },
    /// A thread without Python frames.
    Thread {
        /// Its name.
        name: String,
        /// Library that asked.
        library: String,
        /// `file:line` that created the thread; empty when not known.
        created_at: String,
    },
    /// Before the interpreter could be asked.
    StartUp,
    /// Stacks that found no room in the box.
    Other,
}

impl Place {
    /// `train.py:17 in step`, `thread NAME (library)`.
    pub fn describe(&self) -> String {
        match self {
            Self::Line {
                file,
                line,
                function,
            } => {
                let mut text = match line {
                    Some(line) => format!("{}:{line}", short_path(file)),
                    None => short_path(file).to_owned(),
                };
                if !function.is_empty() {
                    text.push_str(" in ");
                    text.push_str(function);
                }
                text
            }
            Self::Thread { name, library, .. } => match library.rsplit('/').next() {
                Some(library) if !library.is_empty() => format!("thread {name} ({library})"),
                _ => format!("thread {name}"),
            },
            Self::StartUp => "start of the process, before Python ran".to_owned(),
            Self::Other => "other (the tables of the box were full)".to_owned(),
        }
    }

    /// `file:line` that created the thread, where that is known.
    pub fn created_at(&self) -> Option<&str> {
        match self {
            Self::Thread { created_at, .. } if !created_at.is_empty() => Some(created_at),
            _ => None,
        }
    }
}

/// What a stack is grouped by before anything is decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Key {
    /// Code object and instruction offset.
    Instruction(u32, u32),
    /// A stack that stands for itself.
    Stack(u32),
    /// Start of the process.
    StartUp,
    /// No room.
    Other,
}

/// What a key is called: keys with one name are one place to a person. Borrowed from the box,
/// since there are tens of thousands and few are shown.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Name<'a> {
    /// File, line and function.
    Line(Cow<'a, str>, Option<u32>, Cow<'a, str>),
    /// Anything else.
    Place(Place),
}

/// Resolves the stacks of one recording.
#[derive(Debug)]
pub struct Places<'a> {
    recording: Option<&'a Recording<'a>>,
    /// Per code object: whether the user wrote it, once that was asked.
    written_by_user: Vec<Option<bool>>,
    resolved: HashMap<(u32, u32), Place>,
    string_is_user_code: bool,
}

impl<'a> Places<'a> {
    /// Nothing is decoded yet.
    pub fn new(recording: Option<&'a Recording<'a>>) -> Self {
        // With `python -c` the user's code has the file name that generated code has elsewhere.
        let string_is_user_code = recording
            .is_some_and(|recording| recording.identity().argv.iter().any(|word| word == "-c"));
        Self {
            recording,
            written_by_user: Vec::new(),
            resolved: HashMap::new(),
            string_is_user_code,
        }
    }

    /// The user's place of a stack.
    pub fn of_stack(&mut self, stack: &Stack) -> Place {
        let key = self.key(stack);
        self.of_key(key)
    }

    /// All places of a Python stack, innermost first, at most `most`.
    pub(crate) fn frames(&mut self, stack: &Stack, most: usize) -> Vec<Place> {
        let Some(recording) = self.recording else {
            return Vec::new();
        };
        recording
            .places(stack)
            .take(most)
            .map(|(code, offset)| self.line(code, offset))
            .collect()
    }

    /// What a stack is grouped by: its innermost frame of the user's, else its innermost.
    pub(crate) fn key(&mut self, stack: &Stack) -> Key {
        let Some(recording) = self.recording else {
            return Key::Other;
        };
        match stack.kind {
            Some(StackKind::Python) => {}
            Some(StackKind::Native) => return Key::Stack(stack.id),
            Some(StackKind::StartUp) => return Key::StartUp,
            Some(StackKind::Other) | None => return Key::Other,
        }
        let mut innermost = None;
        for (code, offset) in recording.places(stack).take(DEEPEST) {
            innermost = innermost.or(Some((code, offset)));
            if self.is_written_by_user(recording, code) {
                return Key::Instruction(code, offset);
            }
        }
        innermost.map_or(Key::Other, |(code, offset)| Key::Instruction(code, offset))
    }

    /// What a key is called.
    pub(crate) fn name(&mut self, key: Key) -> Name<'a> {
        match (key, self.recording) {
            (Key::Instruction(code, offset), Some(recording)) => {
                let frame = recording.frame(code, offset);
                Name::Line(frame.file, frame.line, frame.function)
            }
            _ => Name::Place(self.of_key(key)),
        }
    }

    /// The place behind a key.
    pub(crate) fn of_key(&mut self, key: Key) -> Place {
        match key {
            Key::Instruction(code, offset) => self.line(code, offset),
            Key::Stack(id) => self.thread(id),
            Key::StartUp => Place::StartUp,
            Key::Other => Place::Other,
        }
    }

    /// The innermost frame, when it is not the shown place itself: `torch/nn/functional.py:123
    /// conv2d`.
    pub(crate) fn via(&mut self, stack: &Stack, shown: &Place) -> Option<String> {
        let (code, offset) = self.recording?.places(stack).next()?;
        let innermost = self.line(code, offset);
        if innermost == *shown {
            return None;
        }
        let Place::Line {
            file,
            line,
            function,
        } = innermost
        else {
            return None;
        };
        let line = line.map_or_else(String::new, |line| format!(":{line}"));
        Some(format!("{}{line} {function}", inside_library(&file)))
    }

    fn line(&mut self, code: u32, offset: u32) -> Place {
        let Some(recording) = self.recording else {
            return Place::Other;
        };
        self.resolved
            .entry((code, offset))
            .or_insert_with(|| place_of(&recording.frame(code, offset)))
            .clone()
    }

    fn thread(&mut self, id: u32) -> Place {
        let Some(recording) = self.recording else {
            return Place::Other;
        };
        let Some(stack) = recording.stack(id) else {
            return Place::Other;
        };
        // A thread's creator is a stack of its own, itself perhaps of a thread: one step is enough.
        let creator = (stack.creator != 0)
            .then(|| recording.stack(stack.creator))
            .flatten();
        let created_at = match creator.map(|creator| self.of_stack_of_python(&creator)) {
            Some(Some(Place::Line {
                file,
                line: Some(line),
                ..
            })) => {
                format!("{}:{line}", short_path(&file))
            }
            _ => String::new(),
        };
        let name = recording.thread_name(&stack);
        Place::Thread {
            name: if name.is_empty() {
                "without a name".to_owned()
            } else {
                name.into_owned()
            },
            library: recording.library(&stack).into_owned(),
            created_at,
        }
    }

    fn of_stack_of_python(&mut self, stack: &Stack) -> Option<Place> {
        (stack.kind == Some(StackKind::Python)).then(|| self.of_stack(stack))
    }

    /// Asked for every frame of every stack, so the answers lie in a plain array.
    fn is_written_by_user(&mut self, recording: &Recording<'_>, code: u32) -> bool {
        let index = code as usize;
        if index >= MOST_CODES {
            return false;
        }
        if index >= self.written_by_user.len() {
            self.written_by_user.resize(index + 1, None);
        }
        if let Some(Some(known)) = self.written_by_user.get(index) {
            return *known;
        }
        let file = recording.frame(code, 0).file;
        let answer = is_user_file(&file) || (self.string_is_user_code && file == "<string>");
        if let Some(place) = self.written_by_user.get_mut(index) {
            *place = Some(answer);
        }
        answer
    }
}

fn place_of(frame: &Frame<'_>) -> Place {
    Place::Line {
        file: if frame.file.is_empty() {
            "<unknown>".to_owned()
        } else {
            frame.file.to_string()
        },
        line: frame
            .line
            .or((frame.first_line > 0).then_some(frame.first_line)),
        function: frame.function.to_string(),
    }
}

/// Whether a file is neither the standard library's, nor an installed package's, nor generated.
fn is_user_file(file: &str) -> bool {
    if file.is_empty() {
        return false;
    }
    if file.starts_with('<') {
        return file == "<stdin>" || file.starts_with("<ipython-input");
    }
    let mut before = "";
    for part in file.split('/') {
        let library_folder = before.starts_with("lib") && part.starts_with("python3");
        if part == "site-packages" || part == "dist-packages" || library_folder {
            return false;
        }
        before = part;
    }
    !(before.starts_with("python3") && file.contains(".zip"))
}

/// A library's file without the folders that lead to it.
fn inside_library(file: &str) -> &str {
    for mark in ["site-packages/", "dist-packages/"] {
        if let Some((_, inside)) = file.rsplit_once(mark) {
            return inside;
        }
    }
    match file
        .split_once("/lib/python3.")
        .and_then(|(_, rest)| rest.split_once('/'))
    {
        Some((_, inside)) => inside,
        None => short_path(file),
    }
}

/// The last two parts of a path: enough to know a file by.
pub(crate) fn short_path(file: &str) -> &str {
    let mut slashes = file.rmatch_indices('/');
    match (slashes.next(), slashes.next()) {
        (Some(_), Some((place, _))) if file.len() > 40 => file.get(place + 1..).unwrap_or(file),
        _ => file,
    }
}

#[cfg(test)]
mod tests {
    use super::{inside_library, is_user_file};

    #[test]
    fn installed_and_generated_code_is_not_the_users() {
        for file in [
            "/usr/lib/python3.11/json/decoder.py",
            "/opt/py/lib64/python3.9/threading.py",
            "/home/a/venv/lib/python3.12/site-packages/torch/nn/functional.py",
            "/usr/lib/python3/dist-packages/numpy/core.py",
            "<frozen importlib._bootstrap>",
            "<string>",
            "<__array_function__ internals>",
            "",
        ] {
            assert!(!is_user_file(file), "{file}");
        }
    }

    #[test]
    fn scripts_and_cells_are_the_users() {
        for file in [
            "train.py",
            "/home/a/python3/train.py",
            "/home/a/lib/train.py",
            "/tmp/ipykernel_12/3456.py",
            "<stdin>",
            "<ipython-input-3-abc>",
        ] {
            assert!(is_user_file(file), "{file}");
        }
    }

    #[test]
    fn library_files_are_named_from_their_package_on() {
        assert_eq!(
            inside_library("/v/lib/python3.12/site-packages/torch/nn/functional.py"),
            "torch/nn/functional.py"
        );
        assert_eq!(
            inside_library("/usr/lib/python3.11/json/decoder.py"),
            "json/decoder.py"
        );
    }
}
