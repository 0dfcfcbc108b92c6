//! From a stack to the line a person can change.
//!
//! Most allocations happen inside libraries; the line worth showing is the innermost one that the
//! user wrote. Places are compared as numbers and resolved once, since one line usually stands in
//! thousands of stacks.

use std::borrow::Cow;
use std::collections::HashMap;

use outlive_record::kind::StackKind;
use outlive_record::read::{Frame, Recording, Stack};

use crate::cells::Cells;
use crate::place::{Line, Place, inside_library, is_ipython_file, is_user_file, module_name};

/// More code objects than the largest box has room for; higher numbers are damage.
const MOST_CODES: usize = 1 << 22;
/// Deeper than the recorder follows; a stack that says more is damaged.
const DEEPEST: usize = 256;
/// Threads that started each other between the line of Python and the one that is named.
const THREADS_BETWEEN: usize = 16;
/// What may be walked in all: a fraction of a second's work, and several times what a real box
/// needs.
const PATIENCE: usize = 128 << 20;

/// What a stack is grouped by before anything is decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Key {
    /// Code object and instruction offset.
    Instruction(u32, u32),
    /// A stack that stands for itself.
    Stack(u32),
    /// `IPython` at its own work.
    Ipython,
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

/// Whose code a code object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Author {
    User,
    Ipython,
    Library,
}

/// Resolves the stacks of one recording.
#[derive(Debug)]
pub struct Places<'a> {
    recording: Option<&'a Recording<'a>>,
    cells: &'a Cells,
    /// Per code object: who wrote it, once that was asked.
    authors: Vec<Option<Author>>,
    resolved: HashMap<(u32, u32), Place>,
    string_is_user_code: bool,
    /// Bytes of tables and names that may still be walked.
    patience: usize,
}

impl<'a> Places<'a> {
    /// Nothing is decoded yet.
    pub fn new(recording: Option<&'a Recording<'a>>, cells: &'a Cells) -> Self {
        // With `python -c` the user's code has the file name that generated code has elsewhere.
        let string_is_user_code = recording
            .is_some_and(|recording| recording.identity().argv.iter().any(|word| word == "-c"));
        Self {
            recording,
            cells,
            authors: Vec::new(),
            resolved: HashMap::new(),
            string_is_user_code,
            patience: PATIENCE,
        }
    }

    /// The user's place of a stack; at this time, if the stack is in a cell of a notebook.
    pub fn of_stack(&mut self, stack: &Stack, time: u64) -> Place {
        let key = self.key(stack);
        let mut place = self.of_key(key);
        self.cells.mark(&mut place, time);
        place
    }

    /// All places of a Python stack at this time, innermost first, at most `most`.
    pub(crate) fn frames(&mut self, stack: &Stack, time: u64, most: usize) -> Vec<Place> {
        let Some(recording) = self.recording else {
            return Vec::new();
        };
        let frames = recording.places(stack).take(most);
        frames
            .map(|(code, offset)| {
                let mut place = self.line(code, offset);
                self.cells.mark(&mut place, time);
                place
            })
            .collect()
    }

    /// The user's line of a stack, or that of whoever started its thread.
    pub(crate) fn line_of(&mut self, stack: u32, time: u64) -> Option<Line> {
        let stack = self.recording?.stack(stack).filter(|it| it.id != 0)?;
        self.of_stack(&stack, time).line().cloned()
    }

    /// All lines of Python that led to a stack, innermost first; of a thread without Python, those
    /// that started it.
    pub(crate) fn lines(&mut self, stack: u32, time: u64) -> Vec<Line> {
        let Some(recording) = self.recording else {
            return Vec::new();
        };
        let mut stack = recording.stack(stack);
        for _ in 0..THREADS_BETWEEN {
            match &stack {
                Some(it) if it.kind == Some(StackKind::Native) && it.creator != 0 => {
                    stack = recording.stack(it.creator);
                }
                _ => break,
            }
        }
        let frames = stack.map_or_else(Vec::new, |it| self.frames(&it, time, DEEPEST));
        let lines = frames.into_iter().filter_map(|place| match place {
            Place::Line(line) => Some(line),
            _ => None,
        });
        lines.collect()
    }

    /// Says which cell a place is in that was found by its key.
    pub(crate) fn mark(&self, place: &mut Place, time: u64) {
        self.cells.mark(place, time);
    }

    /// What a stack is grouped by: its innermost frame of the user's, else its innermost, unless
    /// that is `IPython`'s doing.
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
        let mut otherwise = Key::Other;
        for (code, offset) in recording.places(stack).take(DEEPEST) {
            match self.author(recording, code) {
                Author::User => return Key::Instruction(code, offset),
                Author::Ipython => otherwise = Key::Ipython,
                Author::Library if otherwise == Key::Other => {
                    otherwise = Key::Instruction(code, offset);
                }
                Author::Library => {}
            }
        }
        otherwise
    }

    /// What a key is called.
    pub(crate) fn name(&mut self, key: Key) -> Name<'a> {
        match (key, self.recording) {
            (Key::Instruction(code, offset), Some(recording)) => {
                match self.frame(recording, code, offset) {
                    Some(frame) => Name::Line(frame.file, frame.line, frame.function),
                    None => Name::Place(Place::Other),
                }
            }
            _ => Name::Place(self.of_key(key)),
        }
    }

    /// The place behind a key.
    pub(crate) fn of_key(&mut self, key: Key) -> Place {
        match key {
            Key::Instruction(code, offset) => self.line(code, offset),
            Key::Stack(id) => self.thread(id),
            Key::Ipython => Place::Ipython,
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
        let Place::Line(Line {
            file,
            line,
            function,
            ..
        }) = innermost
        else {
            return None;
        };
        // The import machinery calls whatever a module does first.
        if file.starts_with("<frozen ") {
            return self.imported(stack);
        }
        let line = line.map_or_else(String::new, |line| format!(":{line}"));
        Some(format!("{}{line} {function}", inside_library(&file)))
    }

    /// The module that a stack inside the import machinery was importing, if a package names it.
    fn imported(&mut self, stack: &Stack) -> Option<String> {
        let recording = self.recording?;
        recording
            .places(stack)
            .take(DEEPEST)
            .find_map(|(code, offset)| {
                let Place::Line(line) = self.line(code, offset) else {
                    return None;
                };
                module_name(&line.file)
            })
    }

    fn line(&mut self, code: u32, offset: u32) -> Place {
        let Some(recording) = self.recording else {
            return Place::Other;
        };
        if let Some(place) = self.resolved.get(&(code, offset)) {
            return place.clone();
        }
        let frame = self.frame(recording, code, offset);
        let place = frame.map_or(Place::Other, |frame| Place::Line(line_of(&frame)));
        self.resolved.insert((code, offset), place.clone());
        place
    }

    /// Decodes a place, as long as there is patience: a damaged box may have one table of many
    /// megabytes for ten thousands of places. Then lines are missing first, names after them.
    fn frame(&mut self, recording: &Recording<'a>, code: u32, offset: u32) -> Option<Frame<'a>> {
        if self.patience == 0 {
            return None;
        }
        let table = recording.line_table_length(code);
        let frame = if table <= self.patience {
            recording.frame(code, offset)
        } else {
            recording.function(code, offset)
        };
        let cost = table
            .saturating_add(frame.file.len())
            .saturating_add(frame.function.len());
        self.patience = self.patience.saturating_sub(cost);
        Some(frame)
    }

    fn thread(&mut self, id: u32) -> Place {
        let Some((recording, stack)) = self
            .recording
            .and_then(|recording| Some((recording, recording.stack(id)?)))
        else {
            return Place::Other;
        };
        let name = recording.thread_name(&stack);
        Place::Thread {
            name: if name.is_empty() {
                "without a name".to_owned()
            } else {
                name.into_owned()
            },
            library: recording.library(&stack).into_owned(),
            started_at: self.starter(recording, stack.creator),
        }
    }

    /// The line of Python behind a thread; threads start threads.
    fn starter(&mut self, recording: &Recording<'a>, creator: u32) -> Option<Line> {
        let mut creator = creator;
        for _ in 0..THREADS_BETWEEN {
            if creator == 0 {
                return None;
            }
            let stack = recording.stack(creator)?;
            if stack.kind == Some(StackKind::Python) {
                let key = self.key(&stack);
                return match self.of_key(key) {
                    Place::Line(line) => Some(line),
                    _ => None,
                };
            }
            creator = stack.creator;
        }
        None
    }

    /// Asked for every frame of every stack, so the answers lie in a plain array.
    fn author(&mut self, recording: &Recording<'_>, code: u32) -> Author {
        let index = code as usize;
        if index >= MOST_CODES {
            return Author::Library;
        }
        if index >= self.authors.len() {
            self.authors.resize(index + 1, None);
        }
        if let Some(Some(known)) = self.authors.get(index) {
            return *known;
        }
        if self.patience == 0 {
            return Author::Library;
        }
        let file = recording.function(code, 0).file;
        self.patience = self.patience.saturating_sub(file.len());
        let author = self.author_of(&file);
        if let Some(place) = self.authors.get_mut(index) {
            *place = Some(author);
        }
        author
    }

    fn author_of(&self, file: &str) -> Author {
        if self.cells.has(file) {
            Author::User
        } else if is_ipython_file(file) {
            Author::Ipython
        } else if is_user_file(file) || (self.string_is_user_code && file == "<string>") {
            Author::User
        } else {
            Author::Library
        }
    }
}

fn line_of(frame: &Frame<'_>) -> Line {
    Line {
        file: if frame.file.is_empty() {
            "<unknown>".to_owned()
        } else {
            frame.file.to_string()
        },
        line: frame
            .line
            .or((frame.first_line > 0).then_some(frame.first_line)),
        function: frame.function.to_string(),
        cell: None,
    }
}

#[cfg(test)]
mod tests;
