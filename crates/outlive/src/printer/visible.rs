//! Text that came from outside, made fit for a terminal: no control characters, commands and
//! cgroups in a short form.

/// How long the path of a cgroup may be before its middle is left out.
const LONGEST_PATH: usize = 32;

/// White space as spaces, other control characters as `?`: a name must not move the cursor.
pub(crate) fn visible(text: &str) -> String {
    let shown = |character: char| match character {
        '\n' | '\r' | '\t' => ' ',
        character if character.is_control() => '?',
        character => character,
    };
    text.chars().map(shown).collect()
}

/// A command as people type it: which interpreter of several it was is seldom of interest.
pub(crate) fn command(words: &[String]) -> String {
    let Some((program, rest)) = words.split_first() else {
        return String::new();
    };
    let name = program.rsplit('/').next().unwrap_or(program);
    let first = if name.starts_with("python") {
        name
    } else {
        program
    };
    let mut shown = visible(first);
    for word in rest {
        shown.push(' ');
        shown.push_str(&visible(word));
    }
    shown
}

/// Container runtimes nest long names: the outermost says whose it is, the last which. JSON has
/// the whole path.
pub(crate) fn short_cgroups(line: &str) -> String {
    let mut shown = String::new();
    let mut rest = line;
    while let Some(place) = ["cgroup v1 /", "cgroup v2 /", "memory cgroup /"]
        .iter()
        .filter_map(|mark| Some(rest.find(mark)? + mark.len() - 1))
        .min()
    {
        let (before, path) = rest.split_at(place);
        let end = path
            .find(|character: char| character.is_whitespace() || character == ')')
            .unwrap_or(path.len());
        let end = path
            .get(..end)
            .map_or(end, |path| path.trim_end_matches([':', ',', '.']).len());
        let (path, after) = path.split_at(end);
        shown.push_str(before);
        shown.push_str(&short_path(path));
        rest = after;
    }
    shown.push_str(rest);
    shown
}

fn short_path(path: &str) -> String {
    let names: Vec<&str> = path.split('/').skip(1).collect();
    match names.as_slice() {
        [first, _, .., last] if path.chars().count() > LONGEST_PATH => {
            format!("/{first}/…/{last}")
        }
        _ => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{command, short_cgroups, visible};

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        assert_eq!(visible("a\nb\tc\u{1b}[31md\u{7f}"), "a b c?[31md?");
    }

    #[test]
    fn the_interpreter_is_named_without_its_folder() {
        let shown = |text: &str| {
            let words: Vec<String> = text.split('|').map(str::to_owned).collect();
            command(&words)
        };
        assert_eq!(
            shown("/home/a/venv/bin/python|-m|http.server"),
            "python -m http.server"
        );
        assert_eq!(shown("./train.sh|a\nb"), "./train.sh a b");
        assert_eq!(command(&[]), "");
    }

    #[test]
    fn paths_of_cgroups_are_cut_between_names() {
        let id = "0123456789abcdef".repeat(4);
        let line = format!("limit (cgroup v2 /kubepods.slice/burstable/{id}), cgroup v1 /: 1");
        assert_eq!(
            short_cgroups(&line),
            format!("limit (cgroup v2 /kubepods.slice/…/{id}), cgroup v1 /: 1")
        );
        let line = format!("budget (memory cgroup /kubepods.slice/burstable/{id})");
        assert_eq!(
            short_cgroups(&line),
            format!("budget (memory cgroup /kubepods.slice/…/{id})")
        );
        let line = "cgroup v2 /user.slice/session-2.scope: oom_kill 0 -> 1";
        assert_eq!(short_cgroups(line), line);
        let line = format!("cgroup v1 /{id}: failed");
        assert_eq!(short_cgroups(&line), line, "one name is never cut");
    }
}
