//! Python stacks at a fatal signal.

use outlive_record::read::{FatalSignal, Recording};

use crate::place::Place;
use crate::places::Places;

/// Frames shown of each thread at a fatal signal.
const FRAMES_SHOWN: usize = 32;

/// A thread's Python stack, innermost first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadStack {
    /// Thread id.
    pub tid: u32,
    /// Its name.
    pub name: String,
    /// The innermost line the user wrote.
    pub own: Option<Place>,
    /// Where it was.
    pub frames: Vec<Place>,
}

/// The stacks of all threads, that of the one it struck first.
pub(crate) fn threads(
    recording: Option<&Recording<'_>>,
    fatal: Option<&FatalSignal>,
    places: &mut Places<'_>,
) -> Vec<ThreadStack> {
    let (Some(recording), Some(fatal)) = (recording, fatal) else {
        return Vec::new();
    };
    let threads = fatal.threads.iter();
    threads
        .map(|thread| {
            let stack = recording.stack(thread.stack).filter(|stack| stack.id != 0);
            ThreadStack {
                tid: thread.tid,
                name: thread.name.clone(),
                own: stack
                    .as_ref()
                    .map(|stack| places.of_stack(stack, fatal.time)),
                frames: stack
                    .map_or_else(Vec::new, |it| places.frames(&it, fatal.time, FRAMES_SHOWN)),
            }
        })
        .collect()
}

/// Where it struck.
pub(crate) fn struck_at(thread: &ThreadStack) -> Option<String> {
    let innermost = thread.frames.first()?;
    Some(match &thread.own {
        Some(own) if own.line().is_some() && own != innermost => {
            format!(
                "Python was at {}, called at {}",
                innermost.describe(),
                own.describe()
            )
        }
        _ => format!("Python was at {}", innermost.describe()),
    })
}
