//! [`ResourceName`]: an interned name of a resource such as `cpu` or `nvidia.com/gpu`.
//!
//! Must not depend on quantities.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::fmt;
use std::sync::OnceLock;

use parking_lot::RwLock;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use foldhash::fast::FixedState;

/// The name of a resource, interned: pointer-sized, copied and compared in one word.
///
/// The table is process-wide and never freed; a cluster has few resource names.
///
/// Names are ordered by their 64-bit FNV-1a hash, then by text. Kueue iterates the requests of a
/// pod set in this order, and a flavor search stops at the first resource without a flavor, so the
/// order is visible in messages.
#[derive(Clone, Copy)]
pub struct ResourceName(&'static Entry);

struct Entry {
    name: Box<str>,
    hash: u64,
}

/// Never iterated.
type Table = HashMap<&'static str, &'static Entry, FixedState>;

fn table() -> &'static RwLock<Table> {
    static TABLE: OnceLock<RwLock<Table>> = OnceLock::new();
    TABLE.get_or_init(Default::default)
}

/// 64-bit FNV-1a, the hash that orders resource names upstream.
fn fnv1a(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| {
        (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3)
    })
}

impl ResourceName {
    /// The interned name for `name`.
    pub fn new(name: &str) -> Self {
        if let Some(entry) = table().read().get(name) {
            return ResourceName(entry);
        }
        let mut table = table().write();
        if let Some(entry) = table.get(name) {
            return ResourceName(entry);
        }
        let entry: &'static Entry = Box::leak(Box::new(Entry {
            name: name.into(),
            hash: fnv1a(name),
        }));
        table.insert(&entry.name, entry);
        ResourceName(entry)
    }

    /// `cpu`, counted in milli-cores.
    #[inline]
    pub fn cpu() -> Self {
        static CPU: OnceLock<ResourceName> = OnceLock::new();
        *CPU.get_or_init(|| ResourceName::new("cpu"))
    }

    /// `pods`, of which every pod requests one.
    pub fn pods() -> Self {
        static PODS: OnceLock<ResourceName> = OnceLock::new();
        *PODS.get_or_init(|| ResourceName::new("pods"))
    }

    /// The text of the name.
    #[inline]
    pub fn as_str(&self) -> &'static str {
        &self.0.name
    }

    /// Whether this is `cpu`, the only resource in milli-units.
    #[inline]
    pub fn is_cpu(&self) -> bool {
        *self == Self::cpu()
    }
}

impl PartialEq for ResourceName {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for ResourceName {}

impl std::hash::Hash for ResourceName {
    #[inline]
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        state.write_u64(self.0.hash);
    }
}

impl PartialOrd for ResourceName {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ResourceName {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        if self == other {
            return Ordering::Equal;
        }
        self.0
            .hash
            .cmp(&other.0.hash)
            .then_with(|| self.0.name.cmp(&other.0.name))
    }
}

impl fmt::Display for ResourceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for ResourceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl From<&str> for ResourceName {
    fn from(name: &str) -> Self {
        ResourceName::new(name)
    }
}

impl Serialize for ResourceName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for ResourceName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = std::borrow::Cow::<str>::deserialize(deserializer)?;
        Ok(ResourceName::new(&name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interning_is_by_text() {
        assert_eq!(
            ResourceName::new("example.com/gpu"),
            ResourceName::new("example.com/gpu")
        );
        assert_ne!(ResourceName::new("cpu"), ResourceName::new("memory"));
    }

    #[test]
    fn order_is_that_of_the_hash() {
        // Reference values of FNV-1a.
        assert_eq!(fnv1a(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a("a"), 0xaf63_dc4c_8601_ec8c);
        let (a, b) = (ResourceName::new("cpu"), ResourceName::new("memory"));
        assert_eq!(a.cmp(&b), fnv1a("cpu").cmp(&fnv1a("memory")));
    }
}
