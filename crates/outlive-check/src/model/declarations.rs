//! The functions, classes and imports of a file, wherever they stand.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::library;
use super::value::{ClassId, FunctionId};
use crate::front::ast::{self, Expr, Stmt, StmtClassDef, StmtFunctionDef};

/// What a file declares.
#[derive(Debug, Default)]
pub struct Declarations<'a> {
    /// Imported names and what they stand for.
    pub imports: FxHashMap<&'a str, Rc<str>>,
    /// Modules imported with `*`.
    pub stars: Vec<Rc<str>>,
    /// Functions and methods, in the order of the text.
    pub functions: Vec<Function<'a>>,
    /// Classes.
    pub classes: Vec<Class<'a>>,
    /// Methods by name; `None` where several classes have one.
    methods: FxHashMap<&'a str, Option<FunctionId>>,
    /// The same by class; the first of a name.
    own_methods: FxHashMap<(ClassId, &'a str), FunctionId>,
    /// The first class of a name.
    class_names: FxHashMap<&'a str, ClassId>,
}

/// A function or method.
#[derive(Debug)]
pub struct Function<'a> {
    /// The definition.
    pub node: &'a StmtFunctionDef,
    /// The class it is a method of.
    pub class: Option<ClassId>,
    /// The function it stands in.
    pub parent: Option<FunctionId>,
}

/// A class.
#[derive(Debug)]
pub struct Class<'a> {
    /// The definition.
    pub node: &'a StmtClassDef,
    /// What it derives from, by full names where they are known.
    pub bases: Vec<Rc<str>>,
    /// Its methods.
    pub methods: Vec<FunctionId>,
    /// What its bases make of it.
    pub family: Family,
}

/// What the bases of a class make of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// `torch.nn.Module`.
    TorchModule,
    /// `LightningModule`: a module whose loops the framework runs.
    LightningModule,
    /// `torch.utils.data.Dataset` or `IterableDataset`.
    TorchDataset,
    /// `keras.Model`, `keras.layers.Layer`, `tf.Module`.
    Keras,
    /// Something else.
    Other,
}

impl<'a> Declarations<'a> {
    /// Reads them.
    pub fn read(body: &'a [Stmt]) -> Self {
        let mut declarations = Self::default();
        declarations.block(body, None, None);
        declarations.resolve_families();
        declarations
    }

    /// The function that this definition is.
    pub fn function_of(&self, node: &StmtFunctionDef) -> Option<FunctionId> {
        let index = self
            .functions
            .binary_search_by_key(&node.range.start(), |function| function.node.range.start());
        index.ok().map(FunctionId)
    }

    /// The class that this definition is.
    pub fn class_of(&self, node: &StmtClassDef) -> Option<ClassId> {
        let index = self
            .classes
            .binary_search_by_key(&node.range.start(), |class| class.node.range.start());
        index.ok().map(ClassId)
    }

    /// The method of this name, also of a base class in this file.
    pub fn method(&self, class: ClassId, name: &str) -> Option<FunctionId> {
        let mut next = Some(class);
        for _ in 0..self.classes.len().min(16) {
            let id = next?;
            let class = self.classes.get(id.0)?;
            if let Some(own) = self.own_methods.get(&(id, name)) {
                return Some(*own);
            }
            next = class.bases.iter().find_map(|base| self.class_named(base));
        }
        None
    }

    /// The name of a function.
    pub fn name_of(&self, function: FunctionId) -> &'a str {
        self.functions
            .get(function.0)
            .map_or("", |function| function.node.name.as_str())
    }

    /// The class of this name.
    pub fn class_named(&self, name: &str) -> Option<ClassId> {
        self.class_names.get(name).copied()
    }

    /// The full name of what an expression of names and attributes stands for, if it is imported.
    pub fn path(&self, expression: &Expr) -> Option<Rc<str>> {
        match expression {
            Expr::Name(name) => self.imports.get(name.id.as_str()).cloned(),
            Expr::Attribute(attribute) => {
                let base = self.path(&attribute.value)?;
                Some(library::canonical(&format!("{base}.{}", attribute.attr)))
            }
            _ => None,
        }
    }

    /// Whether the file uses torch at all.
    pub fn uses_torch(&self) -> bool {
        self.imports.values().chain(&self.stars).any(|path| {
            let root = path.split('.').next();
            matches!(
                root,
                Some("torch" | "torchvision" | "lightning" | "transformers" | "torch_geometric")
            )
        })
    }

    /// The method that a call of this name on an unknown object must be, if it is of this file.
    pub fn only_method_named(&self, name: &str) -> Option<FunctionId> {
        self.methods.get(name).copied().flatten()
    }

    /// Whether this is a function of a unit test: its data are tiny.
    pub fn is_unit_test(&self, function: &Function<'a>) -> bool {
        let imports_tests = || {
            let mut imports = self.imports.values();
            imports.any(|path| matches!(path.split('.').next(), Some("unittest" | "pytest")))
        };
        let is_named_so = function.node.name.as_str().starts_with("test_");
        let has_parameters = function.node.parameters.len() > usize::from(function.class.is_some());
        is_named_so && (!has_parameters || imports_tests())
    }

    fn block(&mut self, body: &'a [Stmt], class: Option<ClassId>, parent: Option<FunctionId>) {
        for statement in body {
            self.statement(statement, class, parent);
        }
    }

    fn statement(
        &mut self,
        statement: &'a Stmt,
        class: Option<ClassId>,
        parent: Option<FunctionId>,
    ) {
        match statement {
            Stmt::FunctionDef(node) => {
                let id = FunctionId(self.functions.len());
                self.functions.push(Function {
                    node,
                    class,
                    parent,
                });
                if let Some(class) = class {
                    self.method_of(class, node.name.as_str(), id);
                }
                self.block(&node.body, None, Some(id));
            }
            Stmt::ClassDef(node) => {
                let bases = self.bases(node);
                let id = ClassId(self.classes.len());
                self.class_names.entry(node.name.as_str()).or_insert(id);
                self.classes.push(Class {
                    node,
                    bases,
                    methods: Vec::new(),
                    family: Family::Other,
                });
                self.block(&node.body, Some(id), parent);
            }
            Stmt::Import(node) => node.names.iter().for_each(|alias| self.import(alias)),
            Stmt::ImportFrom(node) => self.import_from(node),
            _ => {
                for body in blocks(statement) {
                    self.block(body, class, parent);
                }
            }
        }
    }

    fn method_of(&mut self, class: ClassId, name: &'a str, id: FunctionId) {
        if let Some(class) = self.classes.get_mut(class.0) {
            class.methods.push(id);
        }
        self.own_methods.entry((class, name)).or_insert(id);
        self.methods
            .entry(name)
            .and_modify(|only| *only = None)
            .or_insert(Some(id));
    }

    fn bases(&self, node: &'a StmtClassDef) -> Vec<Rc<str>> {
        let arguments = node
            .arguments
            .iter()
            .flat_map(|arguments| arguments.args.iter());
        arguments
            .filter_map(|base| {
                self.path(base).or_else(|| match base {
                    Expr::Name(name) => Some(Rc::from(name.id.as_str())),
                    _ => None,
                })
            })
            .collect()
    }

    fn import(&mut self, alias: &'a ast::Alias) {
        let full = alias.name.as_str();
        if let Some(name) = &alias.asname {
            self.imports.insert(name.as_str(), library::canonical(full));
        } else {
            let first = full.split('.').next().unwrap_or(full);
            self.imports.insert(first, Rc::from(first));
        }
    }

    fn import_from(&mut self, node: &'a ast::StmtImportFrom) {
        let module = node.module.as_ref().map_or("", |module| module.as_str());
        for alias in &node.names {
            if alias.name.as_str() == "*" {
                if node.level == 0 {
                    self.stars.push(library::canonical(module));
                }
                continue;
            }
            let dots = ".".repeat(node.level as usize);
            let full = match (node.level, module) {
                (0, _) => format!("{module}.{}", alias.name),
                (_, "") => format!("{dots}{}", alias.name),
                _ => format!("{dots}{module}.{}", alias.name),
            };
            let bound = alias.asname.as_ref().unwrap_or(&alias.name).as_str();
            self.imports.insert(bound, library::canonical(&full));
        }
    }

    /// Bases may be classes of the file, in any order; each round settles one more generation.
    fn resolve_families(&mut self) {
        for _ in 0..self.classes.len().min(16) {
            let mut changed = false;
            for index in 0..self.classes.len() {
                let family = self.family_of(index);
                if let Some(class) = self.classes.get_mut(index)
                    && class.family != family
                {
                    class.family = family;
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
    }

    fn family_of(&self, index: usize) -> Family {
        let Some(class) = self.classes.get(index) else {
            return Family::Other;
        };
        let known = class
            .bases
            .iter()
            .map(|base| {
                let own = self.class_named(base).and_then(|id| self.classes.get(id.0));
                own.map_or_else(|| library::family(base), |class| class.family)
            })
            .find(|family| *family != Family::Other);
        known.unwrap_or_else(|| {
            // A base that is not known and a `forward`: a module of somebody's framework.
            let is_forward = |id: &FunctionId| self.name_of(*id) == "forward";
            let is_foreign = |base: &Rc<str>| self.class_named(base).is_none();
            if class.methods.iter().any(is_forward) && class.bases.iter().any(is_foreign) {
                Family::TorchModule
            } else {
                Family::Other
            }
        })
    }
}

/// The blocks of statements inside a statement that is no definition.
pub fn blocks(statement: &Stmt) -> Vec<&[Stmt]> {
    match statement {
        Stmt::For(node) => vec![&node.body, &node.orelse],
        Stmt::While(node) => vec![&node.body, &node.orelse],
        Stmt::If(node) => {
            let clauses = node.elif_else_clauses.iter().map(|clause| &clause.body[..]);
            std::iter::once(&node.body[..]).chain(clauses).collect()
        }
        Stmt::With(node) => vec![&node.body],
        Stmt::Try(node) => {
            let handlers = node.handlers.iter().map(|handler| {
                let ast::ExceptHandler::ExceptHandler(handler) = handler;
                &handler.body[..]
            });
            std::iter::once(&node.body[..])
                .chain(handlers)
                .chain([&node.orelse[..], &node.finalbody[..]])
                .collect()
        }
        Stmt::Match(node) => node.cases.iter().map(|case| &case.body[..]).collect(),
        _ => Vec::new(),
    }
}
