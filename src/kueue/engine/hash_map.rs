//! [`FastHashMap`]: hash maps and sets for lookups by key, never iterated where the order is
//! visible.
//!
//! A cycle performs some ten thousand lookups, so the hasher is the fastest one with a good
//! distribution. It is unseeded: the order is the same in every run. Must not depend on the
//! contents.

use std::collections::{HashMap, HashSet};

use foldhash::fast::FixedState;

/// A map for lookups by key.
pub type FastHashMap<K, V> = HashMap<K, V, FixedState>;

/// A set for membership tests.
pub type FastHashSet<K> = HashSet<K, FixedState>;
