//! Values.

use std::sync::Arc;

use parking_lot::Mutex;

/// A value. Lists and dictionaries are shared by their clones, as in Python.
#[derive(Clone, Debug)]
pub enum Value {
    /// `None`
    None,
    /// `True` and `False`
    Bool(bool),
    /// An integer; there are no larger ones.
    Int(i64),
    /// A number.
    Float(f64),
    /// Text.
    Str(Arc<str>),
    /// A list.
    List(Arc<Mutex<Vec<Value>>>),
    /// A tuple.
    Tuple(Arc<[Value]>),
    /// A dictionary in its order.
    Dict(Arc<Mutex<Vec<(Value, Value)>>>),
    /// Something of a module by its full name, or a function or class of the program below `__main__`.
    Reference(Arc<str>),
    /// A value of the host.
    Object(Object),
    /// A `lambda` by its number.
    Lambda(usize),
}

/// A value of the host: calls of its methods are calls of `CLASS.METHOD` with the value as first argument.
#[derive(Clone, Debug)]
pub struct Object {
    /// The class.
    pub class: Arc<str>,
    /// The attributes.
    pub attributes: Arc<Vec<(String, Value)>>,
}

impl Value {
    /// Text.
    pub fn str(text: impl Into<Arc<str>>) -> Self {
        Self::Str(text.into())
    }

    /// A list.
    pub fn list(values: Vec<Value>) -> Self {
        Self::List(Arc::new(Mutex::new(values)))
    }

    /// A dictionary.
    pub fn dict(items: Vec<(Value, Value)>) -> Self {
        Self::Dict(Arc::new(Mutex::new(items)))
    }

    /// A dictionary with text as keys.
    pub fn record<'a>(items: impl IntoIterator<Item = (&'a str, Value)>) -> Self {
        let items = items
            .into_iter()
            .map(|(key, value)| (Self::str(key), value));
        Self::dict(items.collect())
    }

    /// A value of the host.
    pub fn object(class: &str, attributes: Vec<(String, Value)>) -> Self {
        Self::Object(Object {
            class: class.into(),
            attributes: Arc::new(attributes),
        })
    }

    /// The text.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Str(text) => Some(text),
            _ => None,
        }
    }

    /// The integer; a truth value is one.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Self::Int(number) => Some(*number),
            Self::Bool(truth) => Some((*truth).into()),
            _ => None,
        }
    }

    /// The number.
    pub fn as_float(&self) -> Option<f64> {
        match self {
            Self::Float(number) => Some(*number),
            other => other.as_int().map(|number| number as f64),
        }
    }

    /// Whether it is `None`.
    pub fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }

    /// Whether it counts as true.
    pub fn is_true(&self) -> bool {
        match self {
            Self::None => false,
            Self::Bool(truth) => *truth,
            Self::Int(number) => *number != 0,
            Self::Float(number) => *number != 0.0,
            Self::Str(text) => !text.is_empty(),
            Self::List(values) => !values.lock().is_empty(),
            Self::Tuple(values) => !values.is_empty(),
            Self::Dict(items) => !items.lock().is_empty(),
            Self::Reference(_) | Self::Object(_) | Self::Lambda(_) => true,
        }
    }

    /// The values of a list or tuple, the keys of a dictionary, the letters of a text.
    pub fn values(&self) -> Option<Vec<Value>> {
        Some(match self {
            Self::List(values) => values.lock().clone(),
            Self::Tuple(values) => values.to_vec(),
            Self::Dict(items) => items.lock().iter().map(|(key, _)| key.clone()).collect(),
            Self::Str(text) => text.chars().map(|c| Self::str(c.to_string())).collect(),
            _ => return None,
        })
    }

    /// The items of a dictionary.
    pub fn items(&self) -> Option<Vec<(Value, Value)>> {
        match self {
            Self::Dict(items) => Some(items.lock().clone()),
            _ => None,
        }
    }

    /// The value of a key of a dictionary.
    pub fn get(&self, key: &Value) -> Option<Value> {
        let Self::Dict(items) = self else { return None };
        let items = items.lock();
        let found = items.iter().find(|(known, _)| known.equals(key, 0));
        found.map(|(_, value)| value.clone())
    }

    /// Sets the value of a key of a dictionary.
    pub(crate) fn set(&self, key: Value, value: Value) {
        let Self::Dict(items) = self else { return };
        let mut items = items.lock();
        match items.iter_mut().find(|(known, _)| known.equals(&key, 0)) {
            Some(item) => item.1 = value,
            None => items.push((key, value)),
        }
    }

    /// Whether two values are equal; values that are nested too deep are not.
    pub(crate) fn equals(&self, other: &Value, depth: usize) -> bool {
        let all = |a: &[Value], b: &[Value]| {
            depth < DEPTH
                && a.len() == b.len()
                && a.iter().zip(b).all(|(a, b)| a.equals(b, depth + 1))
        };
        match (self, other) {
            (Self::None, Self::None) => true,
            (Self::Str(a), Self::Str(b)) | (Self::Reference(a), Self::Reference(b)) => a == b,
            (Self::Lambda(a), Self::Lambda(b)) => a == b,
            (Self::List(_), Self::List(_)) | (Self::Tuple(_), Self::Tuple(_)) => {
                let (a, b) = (self.values(), other.values());
                all(&a.unwrap_or_default(), &b.unwrap_or_default())
            }
            (Self::Dict(_), Self::Dict(_)) => {
                let items = self.items().unwrap_or_default();
                let other_items = other.items().unwrap_or_default();
                depth < DEPTH
                    && items.len() == other_items.len()
                    && items.iter().all(|(key, value)| {
                        let mut others = other_items.iter();
                        let found = others.find(|(known, _)| known.equals(key, depth + 1));
                        found.is_some_and(|(_, found)| found.equals(value, depth + 1))
                    })
            }
            (a, b) => match (a.as_int(), b.as_int()) {
                (Some(a), Some(b)) => a == b,
                _ => matches!((a.as_float(), b.as_float()), (Some(a), Some(b)) if a == b),
            },
        }
    }

    /// The name of the type.
    pub(crate) fn type_name(&self) -> &str {
        match self {
            Self::None => "NoneType",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Float(_) => "float",
            Self::Str(_) => "str",
            Self::List(_) => "list",
            Self::Tuple(_) => "tuple",
            Self::Dict(_) => "dict",
            Self::Reference(_) => "module",
            Self::Object(object) => &object.class,
            Self::Lambda(_) => "function",
        }
    }
}

/// Maximum nesting depth of values that are compared or printed.
pub(crate) const DEPTH: usize = 32;
