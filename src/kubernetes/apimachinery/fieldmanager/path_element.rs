//! Path elements, structured-merge-diff's `fieldpath.PathElement`: serialization in `fieldsV1` and
//! display in messages.
//!
//! `f:name` is a field, `k:{"name":"c"}` an item by its keys, `v:"a"` an item of a set, `i:0` an
//! item by index.

use std::cmp::Ordering;
use std::fmt::Write as _;

use serde_json::Value;

use crate::schema::go_format::go_float;
use crate::schema::{ListSchema, ListType, ValueType};

/// The path element of a field.
pub(super) fn field(name: &str) -> String {
    let mut text = String::with_capacity(name.len() + 2);
    text.push_str("f:");
    text.push_str(name);
    text
}

/// An item of a list without a path element.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ItemError {
    /// An object in a set.
    #[error("associative list without keys has an element that's a map type")]
    MapInSet,
    /// A list in a set.
    #[error("not supported: associative list with lists as elements")]
    ListInSet,
    /// Null in a set.
    #[error("associative list without keys has an element that's an explicit null")]
    NullInSet,
    /// The list is atomic.
    #[error("invalid indexing of non-associative list")]
    Atomic,
    /// Null in a list with keys.
    #[error("associative list with keys may not have a null element")]
    NullInMap,
    /// Another value than an object in a list with keys.
    #[error("associative list with keys may not have non-map elements")]
    NoMap,
    /// The item has none of the keys.
    #[error(
        "associative list with keys has an element that omits all key fields [{0}] (and doesn't have default values for any key fields)"
    )]
    NoKeys(String),
}

/// A text that is not a path element.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParsePathElementError {
    /// There is no colon after the kind.
    #[error("missing colon: {0}")]
    Colon(String),
    /// The value is not JSON; the message of the parser.
    #[error("{0}")]
    Json(String),
    /// The keys are not an object.
    #[error("keys must be an object: {0}")]
    Keys(String),
    /// The index is not a number.
    #[error("invalid index: {0}")]
    Index(String),
}

/// The path element of an item of a list of type `set` or `map`.
///
/// # Errors
/// The item has none of the keys, or a type without identity.
pub(super) fn item(list: &ListSchema, item: &Value) -> Result<String, ItemError> {
    match &list.list_type {
        ListType::Set => match item {
            Value::Object(_) => Err(ItemError::MapInSet),
            Value::Array(_) => Err(ItemError::ListInSet),
            Value::Null => Err(ItemError::NullInSet),
            scalar => Ok(format!("v:{scalar}")),
        },
        ListType::Map(keys) => keyed(list, keys, item),
        ListType::Atomic => Err(ItemError::Atomic),
    }
}

fn keyed(
    list: &ListSchema,
    keys: &[crate::schema::Name],
    item: &Value,
) -> Result<String, ItemError> {
    let map = match item {
        Value::Object(map) => map,
        Value::Null => return Err(ItemError::NullInMap),
        _ => return Err(ItemError::NoMap),
    };
    let mut text = String::from("k:{");
    for key in keys {
        let default = || match &list.item.value_type {
            ValueType::Struct(s) => s.field(key).and_then(|f| f.default.as_ref()),
            _ => None,
        };
        if let Some(value) = map.get(&**key).or_else(default) {
            if text.len() > 3 {
                text.push(',');
            }
            push_json_string(&mut text, key);
            text.push(':');
            match value {
                Value::String(s) => push_json_string(&mut text, s),
                other => {
                    let _ = write!(text, "{other}");
                }
            }
        }
    }
    if text.len() == 3 {
        let names: Vec<String> = keys.iter().map(|k| format!("{k:?}")).collect();
        return Err(ItemError::NoKeys(names.join(" ")));
    }
    text.push('}');
    Ok(text)
}

fn push_json_string(text: &mut String, s: &str) {
    if s.bytes()
        .all(|b| (0x20..0x7f).contains(&b) && b != b'"' && b != b'\\')
    {
        text.push('"');
        text.push_str(s);
        text.push('"');
    } else {
        text.push_str(&Value::String(s.into()).to_string());
    }
}

/// The element in canonical form; `None` for unknown element types.
///
/// # Errors
/// The text is not a path element.
pub(super) fn canonical(text: &str) -> Result<Option<String>, ParsePathElementError> {
    let Some((kind, rest)) = text.split_once(':') else {
        return Err(ParsePathElementError::Colon(text.to_owned()));
    };
    let json = |s: &str| {
        let value = serde_json::from_str::<Value>(s);
        value.map_err(|error| ParsePathElementError::Json(error.to_string()))
    };
    match kind {
        "f" => Ok(Some(text.into())),
        "v" => Ok(Some(format!("v:{}", json(rest)?))),
        "k" => match json(rest)? {
            keys @ Value::Object(_) => Ok(Some(format!("k:{keys}"))),
            _ => Err(ParsePathElementError::Keys(text.to_owned())),
        },
        "i" => {
            let index = rest.parse::<i64>();
            let index = index.map_err(|_| ParsePathElementError::Index(text.to_owned()))?;
            Ok(Some(format!("i:{index}")))
        }
        _ => Ok(None),
    }
}

/// The element as displayed in a path: `.name`, `[name="c"]`, `[="a"]`, `[0]`.
pub(super) fn display(text: &str) -> String {
    let json = |s: &str| serde_json::from_str::<Value>(s).unwrap_or(Value::Null);
    match text.split_once(':') {
        Some(("f", name)) => format!(".{name}"),
        Some(("v", value)) => format!("[={}]", display_value(&json(value))),
        Some(("k", keys)) => match json(keys) {
            Value::Object(keys) => {
                let parts: Vec<String> = keys
                    .iter()
                    .map(|(k, v)| format!("{k}={}", display_value(v)))
                    .collect();
                format!("[{}]", parts.join(","))
            }
            _ => String::new(),
        },
        Some(("i", index)) => format!("[{index}]"),
        _ => String::new(),
    }
}

fn display_value(value: &Value) -> String {
    match value {
        Value::String(s) => format!("{s:?}"),
        Value::Number(n) if n.is_f64() => n.as_f64().map(go_float).unwrap_or_default(),
        Value::Array(items) => {
            let parts: Vec<String> = items.iter().map(display_value).collect();
            format!("[{}]", parts.join(","))
        }
        other => other.to_string(),
    }
}

/// The displayed path: `.spec.containers[name="c"].image`.
pub(super) fn display_path(path: &[String]) -> String {
    path.iter().map(|e| display(e)).collect()
}

/// The order of elements: fields, keys, set values, indexes; numbers by value.
pub(super) fn order(a: &str, b: &str) -> Ordering {
    let rank = |s: &str| "fkvi".find(&s[..1.min(s.len())]).unwrap_or(4);
    rank(a).cmp(&rank(b)).then_with(|| {
        if a.starts_with("f:") {
            return a.cmp(b);
        }
        let json =
            |s: &str| serde_json::from_str::<Value>(&s[2.min(s.len())..]).unwrap_or_default();
        order_values(&json(a), &json(b))
    })
}

fn order_values(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Number(x), Value::Number(y)) => x
            .as_f64()
            .partial_cmp(&y.as_f64())
            .unwrap_or(Ordering::Equal),
        (Value::String(x), Value::String(y)) => x.cmp(y),
        (Value::Bool(x), Value::Bool(y)) => x.cmp(y),
        (Value::Object(x), Value::Object(y)) => {
            for ((ka, va), (kb, vb)) in x.iter().zip(y) {
                let by = ka.cmp(kb).then_with(|| order_values(va, vb));
                if by != Ordering::Equal {
                    return by;
                }
            }
            x.len().cmp(&y.len())
        }
        _ => {
            let rank = |v: &Value| match v {
                Value::Number(_) => 0,
                Value::String(_) => 1,
                Value::Bool(_) => 2,
                Value::Array(_) => 3,
                Value::Object(_) => 4,
                Value::Null => 5,
            };
            rank(a).cmp(&rank(b))
        }
    }
}
