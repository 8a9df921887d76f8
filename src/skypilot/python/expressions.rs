//! Expressions.

use futures::FutureExt;
use futures::future::BoxFuture;
use ruff_python_ast::{
    Arguments as CallArguments, BoolOp, Comprehension, ConversionFlag, Expr, ExprCall, ExprFString,
    ExprLambda, FStringPart, InterpolatedStringElement, Number, UnaryOp,
};

use crate::builtins;
use crate::error::Exception;
use crate::host::Arguments;
use crate::interpreter::Interpreter;
use crate::operators::{compare, index, out_of_range};
use crate::value::{Object, Value};

impl Interpreter<'_> {
    pub(crate) fn evaluate<'b>(
        &'b mut self,
        expression: &'b Expr,
    ) -> BoxFuture<'b, Result<Value, Exception>> {
        async move {
            self.enter()?;
            let value = self.evaluate_kind(expression).await?;
            self.leave();
            Ok(value)
        }
        .boxed()
    }

    async fn evaluate_kind(&mut self, expression: &Expr) -> Result<Value, Exception> {
        Ok(match expression {
            Expr::NoneLiteral(_) => Value::None,
            Expr::BooleanLiteral(literal) => Value::Bool(literal.value),
            Expr::StringLiteral(literal) => Value::str(literal.value.to_str()),
            Expr::NumberLiteral(literal) => match &literal.value {
                Number::Int(number) => {
                    Value::Int(number.as_i64().ok_or_else(|| {
                        Exception::new("OverflowError", "the number is too large")
                    })?)
                }
                Number::Float(number) => Value::Float(*number),
                Number::Complex { .. } => return Err(Exception::not_supported("a complex number")),
            },
            Expr::FString(text) => self.f_string(text).await?,
            Expr::Name(name) => self.name(name.id.as_str())?,
            Expr::List(list) => Value::list(self.all(&list.elts).await?),
            // Programs only ask whether a set has an element.
            Expr::Set(set) => Value::list(self.all(&set.elts).await?),
            Expr::Tuple(tuple) => Value::Tuple(self.all(&tuple.elts).await?.into()),
            Expr::Dict(dict) => {
                let value = Value::dict(Vec::new());
                for item in &dict.items {
                    let Some(key) = &item.key else {
                        return Err(Exception::not_supported("** in a dictionary"));
                    };
                    let key = self.evaluate(key).await?;
                    value.set(key, self.evaluate(&item.value).await?);
                }
                value
            }
            Expr::Attribute(attribute) => {
                let value = self.evaluate(&attribute.value).await?;
                self.attribute(&value, attribute.attr.as_str())?
            }
            Expr::Subscript(element) => {
                let container = self.evaluate(&element.value).await?;
                let key = self.evaluate(&element.slice).await?;
                self.element(&container, key).await?
            }
            Expr::Call(call) => self.call(call).await?,
            Expr::If(condition) => match self.evaluate(&condition.test).await?.is_true() {
                true => self.evaluate(&condition.body).await?,
                false => self.evaluate(&condition.orelse).await?,
            },
            Expr::BoolOp(operation) => {
                let mut value = Value::None;
                for operand in &operation.values {
                    value = self.evaluate(operand).await?;
                    if value.is_true() == (operation.op == BoolOp::Or) {
                        break;
                    }
                }
                value
            }
            Expr::UnaryOp(operation) => {
                let value = self.evaluate(&operation.operand).await?;
                match (operation.op, value.as_int(), value.as_float()) {
                    (UnaryOp::Not, _, _) => Value::Bool(!value.is_true()),
                    (UnaryOp::USub, Some(number), _) => Value::Int(number.saturating_neg()),
                    (UnaryOp::USub, None, Some(number)) => Value::Float(-number),
                    _ => return Err(Exception::not_supported("this operator")),
                }
            }
            Expr::BinOp(operation) => {
                let left = self.evaluate(&operation.left).await?;
                let right = self.evaluate(&operation.right).await?;
                self.binary(operation.op, &left, &right)?
            }
            Expr::Compare(comparison) => {
                let mut left = self.evaluate(&comparison.left).await?;
                for (op, right) in comparison.ops.iter().zip(&comparison.comparators) {
                    let right = self.evaluate(right).await?;
                    if !compare(*op, &left, &right)? {
                        return Ok(Value::Bool(false));
                    }
                    left = right;
                }
                Value::Bool(true)
            }
            Expr::ListComp(each) => Value::list(
                self.comprehension(&each.elt, None, &each.generators)
                    .await?,
            ),
            Expr::Generator(each) => Value::list(
                self.comprehension(&each.elt, None, &each.generators)
                    .await?,
            ),
            Expr::DictComp(each) => {
                let pairs = self.comprehension(&each.key, Some(&each.value), &each.generators);
                let dict = Value::dict(Vec::new());
                for pair in pairs.await? {
                    if let Value::Tuple(pair) = pair
                        && let [key, value] = &pair[..]
                    {
                        dict.set(key.clone(), value.clone());
                    }
                }
                dict
            }
            Expr::Lambda(lambda) => {
                self.lambdas.push(lambda.clone());
                Value::Lambda(self.lambdas.len() - 1)
            }
            _ => return Err(Exception::not_supported("this expression")),
        })
    }

    async fn all(&mut self, expressions: &[Expr]) -> Result<Vec<Value>, Exception> {
        let mut values = Vec::with_capacity(expressions.len());
        for expression in expressions {
            values.push(self.evaluate(expression).await?);
        }
        Ok(values)
    }

    fn name(&self, name: &str) -> Result<Value, Exception> {
        match self.names.get(name) {
            Some(value) => Ok(value.clone()),
            None if builtins::is_builtin(name) => Ok(Value::Reference(name.into())),
            None => {
                let text = format!("name '{name}' is not defined");
                Err(Exception::new("NameError", text))
            }
        }
    }

    pub(crate) fn attribute(&self, value: &Value, name: &str) -> Result<Value, Exception> {
        match value {
            Value::Reference(module) => {
                let path = format!("{module}.{name}");
                let constant = self.host.constant(&path);
                Ok(constant.unwrap_or_else(|| Value::Reference(path.into())))
            }
            Value::Object(Object { attributes, class }) => {
                let known = attributes.iter().find(|(known, _)| known == name);
                known.map(|(_, value)| value.clone()).ok_or_else(|| {
                    let text = format!("'{class}' object has no attribute '{name}'");
                    Exception::new("AttributeError", text)
                })
            }
            other => Err(Exception::not_supported(format!(
                "attribute {name} of {}",
                other.type_name()
            ))),
        }
    }

    async fn element(&mut self, container: &Value, key: Value) -> Result<Value, Exception> {
        match container {
            Value::Dict(_) => {
                let missing = || Exception::new("KeyError", key.repr(0));
                return container.get(&key).ok_or_else(missing);
            }
            Value::Reference(name) => {
                let arguments = Arguments {
                    positional: vec![key],
                    named: Vec::new(),
                };
                return self
                    .host
                    .call(&format!("{name}.__getitem__"), arguments)
                    .await;
            }
            _ => {}
        }
        let values = self.iterate(container)?;
        let found = index(key.as_int(), values.len()).and_then(|at| values.get(at).cloned());
        found.ok_or_else(out_of_range)
    }

    async fn f_string(&mut self, text: &ExprFString) -> Result<Value, Exception> {
        let mut result = String::new();
        for part in text.value.iter() {
            let elements = match part {
                FStringPart::Literal(literal) => {
                    result.push_str(&literal.value);
                    continue;
                }
                FStringPart::FString(part) => &part.elements,
            };
            for element in elements {
                match element {
                    InterpolatedStringElement::Literal(literal) => result.push_str(&literal.value),
                    InterpolatedStringElement::Interpolation(element) => {
                        if element.format_spec.is_some() {
                            return Err(Exception::not_supported("a format specification"));
                        }
                        let value = self.evaluate(&element.expression).await?;
                        result.push_str(&match element.conversion {
                            ConversionFlag::None | ConversionFlag::Str => value.to_text(),
                            ConversionFlag::Ascii | ConversionFlag::Repr => value.repr(0),
                        });
                    }
                }
            }
        }
        Ok(Value::str(result))
    }

    /// The values of a comprehension with one `for`, or pairs of keys and values.
    async fn comprehension(
        &mut self,
        element: &Expr,
        value: Option<&Expr>,
        generators: &[Comprehension],
    ) -> Result<Vec<Value>, Exception> {
        let [each] = generators else {
            return Err(Exception::not_supported("a comprehension with several for"));
        };
        let values = self.evaluate(&each.iter).await?;
        let outer = self.names.clone();
        let mut results = Vec::new();
        'values: for next in self.iterate(&values)? {
            self.assign(&each.target, next).await?;
            for condition in &each.ifs {
                if !self.evaluate(condition).await?.is_true() {
                    continue 'values;
                }
            }
            let element = self.evaluate(element).await?;
            results.push(match value {
                None => element,
                Some(value) => Value::Tuple([element, self.evaluate(value).await?].into()),
            });
        }
        self.names = outer;
        Ok(results)
    }

    async fn arguments(&mut self, call: &CallArguments) -> Result<Arguments, Exception> {
        let mut arguments = Arguments::default();
        for argument in &call.args {
            if matches!(argument, Expr::Starred(_)) {
                return Err(Exception::not_supported("* in a call"));
            }
            arguments.positional.push(self.evaluate(argument).await?);
        }
        for keyword in &call.keywords {
            let Some(name) = &keyword.arg else {
                let value = self.evaluate(&keyword.value).await?;
                for (key, value) in value.items().unwrap_or_default() {
                    arguments.named.push((key.to_text(), value));
                }
                continue;
            };
            let value = self.evaluate(&keyword.value).await?;
            arguments.named.push((name.to_string(), value));
        }
        Ok(arguments)
    }

    async fn call(&mut self, call: &ExprCall) -> Result<Value, Exception> {
        if let Expr::Attribute(method) = &*call.func {
            let value = self.evaluate(&method.value).await?;
            let name = method.attr.as_str();
            let mut arguments = self.arguments(&call.arguments).await?;
            return match &value {
                Value::Reference(module) => {
                    let path = format!("{module}.{name}");
                    self.host.call(&path, arguments).await
                }
                Value::Object(object) => {
                    let path = format!("{}.{name}", object.class);
                    arguments.positional.insert(0, value.clone());
                    self.host.call(&path, arguments).await
                }
                value => self.method(value, name, &arguments),
            };
        }
        let function = self.evaluate(&call.func).await?;
        let arguments = self.arguments(&call.arguments).await?;
        match &function {
            Value::Reference(name) if builtins::is_builtin(name) => {
                self.builtin(name, arguments).await
            }
            Value::Reference(name) => self.host.call(name, arguments).await,
            Value::Lambda(number) => self.call_lambda(*number, arguments.positional).await,
            other => Err(Exception::type_error(format!(
                "'{}' object is not callable",
                other.type_name()
            ))),
        }
    }

    /// Calls a `lambda` with positional parameters.
    pub(crate) async fn call_lambda(
        &mut self,
        number: usize,
        arguments: Vec<Value>,
    ) -> Result<Value, Exception> {
        let Some(ExprLambda {
            parameters, body, ..
        }) = self.lambdas.get(number).cloned()
        else {
            return Err(Exception::type_error("the function is unknown"));
        };
        let parameters = parameters.map(|p| p.args).unwrap_or_default();
        if parameters.len() != arguments.len() {
            return Err(Exception::type_error("wrong number of arguments"));
        }
        let outer = self.names.clone();
        for (parameter, argument) in parameters.iter().zip(arguments) {
            let name = parameter.parameter.name.to_string();
            self.names.insert(name, argument);
        }
        let value = self.evaluate(&body).await?;
        self.names = outer;
        Ok(value)
    }
}
