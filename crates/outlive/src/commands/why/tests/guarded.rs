//! A run that Outlive itself got in the way of, as programs read it.

use outlive_diagnose::facts::{BudgetFacts, EndStatus};
use outlive_record::kind::{EventKind, ExceptionKind};
use outlive_record::layout::MIN_BOX_SIZE;
use outlive_record::region::Region;
use outlive_record::write::{BoxWriter, ExceptionFacts, Identity, StackId};
use serde_json::Value;

use super::{ID, killed_run};
use crate::commands::why::explain;
use crate::json;
use crate::store::{FACTS_FILE, StoredRun};

/// A process that ended with a `MemoryError` after a refusal.
fn refused_run() -> (tempfile::TempDir, StoredRun) {
    let region = Region::leaked(MIN_BOX_SIZE);
    let identity = Identity {
        pid: ID.pid,
        start_ticks: ID.start_ticks,
        ..Identity::default()
    };
    let writer = BoxWriter::create(region, &identity);
    let kind = EventKind::Refused;
    writer.add_event(kind, 1, 1, 9 << 30, 3 << 30, StackId(0), 1 << 20);
    writer.add_exception(&ExceptionFacts {
        kind: ExceptionKind::Main,
        tid: ID.pid,
        time: 1,
        thread: b"MainThread",
        type_name: b"MemoryError",
        message: b"",
        traceback: b"",
    });
    let (home, run) = killed_run(&region.to_bytes());
    let mut facts = run.facts().unwrap();
    facts.processes[0].status = Some(EndStatus::Exited(1));
    facts.cgroups.clear();
    facts.budget = Some(BudgetFacts {
        asked: "80%".to_owned(),
        limit: Some(4 << 30),
        at_start: 5 << 30,
        at_end: 3 << 30,
        source: "MemAvailable".to_owned(),
        source_limit: 8 << 30,
        headroom: 7,
        headroom_lowest: -5,
        refusals: 2,
        ..BudgetFacts::default()
    });
    let file = run.directory.join(FACTS_FILE);
    fs_err::write(file, serde_json::to_vec(&facts).unwrap()).unwrap();
    (home, run)
}

#[test]
fn budget_and_intervention_have_their_documented_shape() {
    let (_home, run) = refused_run();
    let mut out = Vec::new();
    json::write_why(&explain(&run).unwrap(), &mut out).unwrap();
    let value: Value = serde_json::from_slice(&out).unwrap();
    for (path, expected) in [
        ("/verdict/id", Value::from("allocation_refused")),
        ("/budget/asked", "80%".into()),
        ("/budget/limit", (4_u64 << 30).into()),
        ("/budget/at_start", (5_u64 << 30).into()),
        ("/budget/at_end", (3_u64 << 30).into()),
        ("/budget/headroom_lowest", (-5).into()),
        ("/budget/refusals", 2.into()),
        ("/budget/stops", 0.into()),
        ("/intervention/kind", "refused".into()),
        ("/intervention/pid", ID.pid.into()),
        ("/intervention/bytes", (9_u64 << 30).into()),
        ("/intervention/budget", (3_u64 << 30).into()),
        ("/intervention/headroom", (1 << 20).into()),
        ("/intervention/source", "MemAvailable".into()),
        ("/intervention/place", Value::Null),
        ("/intervention/attempts", 1.into()),
    ] {
        assert_eq!(value.pointer(path), Some(&expected), "{path}");
    }
    let documented = include_str!("../../../../../../docs/why-json.md");
    for object in ["budget", "intervention"] {
        for name in value[object].as_object().unwrap().keys() {
            let forms = [format!("`{object}.{name}`"), format!("`.{name}`")];
            let is_named = forms.iter().any(|form| documented.contains(form));
            assert!(is_named, "{object}.{name} is undocumented");
        }
    }
}
