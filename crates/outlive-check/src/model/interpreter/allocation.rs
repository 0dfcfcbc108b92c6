//! Where arrays of known size are made, and how large the arrays are that they are made of.

use std::rc::Rc;

use crate::front::TextRange;
use crate::model::extent::Extent;
use crate::model::facts::Allocation;
use crate::model::size;
use crate::model::value::{Arguments, Kind, Value, ValueId};

use super::Interpreter;

/// What is smaller is of no concern, whatever the machine.
const SMALLEST: u64 = 1 << 20;

impl<'a> Interpreter<'a> {
    /// Writes down what a call of a library's function or method makes.
    pub(super) fn note_made(
        &mut self,
        callee: &Value<'a>,
        receiver: Option<&Value<'a>>,
        name: &str,
        arguments: &Arguments<'a>,
        result: &Value<'a>,
    ) {
        let is_of_file = matches!(
            callee.kind,
            Kind::Function(_) | Kind::Method(..) | Kind::Module(_) | Kind::Class(_)
        );
        if is_of_file || size::is_view(name) && !changes_type(receiver, arguments, result) {
            return;
        }
        let is_lazy = callee
            .as_path()
            .is_some_and(|path| is_lazy(path, arguments));
        let inputs = arguments.all().chain(receiver);
        let largest = self.largest_of(inputs);
        self.note_allocation(result, largest, is_lazy);
    }

    /// Writes down what an operator makes.
    pub(super) fn note_operation(&mut self, left: &Value<'a>, right: &Value<'a>, made: &Value<'a>) {
        if made.extent().is_some() {
            let largest = self.largest_of([left, right].into_iter());
            self.note_allocation(made, largest, false);
        }
    }

    fn note_allocation(&mut self, made: &Value<'a>, largest_input: u64, is_lazy: bool) {
        let extent = match &made.kind {
            Kind::Tensor(tensor) => &tensor.extent,
            Kind::Array(array) => &array.extent,
            _ => return,
        };
        let (Some(extent), Some(id)) = (extent, made.id) else {
            return;
        };
        if extent.bytes() < SMALLEST {
            return;
        }
        if is_lazy {
            self.lazy.insert(id);
        }
        if self.notes_facts() {
            let allocation = Allocation {
                range: id.range(),
                statement: self.statement_range(),
                extent: Rc::clone(extent),
                largest_input,
                is_lazy,
                context: self.frame.context(),
            };
            self.frame.scope.allocations.push(allocation);
        }
    }

    /// The bytes of the largest of these; what is lazy takes none yet.
    fn largest_of<'v>(&self, values: impl Iterator<Item = &'v Value<'a>>) -> u64
    where
        'a: 'v,
    {
        let is_taken =
            |value: &&Value<'a>| !value.id.is_some_and(|id: ValueId| self.lazy.contains(&id));
        let all = values.flat_map(|value| std::iter::once(value).chain(value.members()));
        let bytes = all.filter(is_taken).filter_map(|value| value.extent());
        bytes.map(Extent::bytes).max().unwrap_or(0)
    }

    fn statement_range(&self) -> TextRange {
        self.frame.statement
    }
}

/// `x.to(torch.float64)` is no view.
fn changes_type(receiver: Option<&Value<'_>>, arguments: &Arguments<'_>, made: &Value<'_>) -> bool {
    let of = receiver.and_then(Value::extent);
    let of = of.or_else(|| arguments.positional.first().and_then(Value::extent));
    of.zip(made.extent())
        .is_some_and(|(of, made)| of.dtype.size != made.dtype.size)
}

/// Whether the system gives the pages only when they are written. A graphics card does not.
fn is_lazy(path: &str, arguments: &Arguments<'_>) -> bool {
    match path {
        "numpy.zeros" | "numpy.empty" | "numpy.empty_like" => true,
        "torch.empty" | "torch.empty_like" => {
            let device = arguments.named("device").and_then(Value::as_text);
            !device.is_some_and(|device| device.starts_with("cuda"))
        }
        _ => false,
    }
}
