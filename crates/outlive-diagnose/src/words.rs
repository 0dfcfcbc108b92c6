//! Last words: what the process itself said before it died, and where it said so.

use outlive_record::kind::ExceptionKind;
use outlive_record::read::{ExceptionRecord, FatalSignal, Recording};

/// How many of the last lines on standard error may speak of the end. Earlier ones tell of things
/// the program survived.
const LAST_LINES: usize = 80;

/// Who said it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaker {
    /// The C library's abort message.
    AbortMessage,
    /// Type of the C++ exception in flight.
    CxxException,
    /// The Python exception that ended the main thread.
    MainException,
    /// A Python exception that ended another thread, or could not be raised.
    OtherException,
    /// Standard error.
    StandardError,
}

impl Speaker {
    /// In words.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AbortMessage => "abort message",
            Self::CxxException => "C++ exception",
            Self::MainException => "uncaught exception",
            Self::OtherException => "exception in a thread",
            Self::StandardError => "standard error",
        }
    }
}

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// Who said it.
    pub speaker: Speaker,
    /// What.
    pub line: String,
}

impl Word {
    /// As a line of evidence.
    pub fn quote(&self) -> String {
        format!("{}: {}", self.speaker.as_str(), shorten(&self.line))
    }
}

/// All last words of a process, most telling first.
pub fn collect(recording: &Recording<'_>, fatal: Option<&FatalSignal>) -> Vec<Word> {
    let mut words = Vec::new();
    if let Some(fatal) = fatal {
        push(
            &mut words,
            Speaker::AbortMessage,
            fatal.abort_message.lines(),
        );
        push(&mut words, Speaker::CxxException, [fatal.cxx_type.as_str()]);
    }
    let exceptions = recording.exceptions();
    for exception in exceptions.iter().rev() {
        let speaker = if exception.kind == Some(ExceptionKind::Main) {
            Speaker::MainException
        } else {
            Speaker::OtherException
        };
        push(&mut words, speaker, [headline(exception).as_str()]);
    }
    words.extend(standard_error(recording));
    words
}

/// The last lines on standard error, newest first.
pub fn standard_error(recording: &Recording<'_>) -> Vec<Word> {
    let mut words = Vec::new();
    let tail = recording.stderr_tail();
    push(
        &mut words,
        Speaker::StandardError,
        tail.lines().rev().take(LAST_LINES),
    );
    words
}

/// `ValueError: message`, the last line a traceback would have.
pub fn headline(exception: &ExceptionRecord) -> String {
    if exception.message.is_empty() {
        exception.type_name.clone()
    } else {
        format!("{}: {}", exception.type_name, exception.message)
    }
}

/// One line, at most 200 characters, without its terminal colours.
pub fn shorten(text: &str) -> String {
    let mut line = String::new();
    let mut characters = text.trim().chars();
    while let Some(character) = characters.next() {
        match character {
            '\u{1b}' => {
                // A colour sequence ends with a letter.
                let _ = characters.by_ref().find(char::is_ascii_alphabetic);
            }
            '\n' | '\t' => line.push(' '),
            _ if character.is_control() => {}
            _ => line.push(character),
        }
        if line.chars().count() >= 200 {
            line.push('…');
            break;
        }
    }
    line
}

fn push<'a>(words: &mut Vec<Word>, speaker: Speaker, lines: impl IntoIterator<Item = &'a str>) {
    let spoken = lines
        .into_iter()
        .map(str::trim)
        .filter(|line| !line.is_empty());
    words.extend(spoken.map(|line| Word {
        speaker,
        line: line.to_owned(),
    }));
}

#[cfg(test)]
mod tests {
    use super::shorten;

    #[test]
    fn a_quote_is_one_plain_line() {
        assert_eq!(shorten("  \u{1b}[31mred\u{1b}[0m\nnext\u{7}  "), "red next");
        assert_eq!(shorten(&"x".repeat(500)).chars().count(), 201);
    }
}
