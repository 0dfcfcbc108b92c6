//! Old runs make room for new ones.

use crate::context::{Companion, Context};

fn finish_one(context: &Context, keep_runs: &str, keep_bytes: &str) {
    let mut command = context.run();
    command
        .env("OUTLIVE_KEEP_RUNS", keep_runs)
        .env("OUTLIVE_KEEP_BYTES", keep_bytes);
    assert!(command.args(["--", "true"]).status().unwrap().success());
}

#[test]
fn only_the_newest_runs_are_kept() {
    let context = Context::new();
    let mut made = Vec::new();
    for _ in 0..4 {
        finish_one(&context, "2", "1000000000");
        made.push(context.run_folders().pop().unwrap());
    }
    assert_eq!(context.run_folders(), made[2..]);
}

#[test]
fn runs_together_stay_below_the_bytes_allowed() {
    let context = Context::new();
    for _ in 0..3 {
        finish_one(&context, "50", "1");
    }
    assert_eq!(
        context.run_folders().len(),
        1,
        "the current one stays, whatever its size"
    );
}

#[test]
fn a_run_that_goes_on_is_never_removed() {
    let context = Context::new();
    let mut lasting = Companion::start(context.run().args(["--", "sh", "-c", "echo x; cat"]));
    assert_eq!(lasting.line(), "x");
    let folder = context.run_folders().pop().unwrap();
    for _ in 0..2 {
        finish_one(&context, "1", "1");
    }
    assert!(folder.exists());
    lasting.close_input();
    assert!(lasting.child.wait().unwrap().success());
    finish_one(&context, "1", "1000000000");
    assert!(!folder.exists());
}
