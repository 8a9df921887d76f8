//! [`Path`]: upstream's `field.Path`.

use std::fmt;
use std::ops::Deref;

/// The path of a field, such as `spec.resourceGroups[0].flavors[1].name`; empty for the object
/// itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Path(String);

impl Path {
    /// A field of the object.
    pub fn new(name: &str) -> Self {
        Self(name.to_owned())
    }

    /// A child field of this one.
    #[must_use]
    pub fn child(&self, name: &str) -> Self {
        if self.0.is_empty() {
            Self::new(name)
        } else {
            Self(format!("{}.{name}", self.0))
        }
    }

    /// An item of this list.
    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        Self(format!("{}[{index}]", self.0))
    }

    /// An entry of this map, or an item of this list by its key.
    #[must_use]
    pub fn key(&self, key: &str) -> Self {
        Self(format!("{}[{key}]", self.0))
    }

    /// The text of the path.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Deref for Path {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl From<&Path> for Path {
    fn from(path: &Path) -> Self {
        path.clone()
    }
}

impl From<&str> for Path {
    fn from(path: &str) -> Self {
        Self::new(path)
    }
}

impl From<String> for Path {
    fn from(path: String) -> Self {
        Self(path)
    }
}

impl From<&String> for Path {
    fn from(path: &String) -> Self {
        Self::new(path)
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
