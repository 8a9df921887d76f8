//! [`FastHashMap`]: maps and sets that are asked for keys and never walked where order shows.
//!
//! A cycle asks them some ten thousand times, so they hash with the fastest hasher that spreads
//! well. It has no secret: the same keys lie in the same places in every run. Must not know what is
//! looked up.

use std::collections::{HashMap, HashSet};

use foldhash::fast::FixedState;

/// A map for finding things by key.
pub type FastHashMap<K, V> = HashMap<K, V, FixedState>;

/// A set for telling what is in it.
pub type FastHashSet<K> = HashSet<K, FixedState>;
