//! Where nothing can be recorded, the program runs all the same.

use crate::context::{Context, stderr, text};

fn check(variable: &str, value: &str, line: &str) {
    let context = Context::new();
    let run = |options: &[&str]| {
        let mut command = context.run();
        command.env(variable, value).args(options);
        command
            .args(["--", "sh", "-c", "echo done; exit 5"])
            .output()
            .unwrap()
    };
    let output = run(&[]);
    assert_eq!(output.status.code(), Some(5));
    assert_eq!(text(&output.stdout), "done\n");
    assert_eq!(stderr(&output).lines().count(), 1, "{}", stderr(&output));
    assert!(stderr(&output).starts_with(line), "{}", stderr(&output));
    assert_eq!(stderr(&run(&["--quiet"])), "");
}

#[test]
fn a_home_that_cannot_be_written() {
    check(
        "OUTLIVE_HOME",
        "/proc/nowhere",
        "outlive: Not recorded, and so not guarded: Cannot make a folder in",
    );
}

#[test]
fn a_library_that_is_missing() {
    let line = "outlive: Not recorded, and so not guarded: `liboutlive_hook.so` not found";
    check("OUTLIVE_HOOK_LIBRARY", "/nowhere/liboutlive_hook.so", line);
}

#[test]
fn a_library_whose_path_the_loader_would_split() {
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join("my library.so");
    fs_err::write(&library, "").unwrap();
    let line = format!(
        "outlive: Not recorded, and so not guarded: `{}` cannot be preloaded",
        library.display()
    );
    check("OUTLIVE_HOOK_LIBRARY", library.to_str().unwrap(), &line);
}
