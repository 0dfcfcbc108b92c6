//! Exceptions that ended a thread: the program goes on, so no verdict tells of them, and often
//! nobody else does.

use outlive_record::kind::ExceptionKind;
use outlive_record::read::{ExceptionRecord, Recording};

use crate::cells::Cells;
use crate::place::Line;
use crate::traceback;
use crate::words::{headline, shorten};

/// At most this many are kept, the last ones: threads of a pool fail alike.
const MOST: usize = 8;

/// An exception that ended a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadException {
    /// Process.
    pub pid: u32,
    /// Name of the thread.
    pub thread: String,
    /// Type of the exception.
    pub type_name: String,
    /// Its message.
    pub message: String,
    /// The innermost line the user wrote: `/home/a/train.py:3 in work`.
    pub place: Option<String>,
    /// The same as a line.
    pub line: Option<Line>,
}

impl ThreadException {
    /// `loader: ValueError: no such shard at /home/a/train.py:3 in work`.
    pub fn describe(&self) -> String {
        let mut text = format!("{}: {}", self.thread, self.type_name);
        if !self.message.is_empty() {
            text.push_str(": ");
            text.push_str(&shorten(&self.message));
        }
        if let Some(place) = &self.place {
            text.push_str(" at ");
            text.push_str(place);
        }
        text
    }

    fn of(pid: u32, record: &ExceptionRecord, cells: &Cells) -> Self {
        let thread = match record.thread.as_str() {
            "" => "without a name".to_owned(),
            name => name.to_owned(),
        };
        Self {
            pid,
            thread,
            type_name: record.type_name.clone(),
            message: record.message.clone(),
            place: traceback::own_line(record, cells),
            line: traceback::lines(record, cells)
                .into_iter()
                .rfind(Line::is_users),
        }
    }
}

/// What ended threads of these processes, oldest first in each.
pub(crate) fn thread_exceptions<'a>(
    recordings: impl IntoIterator<Item = &'a Recording<'a>>,
    cells: &Cells,
) -> Vec<ThreadException> {
    let mut all = Vec::new();
    for recording in recordings {
        let pid = recording.identity().pid;
        let mut records = recording.exceptions();
        records.retain(|record| record.kind == Some(ExceptionKind::Thread));
        // A record that a later one repeats word for word, in a thread of the same name.
        records.dedup_by(|right, left| {
            right.thread == left.thread && headline(right) == headline(left)
        });
        let surplus = records.len().saturating_sub(MOST);
        let kept = records.iter().skip(surplus);
        all.extend(kept.map(|record| ThreadException::of(pid, record, cells)));
    }
    all
}
