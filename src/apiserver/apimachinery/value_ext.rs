//! Short ways to look into an object and to fill it. Absent and null are the same everywhere, as they
//! are to Kubernetes.

use serde_json::{Map, Value};

static NULL: Value = Value::Null;

/// Looking into a value by JSON pointer; nothing is ever an error, only absent. Keys that contain `/`
/// or `~` cannot be reached (take the map and its key instead), which keeps looking free of copies.
pub trait ValueExt {
    /// The value at `pointer`, null where there is none.
    fn at(&self, pointer: &str) -> &Value;

    /// Whether there is anything but null at `pointer`.
    fn has(&self, pointer: &str) -> bool {
        !self.at(pointer).is_null()
    }

    /// The string at `pointer`, empty where there is none.
    fn text(&self, pointer: &str) -> &str {
        self.at(pointer).as_str().unwrap_or_default()
    }

    /// The integer at `pointer`, 0 where there is none.
    fn int(&self, pointer: &str) -> i64 {
        self.at(pointer).as_i64().unwrap_or_default()
    }

    /// The boolean at `pointer`, false where there is none.
    fn flag(&self, pointer: &str) -> bool {
        self.at(pointer).as_bool().unwrap_or_default()
    }

    /// The items of the list at `pointer`, none where there is no list.
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

    /// Whether the object is on its way out.
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

/// Filling a value.
pub trait ValueMutExt {
    /// Sets `storage_key` unless there is something; false where `self` is no object.
    fn set_default(&mut self, key: &str, value: impl Into<Value>);

    /// The object at `storage_key`, made where there is none.
    fn object_mut(&mut self, key: &str) -> &mut Value;

    /// The object at `storage_key` where there is one.
    fn get_object_mut(&mut self, key: &str) -> Option<&mut Value>;

    /// The items of the list at `storage_key`.
    fn items_mut(&mut self, key: &str) -> &mut [Value];

    /// Removes `storage_key`; what was there.
    fn remove_key(&mut self, key: &str) -> Option<Value>;

    /// Sets `storage_key`, or removes it for `None`.
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
