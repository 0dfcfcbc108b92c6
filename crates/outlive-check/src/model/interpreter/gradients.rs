//! Whether operations are recorded for a backward pass: contexts, decorators, callers.

use crate::front::ast::{Expr, StmtFunctionDef};
use crate::model::declarations::Family;
use crate::model::facts::Gradients;
use crate::model::value::{FunctionId, Kind, Value};

use super::Interpreter;

/// Libraries whose context managers and decorators leave gradients alone, but for those that are
/// named below.
const HARMLESS_LIBRARIES: [&str; 36] = [
    "torch",
    "torchvision",
    "tensorflow",
    "keras",
    "numpy",
    "jax",
    "tqdm",
    "warnings",
    "contextlib",
    "tempfile",
    "h5py",
    "PIL",
    "zipfile",
    "os",
    "time",
    "mlflow",
    "wandb",
    "logging",
    "rich",
    "multiprocessing",
    "concurrent",
    "threading",
    "accelerate",
    "apex",
    "functools",
    "pytest",
    "click",
    "hydra",
    "typing",
    "abc",
    "dataclasses",
    "matplotlib",
    "pathlib",
    "tarfile",
    "gzip",
    "fire",
];

/// Methods that people use as contexts and that leave gradients alone.
const HARMLESS_METHODS: [&str; 17] = [
    "enable_cpu_affinity",
    "as_default",
    "no_sync",
    "accumulate",
    "autocast",
    "scope",
    "open",
    "profile",
    "record_function",
    "strategy",
    "start_run",
    "file_writer",
    "join",
    "main_process_first",
    "stream",
    "device",
    "get_lock",
];

/// Steps that Lightning itself runs with gradients off.
const LIGHTNING_EVALUATION: [&str; 8] = [
    "validation_step",
    "test_step",
    "predict_step",
    "on_validation_epoch_end",
    "on_test_epoch_end",
    "validation_epoch_end",
    "test_epoch_end",
    "on_validation_batch_end",
];

impl<'a> Interpreter<'a> {
    /// Gradients inside a `with` of this context manager.
    pub(super) fn within(&self, context: &'a Expr, value: &Value<'a>) -> Gradients {
        let now = self.frame.gradients;
        let called = match context {
            Expr::Call(call) => self.callee_path(&call.func),
            other => self.callee_path(other),
        };
        if let Some(path) = called {
            if let Some(effect) = effect_of(&path, context) {
                return effect;
            }
            let root = path.split('.').next().unwrap_or_default();
            if HARMLESS_LIBRARIES.contains(&root) {
                return now;
            }
        }
        if is_harmless_call(context) || matches!(value.kind, Kind::Object(_)) {
            return now;
        }
        unsure(now)
    }

    /// Turns gradients on or off from here on.
    pub(super) fn switch_gradients(&mut self, is_on: bool) {
        self.frame.gradients = if is_on { Gradients::On } else { Gradients::Off };
        if !is_on && self.frame.function.is_none() {
            self.gradients = Gradients::Off;
        }
    }

    /// Gradients at the first statement of a function.
    pub(super) fn entry_gradients(&self, id: FunctionId) -> Gradients {
        let Some(function) = self.declarations.functions.get(id.0) else {
            return Gradients::Unknown;
        };
        if self.gradients == Gradients::Off {
            return Gradients::Off;
        }
        if let Some(effect) = self.decorated(function.node) {
            return effect;
        }
        // A round of learning asks what a function does when gradients are on.
        if !self.is_writing_down {
            return Gradients::On;
        }
        let class = function
            .class
            .and_then(|class| self.declarations.classes.get(class.0));
        let name = function.node.name.as_str();
        match class.map(|class| class.family) {
            Some(Family::LightningModule) if LIGHTNING_EVALUATION.contains(&name) => {
                return Gradients::Off;
            }
            Some(Family::TorchModule) if switches_to_evaluation(function.node) => {}
            Some(Family::TorchModule | Family::LightningModule) => return Gradients::Unknown,
            _ => {}
        }
        self.sites
            .get(id.0)
            .and_then(|site| site.gradients)
            .unwrap_or(Gradients::Open)
    }

    fn decorated(&self, node: &'a StmtFunctionDef) -> Option<Gradients> {
        let mut unsure = None;
        for decorator in &node.decorator_list {
            let expression = &decorator.expression;
            let called = match expression {
                Expr::Call(call) => &call.func,
                other => other,
            };
            match self.callee_path(called) {
                Some(path) => {
                    if let Some(effect) = effect_of(&path, expression) {
                        return Some(effect);
                    }
                    let root = path.split('.').next().unwrap_or_default();
                    if !HARMLESS_LIBRARIES.contains(&root) {
                        unsure = Some(Gradients::Unknown);
                    }
                }
                None if is_builtin_decorator(called) => {}
                None => unsure = Some(Gradients::Unknown),
            }
        }
        unsure
    }
}

/// Whether a method of a module says `self.eval()`: it is no part of a forward pass.
fn switches_to_evaluation(node: &StmtFunctionDef) -> bool {
    node.body.iter().any(|statement| {
        let expression = statement.as_expr_stmt();
        let call = expression.and_then(|it| it.value.as_call_expr());
        let callee = call.and_then(|it| it.func.as_attribute_expr());
        callee.is_some_and(|it| it.attr.as_str() == "eval")
    })
}

fn unsure(now: Gradients) -> Gradients {
    match now {
        Gradients::Off => Gradients::Off,
        _ => Gradients::Unknown,
    }
}

fn is_builtin_decorator(expression: &Expr) -> bool {
    match expression {
        Expr::Name(name) => matches!(
            name.id.as_str(),
            "staticmethod" | "classmethod" | "property" | "override" | "timer" | "timeit"
        ),
        // `@ex.automain`, `@app.command`, `@name.setter`.
        Expr::Attribute(attribute) => matches!(
            attribute.attr.as_str(),
            "automain" | "main" | "command" | "setter" | "getter" | "route"
        ),
        _ => false,
    }
}

fn is_harmless_call(expression: &Expr) -> bool {
    let called = match expression {
        Expr::Call(call) => call.func.as_ref(),
        other => other,
    };
    match called {
        Expr::Name(name) => matches!(
            name.id.as_str(),
            "open" | "tqdm" | "autocast" | "Timer" | "suppress"
        ),
        Expr::Attribute(attribute) => HARMLESS_METHODS.contains(&attribute.attr.as_str()),
        _ => false,
    }
}

/// The first argument of a call, if it is `True` or `False`.
fn first_constant(expression: &Expr) -> Option<bool> {
    let Expr::Call(call) = expression else {
        return None;
    };
    let named = call
        .arguments
        .keywords
        .first()
        .map(|keyword| &keyword.value);
    match call.arguments.args.first().or(named)? {
        Expr::BooleanLiteral(literal) => Some(literal.value),
        _ => None,
    }
}

/// What a context manager or decorator of torch does to gradients.
fn effect_of(path: &str, expression: &Expr) -> Option<Gradients> {
    match path {
        "torch.no_grad"
        | "torch.inference_mode"
        | "torch.autograd.no_grad"
        | "torch.autograd.inference_mode" => match first_constant(expression) {
            // `inference_mode(mode=x)`
            Some(false) => Some(Gradients::On),
            _ => Some(Gradients::Off),
        },
        "torch.enable_grad" | "torch.autograd.enable_grad" => Some(Gradients::On),
        "torch.set_grad_enabled" | "torch.autograd.set_grad_enabled" => {
            Some(match first_constant(expression) {
                Some(true) => Gradients::On,
                Some(false) => Gradients::Off,
                None => Gradients::Unknown,
            })
        }
        _ => None,
    }
}

/// Whether a method has no `self`.
pub(super) fn is_static(node: &StmtFunctionDef) -> bool {
    node.decorator_list.iter().any(|decorator| {
        matches!(&decorator.expression, Expr::Name(name) if name.id.as_str() == "staticmethod")
    })
}
