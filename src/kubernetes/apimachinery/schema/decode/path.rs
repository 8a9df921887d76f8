//! The current path of a decoder.

use std::fmt;

/// The path of a value, as a linked list on the stack.
pub(super) enum Path<'p> {
    Root,
    Field(&'p Path<'p>, &'p str),
    Key(&'p Path<'p>, &'p str),
    Index(&'p Path<'p>, usize),
}

impl Path<'_> {
    /// The field names only, as in Go's `UnmarshalTypeError`.
    pub(super) fn fields(&self) -> String {
        match self {
            Path::Root => String::new(),
            Path::Key(parent, _) | Path::Index(parent, _) => parent.fields(),
            Path::Field(parent, name) => {
                let before = parent.fields();
                if before.is_empty() {
                    (*name).into()
                } else {
                    format!("{before}.{name}")
                }
            }
        }
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Path::Root => Ok(()),
            Path::Field(Path::Root, name) | Path::Key(Path::Root, name) => f.write_str(name),
            Path::Field(parent, name) | Path::Key(parent, name) => write!(f, "{parent}.{name}"),
            Path::Index(parent, i) => write!(f, "{parent}[{i}]"),
        }
    }
}
