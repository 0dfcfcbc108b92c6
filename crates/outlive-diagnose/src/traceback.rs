//! The lines of a traceback: outermost first, `/home/a/train.py:17 in step` each.

use crate::place::is_user_file;

/// Where the exception was raised.
pub(crate) fn innermost(traceback: &str) -> Option<&str> {
    traceback.lines().rfind(|line| !line.trim().is_empty())
}

/// The innermost line that the user wrote; where none is, the innermost at all.
pub fn own_line(traceback: &str) -> Option<&str> {
    let is_own = |line: &&str| is_user_file(file_of(line)) || line.starts_with("<string>");
    traceback
        .lines()
        .rfind(is_own)
        .or_else(|| innermost(traceback))
}

fn file_of(line: &str) -> &str {
    let place = line.rsplit_once(" in ").map_or(line, |(place, _)| place);
    place.rsplit_once(':').map_or(place, |(file, _)| file)
}

#[cfg(test)]
mod tests {
    use super::{innermost, own_line};

    #[test]
    fn the_users_line_is_the_innermost_outside_libraries() {
        let library = "/v/lib/python3.12/site-packages/torch/nn.py:9 in forward";
        let text =
            format!("/home/a/train.py:30 in <module>\n/home/a/train.py:12 in step\n{library}");
        assert_eq!(own_line(&text), Some("/home/a/train.py:12 in step"));
        assert_eq!(innermost(&text), Some(library));
        assert_eq!(own_line(library), Some(library));
        assert_eq!(own_line(""), None);
    }
}
