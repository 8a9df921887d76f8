//! Field sets, structured-merge-diff's `fieldpath.Set`, in the serialized form of `fieldsV1`, so
//! `managedFields` need no decoding: the keys of an object are path elements; an empty object, or
//! one with the key `.`, is a member.

use serde_json::{Map, Value};

use super::path_element::{self, ParsePathElementError};

type Node = Map<String, Value>;

/// The key that makes a node with children a member.
const SELF: &str = ".";

/// Why `fieldsV1` is not a set of field paths.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseFieldsError {
    /// It is not an object.
    #[error("fieldsV1 must be an object")]
    NotAnObject,
    /// The value of a path element is not an object.
    #[error("fields below {0} must be an object")]
    NotANode(String),
    /// A key is not a path element.
    #[error(transparent)]
    PathElement(#[from] ParsePathElementError),
}

/// A set of field paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSet(Node);

fn children(node: &Node) -> impl Iterator<Item = (&String, &Value)> {
    node.iter().filter(|(key, _)| *key != SELF)
}

fn is_member(value: &Value) -> bool {
    value
        .as_object()
        .is_some_and(|n| n.is_empty() || n.contains_key(SELF))
}

fn has_children(value: &Value) -> bool {
    value
        .as_object()
        .is_some_and(|n| n.len() > usize::from(n.contains_key(SELF)))
}

/// Sets or clears the membership of a node. Returns `false` if the node is then empty.
fn set_membership(value: &mut Value, member: bool) -> bool {
    let Value::Object(node) = value else {
        return false;
    };
    node.remove(SELF);
    if member && !node.is_empty() {
        node.insert(SELF.into(), Value::Object(Node::new()));
    }
    member || !node.is_empty()
}

impl FieldSet {
    /// Parses `fieldsV1` of a request: unknown path elements are dropped, keys are converted to
    /// canonical form.
    ///
    /// # Errors
    /// A key is not a path element, or a node is not an object.
    pub(crate) fn from_fields_v1(fields: &Value) -> Result<Self, ParseFieldsError> {
        match fields {
            Value::Null => Ok(Self::default()),
            Value::Object(node) => read_node(node).map(Self),
            _ => Err(ParseFieldsError::NotAnObject),
        }
    }

    /// A set that is canonical because the server has written it.
    pub(crate) fn from_trusted_fields_v1(fields: Value) -> Self {
        match fields {
            Value::Object(node) => Self(node),
            _ => Self::default(),
        }
    }

    /// The `fieldsV1` form.
    pub(crate) fn into_value(self) -> Value {
        Value::Object(self.0)
    }

    /// Whether the set has no members.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The top-level nodes.
    pub fn node(&self) -> &Map<String, Value> {
        &self.0
    }

    /// Adds a path of path elements from the root; the empty path is ignored, as the root has no
    /// owner.
    pub fn insert<'k>(&mut self, path: impl IntoIterator<Item = &'k str>) {
        let mut at = Some(&mut self.0);
        let mut path = path.into_iter().peekable();
        while let (Some(node), Some(key)) = (at.take(), path.next()) {
            let known = node.contains_key(key);
            let child = node
                .entry(key)
                .or_insert_with(|| Value::Object(Node::new()));
            if path.peek().is_none() {
                set_membership(child, true);
            } else if known && is_member(child) && !has_children(child) {
                child[SELF] = Value::Object(Node::new()); // the node gets a child
            }
            at = child.as_object_mut();
        }
    }

    /// Whether the path is a member.
    pub fn has<'k>(&self, path: impl IntoIterator<Item = &'k str>) -> bool {
        let mut at = Some(&self.0);
        let mut found = None;
        for key in path {
            found = at.and_then(|node| node.get(key));
            at = found.and_then(Value::as_object);
        }
        found.is_some_and(is_member)
    }

    /// Adds all members of `other`.
    pub fn add(&mut self, other: &Self) {
        add(&mut self.0, &other.0);
    }

    /// Removes the members of `other`, but not their children.
    pub(crate) fn subtract(&mut self, other: &Self) {
        subtract(&mut self.0, &other.0, false);
    }

    /// Removes the members of `other` and their children.
    pub(crate) fn subtract_recursive(&mut self, other: &Self) {
        subtract(&mut self.0, &other.0, true);
    }

    /// The members of both sets.
    pub fn intersection(&self, other: &Self) -> Self {
        Self(intersect(&self.0, &other.0))
    }

    /// All members as displayed paths; the members of a level precede those of lower levels.
    pub fn paths(&self) -> Vec<Vec<String>> {
        let mut out = Vec::new();
        walk(&self.0, &mut Vec::new(), &mut out);
        out
    }

    /// The number of members.
    pub fn size(&self) -> usize {
        size(&self.0)
    }
}

fn read_node(node: &Node) -> Result<Node, ParseFieldsError> {
    let mut out = Node::new();
    for (key, value) in children(node) {
        let Some(key) = path_element::canonical(key)? else {
            continue;
        };
        let Value::Object(below) = value else {
            return Err(ParseFieldsError::NotANode(key));
        };
        let mut child = Value::Object(read_node(below)?);
        let childless = children(below).next().is_none();
        let emptied = child.as_object().is_some_and(Map::is_empty);
        if set_membership(&mut child, is_member(value) || childless || emptied) {
            out.insert(key, child);
        }
    }
    Ok(out)
}

fn add(to: &mut Node, from: &Node) {
    for (key, theirs) in children(from) {
        let Some(ours) = to.get_mut(key) else {
            to.insert(key.clone(), theirs.clone());
            continue;
        };
        let member = is_member(ours) || is_member(theirs);
        if let (Value::Object(ours), Value::Object(theirs)) = (&mut *ours, theirs) {
            add(ours, theirs);
        }
        set_membership(ours, member);
    }
}

fn subtract(from: &mut Node, other: &Node, recursive: bool) {
    for (key, theirs) in children(other) {
        let Some(ours) = from.get_mut(key) else {
            continue;
        };
        let removed = is_member(theirs);
        let keep = if removed && recursive {
            false
        } else {
            let member = is_member(ours) && !removed;
            if let (Value::Object(ours), Value::Object(theirs)) = (&mut *ours, theirs) {
                subtract(ours, theirs, recursive);
            }
            set_membership(ours, member)
        };
        if !keep {
            from.remove(key);
        }
    }
}

fn intersect(a: &Node, b: &Node) -> Node {
    let mut out = Node::new();
    for (key, ours) in children(a) {
        let Some(theirs) = b.get(key) else { continue };
        let (Value::Object(below_a), Value::Object(below_b)) = (ours, theirs) else {
            continue;
        };
        let mut child = Value::Object(intersect(below_a, below_b));
        if set_membership(&mut child, is_member(ours) && is_member(theirs)) {
            out.insert(key.clone(), child);
        }
    }
    out
}

fn walk(node: &Node, path: &mut Vec<String>, out: &mut Vec<Vec<String>>) {
    let mut entries: Vec<(&String, &Value)> = children(node).collect();
    entries.sort_by(|a, b| path_element::order(a.0, b.0));
    for (key, value) in &entries {
        if is_member(value) {
            let mut full = path.clone();
            full.push((*key).clone());
            out.push(full);
        }
    }
    for (key, value) in entries {
        if let Value::Object(below) = value {
            path.push(key.clone());
            walk(below, path, out);
            path.pop();
        }
    }
}

fn size(node: &Node) -> usize {
    children(node)
        .map(|(_, v)| usize::from(is_member(v)) + v.as_object().map_or(0, size))
        .sum()
}

/// Whether a node of a set is a member.
pub(super) fn member(node: &Value) -> bool {
    is_member(node)
}

/// The children of a node of a set.
pub(super) fn below(node: &Value) -> impl Iterator<Item = (&String, &Value)> {
    node.as_object().into_iter().flat_map(children)
}

/// Makes a node a member.
pub(super) fn make_member(node: &mut Value) {
    set_membership(node, true);
}
