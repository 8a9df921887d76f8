//! Access to fields by JSON pointer.

use serde_json::{Map, Value};

static NULL: Value = Value::Null;

/// Read access by JSON pointer. A missing field or a value of another type is absent, not an error.
/// Keys that contain `/` or `~` are not supported: pointers are not unescaped, which avoids copies.
pub trait ValueExt {
    /// The value at `pointer`; null if absent.
    fn at(&self, pointer: &str) -> &Value;

    /// Whether the value at `pointer` is present and not null.
    fn has(&self, pointer: &str) -> bool {
        !self.at(pointer).is_null()
    }

    /// The string at `pointer`; empty if absent.
    fn text(&self, pointer: &str) -> &str {
        self.at(pointer).as_str().unwrap_or_default()
    }

    /// The integer at `pointer`; 0 if absent.
    fn int(&self, pointer: &str) -> i64 {
        self.at(pointer).as_i64().unwrap_or_default()
    }

    /// The boolean at `pointer`; false if absent.
    fn flag(&self, pointer: &str) -> bool {
        self.at(pointer).as_bool().unwrap_or_default()
    }

    /// The items of the list at `pointer`; empty if absent.
    fn list(&self, pointer: &str) -> &[Value] {
        self.at(pointer)
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default()
    }

    /// The entries of the object at `pointer`, in order of their keys.
    fn entries<'a>(
        &'a self,
        pointer: &str,
    ) -> Box<dyn Iterator<Item = (&'a String, &'a Value)> + 'a> {
        match self.at(pointer).as_object() {
            Some(map) => Box::new(map.iter()),
            None => Box::new(std::iter::empty()),
        }
    }

    /// The object's name.
    fn name(&self) -> &str {
        self.text("/metadata/name")
    }

    /// The value of a label.
    fn label(&self, key: &str) -> Option<&str> {
        self.at("/metadata/labels").get(key).and_then(Value::as_str)
    }

    /// The value of an annotation.
    fn annotation(&self, key: &str) -> Option<&str> {
        self.at("/metadata/annotations")
            .get(key)
            .and_then(Value::as_str)
    }

    /// The condition of a type, if any.
    fn condition(&self, type_: &str) -> Option<&Value> {
        let mut conditions = self.list("/status/conditions").iter();
        conditions.find(|condition| condition.text("/type") == type_)
    }

    /// Whether the condition of a type is set and True.
    fn is_condition_true(&self, type_: &str) -> bool {
        let condition = self.condition(type_);
        condition.is_some_and(|condition| condition.text("/status") == "True")
    }

    /// Whether the object is terminating (`metadata.deletionTimestamp` is set).
    fn is_terminating(&self) -> bool {
        self.has("/metadata/deletionTimestamp")
    }
}

impl ValueExt for Value {
    fn at(&self, pointer: &str) -> &Value {
        let mut value = self;
        for token in pointer.split('/').skip(1) {
            let next = match value {
                Value::Object(map) => map.get(token),
                Value::Array(items) => token.parse::<usize>().ok().and_then(|i| items.get(i)),
                _ => None,
            };
            match next {
                Some(next) => value = next,
                None => return &NULL,
            }
        }
        value
    }
}

/// Write access to an object.
pub trait ValueMutExt {
    /// Sets `key` if it is absent or null. Does nothing if `self` is not an object.
    fn set_default(&mut self, key: &str, value: impl Into<Value>);

    /// The object at `key`; created if absent.
    fn object_mut(&mut self, key: &str) -> &mut Value;

    /// The object at `key`, if present.
    fn get_object_mut(&mut self, key: &str) -> Option<&mut Value>;

    /// The items of the list at `key`; empty if absent.
    fn items_mut(&mut self, key: &str) -> &mut [Value];

    /// Removes `key` and returns its value.
    fn remove_key(&mut self, key: &str) -> Option<Value>;

    /// Sets `key`, or removes it for `None`.
    fn set_or_remove(&mut self, key: &str, value: Option<Value>);
}

impl ValueMutExt for Value {
    fn set_default(&mut self, key: &str, value: impl Into<Value>) {
        if let Value::Object(map) = self
            && map.get(key).is_none_or(Value::is_null)
        {
            map.insert(key.into(), value.into());
        }
    }

    fn object_mut(&mut self, key: &str) -> &mut Value {
        if !self.is_object() {
            *self = Value::Object(Map::new());
        }
        let slot = &mut self[key];
        if slot.is_null() {
            *slot = Value::Object(Map::new());
        }
        slot
    }

    fn get_object_mut(&mut self, key: &str) -> Option<&mut Value> {
        self.get_mut(key).filter(|v| v.is_object())
    }

    fn items_mut(&mut self, key: &str) -> &mut [Value] {
        match self.get_mut(key) {
            Some(Value::Array(items)) => items,
            _ => &mut [],
        }
    }

    fn remove_key(&mut self, key: &str) -> Option<Value> {
        self.as_object_mut()?.remove(key)
    }

    fn set_or_remove(&mut self, key: &str, value: Option<Value>) {
        match (self.as_object_mut(), value) {
            (Some(map), Some(value)) => {
                map.insert(key.into(), value);
            }
            (Some(map), None) => {
                map.remove(key);
            }
            (None, _) => {}
        }
    }
}
