//! What a function reads and decodes, with all that it calls in the file.

use std::collections::HashSet;

use crate::front::{Ranged, TextRange};
use crate::model::File;
use crate::model::facts::Call;
use crate::model::value::{FunctionId, Kind, Value};

/// Functions of TensorFlow that decode what people keep in files.
const DECODES: [&str; 8] = [
    "decode_and_crop_jpeg",
    "decode_bmp",
    "decode_gif",
    "decode_image",
    "decode_jpeg",
    "decode_png",
    "decode_video",
    "decode_wav",
];

/// What a function does with files.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Decoding {
    /// It reads one.
    pub reads: bool,
    /// It decodes a picture or a sound.
    pub decodes: bool,
    /// It makes pictures of one size.
    pub resizes: bool,
}

/// What this function of a pipeline does.
pub(super) fn decoding(file: &File<'_>, function: &Value<'_>) -> Decoding {
    let mut work = Work {
        file,
        seen: HashSet::new(),
        found: Decoding::default(),
    };
    match &function.kind {
        Kind::Function(id) | Kind::Method(_, id) => work.function(*id),
        Kind::Lambda(node) => work.within(node.range()),
        Kind::Path(path) => work.path(path),
        _ => {}
    }
    work.found
}

struct Work<'s, 'a> {
    file: &'s File<'a>,
    seen: HashSet<FunctionId>,
    found: Decoding,
}

impl Work<'_, '_> {
    fn function(&mut self, id: FunctionId) {
        if !self.seen.insert(id) {
            return;
        }
        let file = self.file;
        let scope = file.scope_of(id);
        for call in scope.iter().flat_map(|scope| &scope.calls) {
            self.call(call);
        }
    }

    /// The calls in a `lambda`, which are written down where it stands.
    fn within(&mut self, range: TextRange) {
        let file = self.file;
        let calls = file.scopes.iter().flat_map(|scope| &scope.calls);
        for call in calls.filter(|call| range.contains_range(call.node.range())) {
            self.call(call);
        }
    }

    fn call(&mut self, call: &Call<'_>) {
        if let Some(path) = &call.path {
            self.path(path);
        }
        if let Some(id) = call.function {
            self.function(id);
        }
    }

    fn path(&mut self, path: &str) {
        let is_tensorflow = path.starts_with("tensorflow.");
        let name = path.rsplit('.').next().unwrap_or_default();
        self.found.reads |= is_tensorflow && matches!(name, "read_file");
        self.found.decodes |= is_tensorflow && DECODES.contains(&name);
        self.found.resizes |= is_tensorflow && name.starts_with("resize");
    }
}
