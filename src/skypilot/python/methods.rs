//! Methods of texts, lists and dictionaries.

use crate::error::Exception;
use crate::host::Arguments;
use crate::interpreter::Interpreter;
use crate::operators::{SIZE, index, out_of_range};
use crate::value::Value;

impl Interpreter<'_> {
    /// Calls a method.
    pub(crate) fn method(
        &self,
        value: &Value,
        name: &str,
        arguments: &Arguments,
    ) -> Result<Value, Exception> {
        let unknown = || {
            let text = format!("'{}' object has no attribute '{name}'", value.type_name());
            Exception::new("AttributeError", text)
        };
        match value {
            Value::Str(text) => self.text_method(text, name, arguments)?.ok_or_else(unknown),
            Value::Dict(_) => dict_method(value, name, arguments)?.ok_or_else(unknown),
            Value::List(values) => {
                let mut values = values.lock();
                Ok(match name {
                    "append" if values.len() < SIZE => {
                        values.push(arguments.required(0, "object")?.clone());
                        Value::None
                    }
                    "index" => {
                        let wanted = arguments.required(0, "value")?;
                        let found = values.iter().position(|known| known.equals(wanted, 0));
                        let found = found.and_then(|at| i64::try_from(at).ok());
                        Value::Int(found.ok_or_else(|| {
                            Exception::new(
                                "ValueError",
                                format!("{} is not in list", wanted.repr(0)),
                            )
                        })?)
                    }
                    "pop" => {
                        let at = arguments.int(0, "index").unwrap_or(-1);
                        let at = index(Some(at), values.len()).filter(|at| *at < values.len());
                        values.remove(at.ok_or_else(out_of_range)?)
                    }
                    _ => return Err(unknown()),
                })
            }
            _ => Err(unknown()),
        }
    }

    fn text_method(
        &self,
        text: &str,
        name: &str,
        arguments: &Arguments,
    ) -> Result<Option<Value>, Exception> {
        Ok(Some(match name {
            "join" => {
                let values = self.iterate(arguments.required(0, "iterable")?)?;
                let texts: Option<Vec<&str>> = values.iter().map(Value::as_str).collect();
                let texts = texts
                    .ok_or_else(|| Exception::type_error("sequence item: expected str instance"))?;
                Value::str(texts.join(text))
            }
            "strip" => Value::str(text.trim()),
            "lower" => Value::str(text.to_lowercase()),
            "upper" => Value::str(text.to_uppercase()),
            "startswith" => Value::Bool(text.starts_with(&arguments.text(0, "prefix")?)),
            "endswith" => Value::Bool(text.ends_with(&arguments.text(0, "suffix")?)),
            "split" => {
                let parts: Vec<Value> = match arguments.get(0, "sep") {
                    None | Some(Value::None) => text.split_whitespace().map(Value::str).collect(),
                    Some(_) => {
                        let separator = arguments.text(0, "sep")?;
                        text.split(separator.as_str()).map(Value::str).collect()
                    }
                };
                Value::list(parts)
            }
            "replace" => {
                let (old, new) = (arguments.text(0, "old")?, arguments.text(1, "new")?);
                let count = text.matches(old.as_str()).count();
                if text.len() + count * new.len() > SIZE {
                    return Err(Exception::new("MemoryError", "the text is too large"));
                }
                Value::str(text.replace(&old, &new))
            }
            _ => return Ok(None),
        }))
    }
}

fn dict_method(
    dict: &Value,
    name: &str,
    arguments: &Arguments,
) -> Result<Option<Value>, Exception> {
    let items = dict.items().unwrap_or_default();
    Ok(Some(match name {
        "get" => {
            let found = dict.get(arguments.required(0, "key")?);
            found
                .or_else(|| arguments.get(1, "default").cloned())
                .unwrap_or(Value::None)
        }
        "keys" => Value::list(items.into_iter().map(|(key, _)| key).collect()),
        "values" => Value::list(items.into_iter().map(|(_, value)| value).collect()),
        "items" => {
            let pair = |(key, value): (Value, Value)| Value::Tuple([key, value].into());
            Value::list(items.into_iter().map(pair).collect())
        }
        _ => return Ok(None),
    }))
}
