//! From a stack to the line a person can change.
//!
//! Most allocations happen inside libraries; the line worth showing is the innermost one that the
//! user wrote. Places are compared as numbers and resolved once, since one line usually stands in
//! thousands of stacks.

use std::borrow::Cow;
use std::collections::HashMap;

use outlive_record::kind::StackKind;
use outlive_record::read::{Frame, Recording, Stack};

use crate::place::{Line, Place, inside_library, is_user_file, module_name};

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
    /// Bytes of tables and names that may still be walked.
    patience: usize,
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
            patience: PATIENCE,
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
                return match self.of_stack(&stack) {
                    Place::Line(line) => Some(line),
                    _ => None,
                };
            }
            creator = stack.creator;
        }
        None
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
        if self.patience == 0 {
            return false;
        }
        let file = recording.function(code, 0).file;
        self.patience = self.patience.saturating_sub(file.len());
        let answer = is_user_file(&file) || (self.string_is_user_code && file == "<string>");
        if let Some(place) = self.written_by_user.get_mut(index) {
            *place = Some(answer);
        }
        answer
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
    }
}

#[cfg(test)]
mod tests {
    use super::Places;
    use outlive_record::kind::{Attribution, StackKind};
    use outlive_record::layout::MIN_BOX_SIZE;
    use outlive_record::read::Recording;
    use outlive_record::region::Region;
    use outlive_record::write::{BoxWriter, CodeFacts, Identity, StackFacts, StackId, StringId};

    /// Places at these instructions of one function with a table of a thousand entries.
    fn black_box(offsets: &[u32]) -> Vec<u8> {
        let region = Region::leaked(MIN_BOX_SIZE);
        let writer = BoxWriter::create(region, &Identity::default());
        writer.set_python(0x030C_0100, Attribution::On);
        // Each entry covers one instruction and steps one line.
        let table = writer.add_string(&[0xD8, 0x00].repeat(1000)).unwrap();
        let file = writer.add_string(b"train.py").unwrap();
        let code = writer
            .add_code(&CodeFacts {
                file,
                name: file,
                first_line: 1,
                table,
                format: 12,
                fingerprint: 1,
                address: 1,
            })
            .unwrap();
        let facts = StackFacts {
            kind: StackKind::Python,
            thread: StringId(0),
            library: StringId(0),
            creator: StackId(0),
            flags: 0,
        };
        for &offset in offsets {
            writer
                .add_stack(&facts, [(code, offset)].into_iter())
                .unwrap();
        }
        region.to_bytes()
    }

    #[test]
    fn patience_with_a_damaged_box_ends_lines_first_and_names_after_them() {
        let bytes = black_box(&[0, 2, 4, 6]);
        let recording = Recording::read(&bytes).unwrap();
        let mut places = Places::new(Some(&recording));
        places.patience = 3000;
        let shown: Vec<String> = recording
            .stacks()
            .filter(|stack| stack.kind == Some(StackKind::Python))
            .map(|stack| places.of_stack(&stack).describe())
            .collect();
        let other = "other: the box had no room for these lines";
        assert_eq!(
            shown,
            [
                "train.py:2 in train.py",
                "train.py:1 in train.py",
                other,
                other
            ]
        );
        let again = recording.stacks().nth(1).unwrap();
        assert_eq!(places.of_stack(&again).describe(), "train.py:2 in train.py");
    }
}
