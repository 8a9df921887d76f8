//! [`SchemaEdit`]: one edit of a schema.

use serde_json::Value;

/// One edit. A path names properties; `[]` is the items of a list.
pub(super) enum SchemaEdit {
    /// Keywords that v1beta1 does not have there.
    RemoveKeywords(&'static str, &'static [&'static str]),
    /// Keywords that are different there.
    SetKeyword(&'static str, Value),
    /// A property that v1beta1 does not have.
    RemoveProperty(&'static str),
    /// A property that only v1beta1 has.
    AddProperty(&'static str, Value),
    /// A property that v1beta1 has under another name.
    RenameProperty(&'static str, &'static str),
}

impl SchemaEdit {
    /// Applies the edit.
    ///
    /// # Panics
    /// The schema has no such property or keyword.
    pub(super) fn apply(self, schema: &mut Value) {
        match self {
            SchemaEdit::RemoveKeywords(path, keywords) => {
                let at = find(schema, path);
                for keyword in keywords {
                    let removed = at.as_object_mut().and_then(|o| o.remove(*keyword));
                    assert!(removed.is_some(), "{path} has no {keyword}");
                }
            }
            SchemaEdit::SetKeyword(path, keywords) => {
                if let (Value::Object(at), Value::Object(keywords)) = (find(schema, path), keywords)
                {
                    at.extend(keywords);
                }
            }
            SchemaEdit::RemoveProperty(path) => {
                remove_property(schema, path);
            }
            SchemaEdit::AddProperty(path, property) => insert_property(schema, path, property),
            SchemaEdit::RenameProperty(from, to) => {
                let property = remove_property(schema, from);
                insert_property(schema, to, property);
            }
        }
    }
}

fn find<'a>(schema: &'a mut Value, path: &str) -> &'a mut Value {
    path.split('.')
        .filter(|p| !p.is_empty())
        .fold(schema, |at, part| {
            let inner = match part {
                "[]" => at.get_mut("items"),
                name => at.get_mut("properties").and_then(|p| p.get_mut(name)),
            };
            inner.unwrap_or_else(|| panic!("no {part} of {path}"))
        })
}

fn parent(path: &str) -> (&str, &str) {
    path.rsplit_once('.').unwrap_or(("", path))
}

fn remove_property(schema: &mut Value, path: &str) -> Value {
    let (owner, name) = parent(path);
    let properties = find(schema, owner)["properties"].as_object_mut();
    properties
        .and_then(|p| p.remove(name))
        .unwrap_or_else(|| panic!("no {path}"))
}

fn insert_property(schema: &mut Value, path: &str, property: Value) {
    let (owner, name) = parent(path);
    find(schema, owner)["properties"][name] = property;
}
