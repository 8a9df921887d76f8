//! [`FieldPath`]: a borrowed field path, for validation on the write path.

use std::fmt;

use kueue_lab_field::Path;

/// The path of a field, such as `spec.containers[0].name`, as a chain of borrowed elements on the
/// stack. Validation visits every field of every written object; this path allocates nothing and
/// becomes a [`Path`] only in a [`FieldError`](kueue_lab_field::FieldError).
#[derive(Clone, Copy)]
pub struct FieldPath<'a> {
    parent: Option<&'a FieldPath<'a>>,
    step: FieldPathElement<'a>,
}

#[derive(Clone, Copy)]
enum FieldPathElement<'a> {
    Field(&'a str),
    Index(usize),
    Key(&'a str),
}

impl<'a> FieldPath<'a> {
    /// A top-level field; dots in `name` are not escaped.
    pub const fn root(name: &'a str) -> Self {
        Self {
            parent: None,
            step: FieldPathElement::Field(name),
        }
    }

    /// `self.name`.
    pub const fn child(&'a self, name: &'a str) -> Self {
        Self {
            parent: Some(self),
            step: FieldPathElement::Field(name),
        }
    }

    /// `self[index]`.
    pub const fn index(&'a self, index: usize) -> Self {
        Self {
            parent: Some(self),
            step: FieldPathElement::Index(index),
        }
    }

    /// `self[key]`.
    pub const fn key(&'a self, key: &'a str) -> Self {
        Self {
            parent: Some(self),
            step: FieldPathElement::Key(key),
        }
    }
}

impl fmt::Display for FieldPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            parent.fmt(f)?;
        }
        match self.step {
            FieldPathElement::Field(name) if self.parent.is_some() => write!(f, ".{name}"),
            FieldPathElement::Field(name) => f.write_str(name),
            FieldPathElement::Index(index) => write!(f, "[{index}]"),
            FieldPathElement::Key(key) => write!(f, "[{key}]"),
        }
    }
}

impl From<&FieldPath<'_>> for Path {
    fn from(path: &FieldPath<'_>) -> Self {
        path.to_string().into()
    }
}
