//! A recurrent state goes from round to round with its history, which grows with every round.

use crate::front::ast::{Expr, ExprCall, Stmt, StmtAssign};
use crate::front::{Ranged, TextRange, TextSize};
use crate::model::facts::{Call, Destination, Gradients, Key, Loop, Scope};
use crate::model::value::{Kind, ModuleRole, ValueId};
use crate::model::{Family, File, blocks};
use crate::{Applicability, Edit, Finding, Fix, Level, Note, Rule};

use super::evaluation;
use super::graph::Graph;

/// `OL105`.
pub(super) static RULE: Rule = Rule {
    code: "OL105",
    name: "undetached_recurrent_state",
    cause: "autograd_history_kept",
    level: Level::Error,
    summary: "A recurrent state carries the history of all rounds before",
    page: include_str!("../../../../docs/rules/undetached_recurrent_state.md"),
    find,
};

fn find(file: &File<'_>, found: &mut Vec<Finding>) {
    if !file.declarations.uses_torch() {
        return;
    }
    let mut passes = Vec::new();
    steps(file.tree.body(), &mut passes);
    if passes.is_empty() {
        return;
    }
    for scope in &file.scopes {
        for call in &scope.calls {
            let range = call.node.range();
            let step = passes.iter().find(|step| step.call.range() == range);
            found.extend(step.and_then(|step| in_loop(file, scope, call, step)));
            found.extend(step.and_then(|step| in_module(file, scope, call, step)));
        }
    }
}

/// `out, state = rnn(x, state)`.
struct Step<'a> {
    statement: &'a StmtAssign,
    call: &'a ExprCall,
    /// The state: `state`, `(h, c)` or `self.state`, as it is given.
    state: &'a Expr,
}

fn steps<'a>(body: &'a [Stmt], found: &mut Vec<Step<'a>>) {
    for statement in body {
        match statement {
            Stmt::Assign(node) => found.extend(step(node)),
            Stmt::FunctionDef(node) => steps(&node.body, found),
            Stmt::ClassDef(node) => steps(&node.body, found),
            other => blocks(other).into_iter().for_each(|it| steps(it, found)),
        }
    }
}

fn step(statement: &StmtAssign) -> Option<Step<'_>> {
    let Expr::Call(call) = statement.value.as_ref() else {
        return None;
    };
    let [Expr::Tuple(targets)] = statement.targets.as_slice() else {
        return None;
    };
    let given = call
        .arguments
        .args
        .iter()
        .chain(call.arguments.keywords.iter().map(|it| &it.value));
    let mut state = given.filter(|argument| {
        let names = names(argument);
        let mut targets = targets.elts.iter().skip(1);
        !names.is_empty() && targets.any(|target| self::names(target) == names)
    });
    let state = state.next()?;
    Some(Step {
        statement,
        call,
        state,
    })
}

/// The names in `state`, `(h, c)` or `self.state`.
fn names(expression: &Expr) -> Vec<Key<'_>> {
    match expression {
        Expr::Tuple(node) => {
            let keys: Option<Vec<_>> = node.elts.iter().map(Key::of).collect();
            keys.unwrap_or_default()
        }
        other => Key::of(other).into_iter().collect(),
    }
}

/// A state that a loop hands from round to round.
fn in_loop(
    file: &File<'_>,
    scope: &Scope<'_>,
    call: &Call<'_>,
    step: &Step<'_>,
) -> Option<Finding> {
    let is_on = matches!(call.context.gradients, Gradients::On | Gradients::Open);
    let is_module = matches!(&call.callee, Kind::Module(module) if module.role != ModuleRole::Loss);
    let within = scope.loop_at(*call.context.loops.last()?)?;
    let keys = names(step.state);
    if !is_on || !is_module || keys.iter().any(|key| key.attribute.is_some()) {
        return None;
    }
    let is_few = within.rounds.is_some_and(|rounds| rounds < 10);
    if is_few || is_renewed(scope, within, step, &keys) || is_cut(file, within, step, &keys) {
        return None;
    }
    let (level, why) = match retaining_pass(scope, within) {
        Some(why) => (Level::Error, why),
        None => (
            Level::Warning,
            grows_in_generation(file, scope, within, call, step)?,
        ),
    };
    let fix = fix(file, scope, call, step);
    Some(finding(file, step, within.range, (level, why), fix))
}

/// Whether the state begins anew in the loop, or is bound by something else.
fn is_renewed(scope: &Scope<'_>, within: &Loop<'_>, step: &Step<'_>, keys: &[Key<'_>]) -> bool {
    let is_target = keys.iter().any(|key| within.targets.contains(&key.name));
    is_target
        || scope.bindings.iter().any(|binding| {
            binding.key.is_some_and(|key| keys.contains(&key))
                && binding.range != step.statement.range
                && within.range.contains_range(binding.range)
        })
}

/// Whether anything in the loop that names the state may cut its history.
fn is_cut(file: &File<'_>, within: &Loop<'_>, step: &Step<'_>, keys: &[Key<'_>]) -> bool {
    let lines = file.slice(within.range).lines();
    let statement = file.slice(step.statement.range);
    lines
        .filter(|line| !statement.contains(line.trim()))
        .any(|line| {
            let cuts = ["detach", ".data", "no_grad", "repackage", "del "];
            let names_it = keys.iter().any(|key| line.contains(key.name));
            names_it && cuts.iter().any(|it| line.contains(it))
        })
}

/// A pass that keeps the graph, so that the next round can go through it again.
fn retaining_pass(scope: &Scope<'_>, within: &Loop<'_>) -> Option<Note> {
    let mut passes = scope.backwards.iter().filter(|it| it.retains);
    let pass = passes.find(|it| {
        let innermost = it.context.loops.last().and_then(|id| scope.loop_at(*id));
        innermost.is_some_and(|it| it.range == within.range)
    })?;
    Some(Note {
        range: pass.range,
        text: "each backward pass goes through all rounds before, and keeps their graphs"
            .to_owned(),
    })
}

/// Functions that choose the next input from an output.
const CHOOSES: [&str; 8] = [
    "argmax",
    "choice",
    "item",
    "max",
    "multinomial",
    "sample",
    "tolist",
    "topk",
];

/// A loop that generates with gradients on, and of which nothing with a history comes out.
fn grows_in_generation(
    file: &File<'_>,
    scope: &Scope<'_>,
    within: &Loop<'_>,
    call: &Call<'_>,
    step: &Step<'_>,
) -> Option<Note> {
    let chooses = scope
        .calls
        .iter()
        .any(|call| CHOOSES.contains(&call.name) && within.range.contains_range(call.node.range()));
    // Before `no_grad` there was `volatile`, which did the same.
    let is_volatile = file.source.text().contains("volatile");
    if !scope.backwards.is_empty() || !chooses || is_volatile {
        return None;
    }
    if !evaluation::is_evaluation(file, scope, within) || is_used_after(file, scope, within, step) {
        return None;
    }
    let graph = Graph::new(file, scope);
    let made = ValueId::at(call.node.range());
    let goes = [
        Destination::Returned,
        Destination::Stored,
        Destination::Passed,
    ];
    if graph.went(made, &goes) {
        return None;
    }
    Some(Note {
        range: within.header,
        text: "gradients are on here, and nothing runs backward".to_owned(),
    })
}

/// Whether what the module returned is used after the loop.
fn is_used_after(file: &File<'_>, scope: &Scope<'_>, within: &Loop<'_>, step: &Step<'_>) -> bool {
    let whole = TextRange::up_to(TextSize::of(file.source.text()));
    let end = file.function(scope).map_or(whole, |it| it.node.range).end();
    let rest = file.slice(TextRange::new(
        within.range.end(),
        end.max(within.range.end()),
    ));
    let targets = step.statement.targets.iter().flat_map(|it| match it {
        Expr::Tuple(node) => node.elts.iter().flat_map(names).collect(),
        other => names(other),
    });
    targets.into_iter().any(|key| {
        let mut words = rest.split(|it: char| !it.is_alphanumeric() && it != '_');
        key.name != "_" && words.any(|word| word == key.name)
    })
}

/// A state in an attribute, that the module itself hands from call to call.
fn in_module(
    file: &File<'_>,
    scope: &Scope<'_>,
    call: &Call<'_>,
    step: &Step<'_>,
) -> Option<Finding> {
    let function = file.function(scope)?;
    let class = file.declarations.classes.get(function.class?.0)?;
    let [
        Key {
            name: "self",
            attribute: Some(attribute),
        },
    ] = names(step.state)[..]
    else {
        return None;
    };
    let is_forward =
        class.family == Family::TorchModule && function.node.name.as_str() == "forward";
    if !is_forward || !call.is_of_module(ModuleRole::Recurrent) {
        return None;
    }
    let bindings = file.scopes.iter().flat_map(|scope| {
        let is_init = file
            .function(scope)
            .is_some_and(|it| it.node.name.as_str() == "__init__");
        scope.bindings.iter().filter(move |_| !is_init)
    });
    let is_bound_elsewhere = bindings.into_iter().any(|binding| {
        let key = binding.key.and_then(|key| key.attribute);
        key == Some(attribute) && binding.range != step.statement.range
    });
    let text = file.source.text();
    let mut lines = text
        .lines()
        .filter(|line| line.contains(&format!(".{attribute}")));
    if is_bound_elsewhere || lines.any(|line| line.contains("detach")) {
        return None;
    }
    let pass = file
        .scopes
        .iter()
        .flat_map(|scope| &scope.backwards)
        .find(|it| it.retains)?;
    let why = Note {
        range: pass.range,
        text: "each backward pass goes through all calls before, and keeps their graphs".to_owned(),
    };
    let region = function.node.range;
    Some(finding(file, step, region, (Level::Error, why), None))
}

fn finding(
    file: &File<'_>,
    step: &Step<'_>,
    region: TextRange,
    (level, why): (Level, Note),
    fix: Option<Fix>,
) -> Finding {
    let state = file.short(step.state);
    Finding {
        rule: &RULE,
        level,
        range: step.call.range(),
        message: format!(
            "`{state}` carries the graph of every round before, so memory and time grow with each"
        ),
        witness: vec![
            Note {
                range: step.state.range(),
                text: format!("`{state}` comes from the round before, and nothing detaches it"),
            },
            why,
        ],
        help: format!("Detach `{state}` after each round; when generating, turn gradients off"),
        fix,
        bytes: None,
        region,
    }
}

/// Detaches the state on the line after: each name, or each member of a tuple.
fn fix(file: &File<'_>, scope: &Scope<'_>, call: &Call<'_>, step: &Step<'_>) -> Option<Fix> {
    let text = file.source.text();
    let start = step.statement.range.start().to_usize();
    let line = text.get(..start)?.rfind('\n').map_or(0, |at| at + 1);
    let indent = text.get(line..start)?;
    let rest = text.get(step.statement.range.end().to_usize()..)?;
    let rest_of_line = rest.split('\n').next().unwrap_or_default().trim();
    let is_own_line =
        indent.trim().is_empty() && (rest_of_line.is_empty() || rest_of_line.starts_with('#'));
    let detached = detached(file, scope, call, step).filter(|_| is_own_line)?;
    let end_of_line = rest.find('\n').unwrap_or(rest.len());
    let at = step.statement.range.end() + TextSize::try_from(end_of_line).ok()?;
    Some(Fix {
        title: format!("Add `{detached}`"),
        applicability: Applicability::Unsafe,
        edits: vec![Edit {
            range: TextRange::empty(at),
            content: format!("\n{indent}{detached}"),
        }],
    })
}

fn detached(
    file: &File<'_>,
    scope: &Scope<'_>,
    call: &Call<'_>,
    step: &Step<'_>,
) -> Option<String> {
    if let Expr::Tuple(node) = step.state {
        let names: Vec<&str> = node.elts.iter().map(|it| file.text(it)).collect();
        let cut: Vec<String> = names.iter().map(|it| format!("{it}.detach()")).collect();
        return Some(format!("{} = {}", names.join(", "), cut.join(", ")));
    }
    let state = file.text(step.state);
    let key = Key::of(step.state)?;
    let first = scope.bindings.iter().find(|it| it.key == Some(key))?;
    let is_tuple = match &first.value.kind {
        Kind::Sequence(_) => true,
        Kind::Tensor(_) => false,
        // `None`, or what is not known: the layer says what it takes.
        _ => match maker_of(file, call)? {
            "LSTM" | "LSTMCell" => true,
            "GRU" | "RNN" | "GRUCell" | "RNNCell" => false,
            _ => return None,
        },
    };
    Some(if is_tuple {
        format!("{state} = tuple(part.detach() for part in {state})")
    } else {
        format!("{state} = {state}.detach()")
    })
}

/// The class of torch that a recurrent layer was made of.
fn maker_of<'f>(file: &'f File<'_>, call: &Call<'_>) -> Option<&'f str> {
    let key = Key::of(call.node.func.as_ref())?;
    let bindings = file.scopes.iter().flat_map(|scope| &scope.bindings);
    let bound = bindings.into_iter().find(|it| it.key == Some(key))?;
    let text = file.slice(bound.value.id?.range());
    let name = text.split('(').next().unwrap_or_default();
    name.rsplit('.').next()
}
