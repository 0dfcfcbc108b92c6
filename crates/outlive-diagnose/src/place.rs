//! Where memory was acquired, as a person says it, and whose code that is.

/// Where memory was acquired.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Place {
    /// A line of Python.
    Line(Line),
    /// A thread without Python frames.
    Thread {
        /// Its name.
        name: String,
        /// Library that asked.
        library: String,
        /// The line of Python that started it, directly or through other threads.
        started_at: Option<Line>,
    },
    /// `IPython` or a notebook's kernel at its own work: its start, its imports, its messages.
    Ipython,
    /// Before the interpreter could be asked.
    StartUp,
    /// Stacks that found no room in the box.
    Other,
}

/// A line of Python.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Line {
    /// File, as the interpreter names it.
    pub file: String,
    /// Line, if the table has one.
    pub line: Option<u32>,
    /// Qualified name.
    pub function: String,
    /// The cell of a notebook that it is in.
    pub cell: Option<CellLine>,
}

/// What a notebook says of a line.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CellLine {
    /// Execution count of the cell.
    pub count: u64,
    /// The notebook's own name of the cell, if it is known.
    pub id: Option<String>,
    /// The line as it stands in the cell.
    pub text: Option<String>,
}

impl Line {
    /// `train.py:17 in step`, `cell [3] line 2`.
    pub fn describe(&self) -> String {
        let file = short_path(&self.file);
        let mut text = match (&self.cell, self.line) {
            (Some(cell), Some(line)) => format!("cell [{}] line {line}", cell.count),
            (Some(cell), None) => format!("cell [{}]", cell.count),
            (None, Some(line)) => format!("{file}:{line}"),
            (None, None) => file.to_owned(),
        };
        if !self.function.is_empty() && !self.is_top_of_cell() {
            text.push_str(" in ");
            text.push_str(&self.function);
        }
        text
    }

    /// Whether a person wrote it for this program: it is in no library and not generated.
    pub fn is_users(&self) -> bool {
        self.cell.is_some() || is_user_file(&self.file) || self.file == "<string>"
    }

    /// Whether it is the same line of the same function, in whichever run of its cell.
    pub fn is_at(&self, other: &Self) -> bool {
        self.line == other.line && self.file == other.file && self.function == other.function
    }

    /// `IPython` calls the code of a cell itself one of these; a person knows the cell already.
    fn is_top_of_cell(&self) -> bool {
        let is_name = self.function == "<module>" || self.function.starts_with("<cell line");
        self.cell.is_some() && is_name
    }
}

impl Place {
    /// `train.py:17 in step`; for a thread the line that started it, or else its name.
    pub fn describe(&self) -> String {
        match self {
            Self::Line(line)
            | Self::Thread {
                started_at: Some(line),
                ..
            } => line.describe(),
            Self::Thread { .. } => self.thread().unwrap_or_default(),
            Self::Ipython => "IPython itself, outside any cell".to_owned(),
            Self::StartUp => "start of the process, before Python ran".to_owned(),
            Self::Other => "other: the box had no room for these lines".to_owned(),
        }
    }

    /// The line to look at: the place itself, or what started the thread.
    pub const fn line(&self) -> Option<&Line> {
        match self {
            Self::Line(line) => Some(line),
            Self::Thread { started_at, .. } => started_at.as_ref(),
            Self::Ipython | Self::StartUp | Self::Other => None,
        }
    }

    pub(crate) const fn line_mut(&mut self) -> Option<&mut Line> {
        match self {
            Self::Line(line) => Some(line),
            Self::Thread { started_at, .. } => started_at.as_mut(),
            Self::Ipython | Self::StartUp | Self::Other => None,
        }
    }

    /// `thread NAME (library)`, for a thread without Python.
    pub fn thread(&self) -> Option<String> {
        let Self::Thread { name, library, .. } = self else {
            return None;
        };
        Some(match library.rsplit('/').next() {
            Some(library) if !library.is_empty() => format!("thread {name} ({library})"),
            _ => format!("thread {name}"),
        })
    }

    /// Its word in JSON.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Line(_) => "line",
            Self::Thread { .. } => "thread",
            Self::Ipython => "ipython",
            Self::StartUp => "start_up",
            Self::Other => "other",
        }
    }
}

/// Whether a file is `IPython`'s or that of a notebook's kernel. Their commands are scripts, which
/// would be the user's if they were not known by name.
pub(crate) fn is_ipython_file(file: &str) -> bool {
    let scripts = ["/bin/ipython", "/bin/ipython3", "/ipykernel_launcher.py"];
    let packages = ["-packages/IPython/", "-packages/ipykernel/"];
    scripts.iter().any(|script| file.ends_with(script))
        || packages.iter().any(|package| file.contains(package))
}

/// Whether a file is neither the standard library's, nor an installed package's, nor generated.
pub fn is_user_file(file: &str) -> bool {
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
pub(crate) fn inside_library(file: &str) -> &str {
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

/// `numpy.linalg` for a file of an installed package.
pub(crate) fn module_name(file: &str) -> Option<String> {
    if !file.contains("site-packages/") && !file.contains("dist-packages/") {
        return None;
    }
    let module = inside_library(file).strip_suffix(".py")?;
    let module = module.strip_suffix("/__init__").unwrap_or(module);
    Some(module.replace('/', "."))
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
    use super::{inside_library, is_ipython_file, is_user_file};

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
    fn what_runs_cells_is_known_and_cells_are_not_it() {
        for file in [
            "/v/bin/ipython",
            "/v/lib/python3.12/site-packages/ipykernel_launcher.py",
            "/v/lib/python3.12/site-packages/ipykernel/kernelapp.py",
            "/usr/lib/python3/dist-packages/IPython/core/interactiveshell.py",
        ] {
            assert!(is_ipython_file(file), "{file}");
        }
        for file in ["/tmp/ipykernel_12/3456.py", "/home/a/ipykernel/train.py"] {
            assert!(!is_ipython_file(file), "{file}");
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
