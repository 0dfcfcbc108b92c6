//! Pipelines of `tf.data`: what one element is after each step.

use std::rc::Rc;

use crate::front::ast::Expr;
use crate::front::{Ranged, TextRange};
use crate::model::library::TF_DATASET;
use crate::model::pipeline::{self, Batch};
use crate::model::value::{Arguments, Kind, Object, Value};

use super::Interpreter;
use super::expression::plain;

impl<'a> Interpreter<'a> {
    /// A pipeline that a function opens, or that a method makes one step longer.
    pub(super) fn pipeline(
        &mut self,
        made_by: &str,
        arguments: &Arguments<'a>,
        receiver: Option<&Value<'a>>,
        range: TextRange,
    ) -> Value<'a> {
        let before = receiver.and_then(Value::as_object);
        let element = match before {
            Some(before) => self.after_step(made_by, arguments, before, range),
            None => pipeline::opened(made_by, arguments),
        };
        Self::made_object(
            TF_DATASET,
            made_by,
            arguments,
            receiver.cloned(),
            element,
            range,
        )
    }

    /// A pipeline that comes from a caller.
    pub(super) fn pipeline_of_parameter(annotation: Option<&Expr>) -> Kind<'a> {
        Kind::Object(Rc::new(Object {
            class: TF_DATASET.into(),
            made_by: "parameter".into(),
            arguments: Arguments::default(),
            receiver: None,
            element: Value::UNKNOWN,
            depth: 0,
            range: annotation.map(Ranged::range).unwrap_or_default(),
        }))
    }

    fn after_step(
        &mut self,
        name: &str,
        arguments: &Arguments<'a>,
        before: &Rc<Object<'a>>,
        range: TextRange,
    ) -> Value<'a> {
        match name {
            "map" => self.mapped(arguments.get(0, "map_func"), &before.element, range),
            "apply" => self.applied(arguments, before, range),
            "enumerate" => {
                let parts = [plain(Kind::Number), before.element.clone()];
                plain(Kind::Sequence(parts.into()))
            }
            "unbatch" if matches!(pipeline::batch(before), Batch::By(_)) => before.element.clone(),
            "flat_map" | "interleave" | "window" | "group_by_window" | "scan" | "unbatch"
            | "rejection_resample" => Value::UNKNOWN,
            _ => before.element.clone(),
        }
    }

    fn applied(
        &mut self,
        arguments: &Arguments<'a>,
        before: &Rc<Object<'a>>,
        range: TextRange,
    ) -> Value<'a> {
        let Some(step) = arguments.positional.first().and_then(Value::as_object) else {
            return Value::UNKNOWN;
        };
        match &*step.made_by {
            "map_and_batch" => {
                let function = step.arguments.get(0, "map_func").cloned();
                self.mapped(function.as_ref(), &before.element, range)
            }
            "shuffle_and_repeat" | "ignore_errors" | "prefetch_to_device" | "copy_to_device" => {
                before.element.clone()
            }
            _ => Value::UNKNOWN,
        }
    }

    /// What a function makes of an element; a tuple comes as several arguments.
    fn mapped(
        &mut self,
        function: Option<&Value<'a>>,
        element: &Value<'a>,
        range: TextRange,
    ) -> Value<'a> {
        let positional = match &element.kind {
            Kind::Sequence(members) => members.to_vec(),
            _ => vec![element.clone()],
        };
        let arguments = Arguments {
            positional,
            ..Arguments::default()
        };
        match function.map(|function| &function.kind) {
            Some(Kind::Function(id)) => self.call_function(*id, &arguments, range, false),
            Some(Kind::Method(class, id)) => self.call_method_of(*class, *id, &arguments, range),
            // A `lambda` in the body of a `lambda` is not followed: each level doubles the work.
            Some(Kind::Lambda(node)) if !self.frame.is_deferred => {
                self.frame.quiet += 1;
                let value = self.deferred(node, &arguments.positional);
                self.frame.quiet -= 1;
                value
            }
            _ => Value::UNKNOWN,
        }
    }
}
