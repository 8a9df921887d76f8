//! Statements.

use std::collections::BTreeMap;

use futures::FutureExt;
use futures::future::BoxFuture;
use ruff_python_ast::{Alias, Expr, ExprLambda, Stmt, StmtFor, StmtIf, StmtWith};

use crate::error::Exception;
use crate::host::Host;
use crate::parse::parse;
use crate::value::Value;

/// Maximum number of statements and expressions that are evaluated.
const STEPS: u64 = 1_000_000;
/// Maximum nesting depth of statements and expressions.
const NESTING: usize = 60;

/// How execution continues after a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flow {
    Next,
    Break,
    Continue,
}

/// A running program.
pub(crate) struct Interpreter<'a> {
    pub(crate) host: &'a mut dyn Host,
    pub(crate) names: BTreeMap<String, Value>,
    pub(crate) lambdas: Vec<ExprLambda>,
    steps: u64,
    nesting: usize,
}

/// Runs a program.
///
/// # Errors
/// The exception that ends it, `SyntaxError` if it is no program, and `NotImplementedError` if it uses
/// something that is not interpreted.
pub async fn run(program: &str, host: &mut dyn Host) -> Result<(), Exception> {
    let body = parse(program)?;
    let mut interpreter = Interpreter {
        host,
        names: BTreeMap::new(),
        lambdas: Vec::new(),
        steps: 0,
        nesting: 0,
    };
    interpreter.statements(&body).await.map(drop)
}

impl Interpreter<'_> {
    /// Counts a step one level deeper.
    pub(crate) fn enter(&mut self) -> Result<(), Exception> {
        self.steps += 1;
        self.nesting += 1;
        match self.steps > STEPS || self.nesting > NESTING * 2 {
            true => Err(Exception::new(
                "RecursionError",
                "the program is too complex",
            )),
            false => Ok(()),
        }
    }

    pub(crate) fn leave(&mut self) {
        self.nesting -= 1;
    }

    fn statements<'b>(&'b mut self, body: &'b [Stmt]) -> BoxFuture<'b, Result<Flow, Exception>> {
        async move {
            for statement in body {
                self.enter()?;
                let flow = self.statement(statement).await?;
                self.leave();
                if flow != Flow::Next {
                    return Ok(flow);
                }
            }
            Ok(Flow::Next)
        }
        .boxed()
    }

    async fn statement(&mut self, statement: &Stmt) -> Result<Flow, Exception> {
        match statement {
            Stmt::Import(import) => import.names.iter().for_each(|name| self.import(name)),
            Stmt::ImportFrom(import) => {
                let module = import.module.as_ref().map_or("", |module| module.as_str());
                for Alias { name, asname, .. } in &import.names {
                    let path = format!("{module}.{name}");
                    let value = self.host.constant(&path);
                    let value = value.unwrap_or_else(|| Value::Reference(path.into()));
                    let name = asname.as_ref().unwrap_or(name);
                    self.names.insert(name.to_string(), value);
                }
            }
            Stmt::FunctionDef(function) => self.define(function.name.as_str()),
            Stmt::ClassDef(class) => self.define(class.name.as_str()),
            Stmt::Expr(expression) => drop(self.evaluate(&expression.value).await?),
            Stmt::Assign(assign) => {
                let value = self.evaluate(&assign.value).await?;
                for target in &assign.targets {
                    self.assign(target, value.clone()).await?;
                }
            }
            Stmt::AugAssign(assign) => {
                let before = self.evaluate(&assign.target).await?;
                let value = self.evaluate(&assign.value).await?;
                let value = self.binary(assign.op, &before, &value)?;
                self.assign(&assign.target, value).await?;
            }
            Stmt::If(condition) => return self.condition(condition).await,
            Stmt::For(each) => return self.each(each).await,
            Stmt::With(with) => return self.with(with).await,
            Stmt::Raise(raise) => {
                let Some(exception) = &raise.exc else {
                    return Err(Exception::not_supported("raise without an exception"));
                };
                return Err(self.raised(exception).await?);
            }
            Stmt::Break(_) => return Ok(Flow::Break),
            Stmt::Continue(_) => return Ok(Flow::Continue),
            Stmt::Pass(_) => {}
            _ => return Err(Exception::not_supported("this statement")),
        }
        Ok(Flow::Next)
    }

    /// A name of the program, of which the host knows the function.
    fn define(&mut self, name: &str) {
        let path = format!("__main__.{name}");
        self.names
            .insert(name.to_owned(), Value::Reference(path.into()));
    }

    /// `import a.b` has the name `a`, `import a.b as c` the name `c`.
    fn import(&mut self, Alias { name, asname, .. }: &Alias) {
        let (name, path) = match asname {
            Some(known) => (known.as_str(), name.as_str()),
            None => {
                let first = name.as_str().split('.').next().unwrap_or_default();
                (first, first)
            }
        };
        self.names
            .insert(name.to_owned(), Value::Reference(path.into()));
    }

    async fn condition(&mut self, condition: &StmtIf) -> Result<Flow, Exception> {
        if self.evaluate(&condition.test).await?.is_true() {
            return self.statements(&condition.body).await;
        }
        for clause in &condition.elif_else_clauses {
            let applies = match &clause.test {
                Some(test) => self.evaluate(test).await?.is_true(),
                None => true,
            };
            if applies {
                return self.statements(&clause.body).await;
            }
        }
        Ok(Flow::Next)
    }

    async fn each(&mut self, each: &StmtFor) -> Result<Flow, Exception> {
        let values = self.evaluate(&each.iter).await?;
        for value in self.iterate(&values)? {
            self.assign(&each.target, value).await?;
            if self.statements(&each.body).await? == Flow::Break {
                return Ok(Flow::Next);
            }
        }
        self.statements(&each.orelse).await
    }

    /// `with`; context managers of the host have no methods for entry and exit.
    async fn with(&mut self, with: &StmtWith) -> Result<Flow, Exception> {
        for item in &with.items {
            let manager = self.evaluate(&item.context_expr).await?;
            if let Some(target) = &item.optional_vars {
                self.assign(target, manager).await?;
            }
        }
        self.statements(&with.body).await
    }

    /// The values of something that can be iterated.
    pub(crate) fn iterate(&self, values: &Value) -> Result<Vec<Value>, Exception> {
        values.values().ok_or_else(|| {
            Exception::type_error(format!("'{}' object is not iterable", values.type_name()))
        })
    }

    /// `raise Class(message)`
    async fn raised(&mut self, exception: &Expr) -> Result<Exception, Exception> {
        let (class, message) = match exception {
            Expr::Call(call) => {
                let class = self.evaluate(&call.func).await?;
                let mut message = String::new();
                if let Some(argument) = call.arguments.args.first() {
                    message = self.evaluate(argument).await?.to_text();
                }
                (class, message)
            }
            class => (self.evaluate(class).await?, String::new()),
        };
        match class {
            Value::Reference(class) => {
                let class = class.rsplit('.').next().unwrap_or_default();
                Ok(Exception::new(class, message))
            }
            _ => Err(Exception::type_error(
                "exceptions must derive from BaseException",
            )),
        }
    }

    /// Assigns to a name, to names in a tuple, or to an element.
    pub(crate) fn assign<'b>(
        &'b mut self,
        target: &'b Expr,
        value: Value,
    ) -> BoxFuture<'b, Result<(), Exception>> {
        async move {
            let targets = match target {
                Expr::Name(name) => {
                    self.names.insert(name.id.to_string(), value);
                    return Ok(());
                }
                Expr::Subscript(element) => {
                    let container = self.evaluate(&element.value).await?;
                    let key = self.evaluate(&element.slice).await?;
                    return self.assign_element(&container, key, value).await;
                }
                Expr::Tuple(tuple) => &tuple.elts,
                Expr::List(list) => &list.elts,
                _ => return Err(Exception::not_supported("this assignment")),
            };
            let values = self.iterate(&value)?;
            if values.len() != targets.len() {
                let text = format!(
                    "expected {} values to unpack, got {}",
                    targets.len(),
                    values.len()
                );
                return Err(Exception::new("ValueError", text));
            }
            for (target, value) in targets.iter().zip(values) {
                self.assign(target, value).await?;
            }
            Ok(())
        }
        .boxed()
    }

    async fn assign_element(
        &mut self,
        container: &Value,
        key: Value,
        value: Value,
    ) -> Result<(), Exception> {
        match container {
            Value::Dict(_) => {
                container.set(key, value);
                Ok(())
            }
            Value::List(values) => {
                let mut values = values.lock();
                let index = crate::operators::index(key.as_int(), values.len());
                let element = index.and_then(|index| values.get_mut(index));
                let element = element.ok_or_else(crate::operators::out_of_range)?;
                *element = value;
                Ok(())
            }
            Value::Reference(name) => {
                let arguments = crate::host::Arguments {
                    positional: vec![key, value],
                    named: Vec::new(),
                };
                let name = format!("{name}.__setitem__");
                self.host.call(&name, arguments).await.map(drop)
            }
            other => Err(Exception::type_error(format!(
                "'{}' object does not support item assignment",
                other.type_name()
            ))),
        }
    }
}
