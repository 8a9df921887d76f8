//! The built-in functions.

use crate::error::Exception;
use crate::host::Arguments;
use crate::interpreter::Interpreter;
use crate::operators::{SIZE, order};
use crate::value::Value;

/// Functions that are evaluated here.
const FUNCTIONS: [&str; 22] = [
    "any",
    "all",
    "bool",
    "dict",
    "enumerate",
    "float",
    "getattr",
    "hasattr",
    "int",
    "isinstance",
    "len",
    "list",
    "map",
    "max",
    "min",
    "next",
    "range",
    "repr",
    "sorted",
    "str",
    "sum",
    "zip",
];
/// Names that the host knows, and types.
const NAMES: [&str; 9] = [
    "open",
    "print",
    "tuple",
    "RuntimeError",
    "ValueError",
    "Exception",
    "KeyError",
    "NotImplementedError",
    "__file__",
];

/// Whether a name is built in.
pub(crate) fn is_builtin(name: &str) -> bool {
    FUNCTIONS.contains(&name) || NAMES.contains(&name)
}

impl Interpreter<'_> {
    /// Calls a built-in function.
    pub(crate) async fn builtin(
        &mut self,
        name: &str,
        arguments: Arguments,
    ) -> Result<Value, Exception> {
        if !FUNCTIONS.contains(&name) {
            return self.host.call(name, arguments).await;
        }
        match name {
            "sorted" => return self.sorted(&arguments).await,
            "getattr" => {
                let (object, name) = (arguments.required(0, "object")?, arguments.text(1, "name")?);
                return match (self.has(object, &name), arguments.get(2, "default")) {
                    (false, Some(default)) => Ok(default.clone()),
                    _ => self.attribute(object, &name),
                };
            }
            "hasattr" => {
                let object = arguments.required(0, "object")?;
                return Ok(Value::Bool(self.has(object, &arguments.text(1, "name")?)));
            }
            "isinstance" => return is_instance(&arguments),
            "zip" => return self.zip(&arguments),
            "map" => {
                let function = arguments.required(0, "func")?.clone();
                let mut results = Vec::new();
                for value in self.iterate(arguments.required(1, "iterable")?)? {
                    results.push(self.apply(&function, value).await?);
                }
                return Ok(Value::list(results));
            }
            _ => {}
        }
        let first = arguments.positional.first();
        let first = first.cloned().unwrap_or(Value::None);
        let number = |number: Option<Value>| {
            let text = format!("invalid literal for {name}(): {}", first.repr(0));
            number.ok_or_else(|| Exception::new("ValueError", text))
        };
        Ok(match name {
            "str" => Value::str(first.to_text()),
            "repr" => Value::str(first.repr(0)),
            "bool" => Value::Bool(first.is_true()),
            "int" => number(match first.as_str() {
                Some(text) => text.trim().parse().ok().map(Value::Int),
                None => first.as_float().map(|number| Value::Int(number as i64)),
            })?,
            "float" => number(match first.as_str() {
                Some(text) => text.trim().parse().ok().map(Value::Float),
                None => first.as_float().map(Value::Float),
            })?,
            "dict" if arguments.positional.is_empty() => {
                let items = arguments.named.into_iter();
                Value::dict(
                    items
                        .map(|(name, value)| (Value::str(name), value))
                        .collect(),
                )
            }
            "range" => range(&arguments)?,
            "list" if arguments.positional.is_empty() => Value::list(Vec::new()),
            "min" | "max" if arguments.positional.len() > 1 => extreme(name, arguments.positional)?,
            _ => self.reduce(name, &first, &arguments)?,
        })
    }

    /// Functions of one list.
    fn reduce(
        &self,
        name: &str,
        values: &Value,
        arguments: &Arguments,
    ) -> Result<Value, Exception> {
        let values = self.iterate(values)?;
        Ok(match name {
            "len" => Value::Int(i64::try_from(values.len()).unwrap_or(i64::MAX)),
            "any" => Value::Bool(values.iter().any(Value::is_true)),
            "all" => Value::Bool(values.iter().all(Value::is_true)),
            "list" => Value::list(values),
            "enumerate" => {
                let numbered = (0..).zip(values);
                let pair = |(at, value)| Value::Tuple([Value::Int(at), value].into());
                Value::list(numbered.map(pair).collect())
            }
            "sum" => {
                let mut sum = Value::Int(0);
                for value in &values {
                    sum = self.binary(ruff_python_ast::Operator::Add, &sum, value)?;
                }
                sum
            }
            "next" => match (values.into_iter().next(), arguments.get(1, "default")) {
                (Some(value), _) => value,
                (None, Some(default)) => default.clone(),
                (None, None) => return Err(Exception::new("StopIteration", "")),
            },
            "min" | "max" => extreme(name, values)?,
            _ => return Err(Exception::not_supported(name)),
        })
    }

    /// The tuples of the elements at the same positions, up to the end of the shortest list.
    fn zip(&self, arguments: &Arguments) -> Result<Value, Exception> {
        let lists = arguments.positional.iter();
        let lists: Vec<Vec<Value>> = lists
            .map(|list| self.iterate(list))
            .collect::<Result<_, _>>()?;
        let length = lists.iter().map(Vec::len).min().unwrap_or(0);
        let tuple = |at: usize| {
            let elements = lists.iter().filter_map(|list| list.get(at).cloned());
            Value::Tuple(elements.collect())
        };
        Ok(Value::list((0..length).map(tuple).collect()))
    }

    fn has(&self, object: &Value, name: &str) -> bool {
        match object {
            Value::Reference(module) => self.host.has(&format!("{module}.{name}")),
            Value::Object(object) => object.attributes.iter().any(|(known, _)| known == name),
            _ => false,
        }
    }

    async fn apply(&mut self, function: &Value, value: Value) -> Result<Value, Exception> {
        let arguments = Arguments {
            positional: vec![value],
            named: Vec::new(),
        };
        match function {
            Value::Lambda(number) => self.call_lambda(*number, arguments.positional).await,
            Value::Reference(name) if is_builtin(name) => {
                Box::pin(self.builtin(name, arguments)).await
            }
            Value::Reference(name) => self.host.call(name, arguments).await,
            _ => Err(Exception::type_error("object is not callable")),
        }
    }

    async fn sorted(&mut self, arguments: &Arguments) -> Result<Value, Exception> {
        let key = arguments.by_name("key").cloned();
        let mut keyed = Vec::new();
        for value in self.iterate(arguments.required(0, "iterable")?)? {
            let by = match &key {
                Some(key) => self.apply(key, value.clone()).await?,
                None => value.clone(),
            };
            keyed.push((by, value));
        }
        let mut failed = None;
        keyed.sort_by(|(a, _), (b, _)| {
            order(a, b).unwrap_or_else(|error| {
                failed = Some(error);
                std::cmp::Ordering::Equal
            })
        });
        match failed {
            Some(error) => Err(error),
            None => Ok(Value::list(
                keyed.into_iter().map(|(_, value)| value).collect(),
            )),
        }
    }
}

fn extreme(name: &str, values: Vec<Value>) -> Result<Value, Exception> {
    let wanted = match name {
        "min" => std::cmp::Ordering::Less,
        _ => std::cmp::Ordering::Greater,
    };
    let mut values = values.into_iter();
    let mut best = values
        .next()
        .ok_or_else(|| Exception::new("ValueError", "arg is an empty sequence"))?;
    for value in values {
        if order(&value, &best)? == wanted {
            best = value;
        }
    }
    Ok(best)
}

fn range(arguments: &Arguments) -> Result<Value, Exception> {
    let bounds: Option<Vec<i64>> = arguments.positional.iter().map(Value::as_int).collect();
    let (begin, end) = match bounds.as_deref() {
        Some([end]) => (0, *end),
        Some([begin, end]) => (*begin, *end),
        _ => return Err(Exception::not_supported("this range")),
    };
    match end.saturating_sub(begin) <= SIZE as i64 {
        true => Ok(Value::list((begin..end).map(Value::Int).collect())),
        false => Err(Exception::new("MemoryError", "the range is too large")),
    }
}

fn is_instance(arguments: &Arguments) -> Result<Value, Exception> {
    let value = arguments.required(0, "object")?;
    let Value::Reference(class) = arguments.required(1, "class")? else {
        return Err(Exception::not_supported("isinstance of several classes"));
    };
    Ok(Value::Bool(value.type_name() == &**class))
}
