//! `outlive run` ends as the program ended.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;

use crate::context::{Context, python, stderr, text};

#[test]
fn the_exit_code_is_the_programs_own() {
    let context = Context::new();
    for code in [0, 1, 2, 42, 137, 255] {
        let output = context
            .run()
            .args(["--", "sh", "-c", &format!("exit {code}")])
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(code));
    }
}

#[test]
fn death_by_a_signal_is_death_by_the_same_signal() {
    let context = Context::new();
    // The last one is a real-time signal, for which there is no name.
    for signal in [1, 6, 9, 11, 15, 40] {
        let script = format!("kill -{signal} $$");
        let output = context
            .run()
            .args(["--", "bash", "-c", &script])
            .output()
            .unwrap();
        assert_eq!(output.status.signal(), Some(signal), "{:?}", output.status);
        assert!(!output.status.core_dumped(), "signal {signal}");
    }
}

#[test]
fn a_bad_end_is_explained_on_standard_error() {
    let context = Context::new();
    let output = context
        .run()
        .args(["--", "sh", "-c", "kill -SEGV $$"])
        .output()
        .unwrap();
    let run = context.facts().id;
    assert!(stderr(&output).contains(&run), "{}", stderr(&output));
}

#[test]
fn quiet_means_not_a_word() {
    let context = Context::new();
    for script in ["exit 3", "kill -SEGV $$"] {
        let output = context
            .run()
            .args(["--quiet", "--", "sh", "-c", script])
            .output()
            .unwrap();
        assert_eq!(stderr(&output), "");
    }
}

#[test]
fn a_closed_pipe_is_no_news() {
    let context = Context::new();
    let mut command = context.run();
    let output = command.args(["--", "sh", "-c", "kill -PIPE $$"]);
    let output = output.output().unwrap();
    assert_eq!(output.status.signal(), Some(13));
    assert_eq!(stderr(&output), "");
}

#[test]
fn what_python_itself_would_refuse_is_said_in_one_line() {
    let context = Context::new();
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().to_str().unwrap();
    for (program, code, expected) in [
        (
            format!("{folder}/absent.py"),
            2,
            format!("outlive: No such file: `{folder}/absent.py`\n"),
        ),
        (
            folder.to_owned(),
            126,
            format!("outlive: Cannot execute `{folder}`: is a directory\n"),
        ),
    ] {
        let output = context.run().arg(&program).output().unwrap();
        assert_eq!(output.status.code(), Some(code));
        assert_eq!(stderr(&output), expected);
    }
}

#[test]
fn a_command_that_does_not_exist_is_127() {
    let context = Context::new();
    let output = context
        .run()
        .args(["--", "no-such-command-anywhere"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(127));
    assert_eq!(
        stderr(&output),
        "outlive: Command not found: `no-such-command-anywhere`\n"
    );
    assert!(
        context.run_folders().is_empty(),
        "a run without a program is not kept"
    );
}

#[test]
fn a_file_that_cannot_be_executed_is_126() {
    let folder = tempfile::tempdir().unwrap();
    let check = |name: &str, content: &str, mode: u32, reason: &str| {
        let path = folder.path().join(name);
        fs_err::write(&path, content).unwrap();
        fs_err::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        let output = Context::new().run().arg("--").arg(&path).output().unwrap();
        assert_eq!(output.status.code(), Some(126), "{name}");
        let expected = format!("outlive: Cannot execute `{}`: {reason}\n", path.display());
        assert_eq!(stderr(&output), expected);
    };
    check("data", "text", 0o644, "permission denied");
    check(
        "script",
        "#!/no/such/interpreter\n",
        0o755,
        "its interpreter was not found",
    );
}

#[test]
fn an_option_that_does_not_exist_is_outlives_own_fault() {
    let output = Context::new()
        .run()
        .args(["--quite", "ls"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).starts_with("outlive: Unknown option `--quite`\nhint: "));
}

#[test]
fn a_python_file_and_a_module_need_no_interpreter_named() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("train.py");
    fs_err::write(&script, "import sys; print(sys.argv[1:])").unwrap();
    let bin = std::path::Path::new(python()).parent().unwrap();
    let context = Context::new();
    let run = |arguments: &[&str]| {
        let mut command = context.run();
        command
            .env("PATH", bin)
            .env_remove("VIRTUAL_ENV")
            .args(arguments);
        text(&command.output().unwrap().stdout).to_owned()
    };
    assert_eq!(
        run(&[script.to_str().unwrap(), "--quiet", "-x"]),
        "['--quiet', '-x']\n"
    );
    let module = run(&["-m", "base64", "-t"]);
    assert!(module.contains("b'Aladdin:open sesame'"), "{module}");
}
