//! Which kinds are served right now, under which paths, and where their objects are stored.
//!
//! Readers get the whole table at once and keep it as long as they like; a change swaps the table.
//! Must not know HTTP.

mod definition;
mod served;
mod table;

use std::collections::BTreeMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use parking_lot::Mutex;

use super::kind::Kind;
use super::store::{Space, Store};
pub use crate::crd::Paths as ScalePaths;
pub use definition::{DefinedVersion, Definition, Names, SchemaSource};
pub use served::{Custom, Served};
pub use table::{Group, Table, Version};

/// `group/version`, or just `version` for the core group.
pub fn api_version(group: &str, version: &str) -> String {
    if group.is_empty() {
        version.to_string()
    } else {
        format!("{group}/{version}")
    }
}

/// The kinds served, changing while the server runs.
pub struct Registry {
    store: Store,
    table: ArcSwap<Table>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    builtin: Vec<Arc<Served>>,
    /// Kinds of custom resource definitions by group and definition name.
    custom: BTreeMap<(String, String), Defined>,
    /// How many texts of definitions there have been.
    shapes: u64,
    /// By `group/plural` of the storage version.
    spaces: BTreeMap<String, Arc<Space>>,
}

/// What one definition defines.
struct Defined {
    identity: String,
    shape: u64,
    terminating: bool,
    served: Vec<Arc<Served>>,
}

impl State {
    fn space(&mut self, store: &Store, group: &str, plural: &str) -> Arc<Space> {
        let place = format!("{group}/{plural}");
        self.spaces
            .entry(place)
            .or_insert_with(|| store.space())
            .clone()
    }
}

impl Registry {
    /// Serves the given built-in kinds.
    pub fn new(store: Store, builtin: Vec<Kind>) -> Self {
        let mut state = State::default();
        for kind in builtin {
            let stored = !kind.storage_version_hash.is_empty();
            let space = stored.then(|| state.space(&store, &kind.storage_group, &kind.plural));
            state.builtin.push(Arc::new(Served::builtin(kind, space)));
        }
        let registry = Self {
            store,
            table: ArcSwap::default(),
            state: Mutex::default(),
        };
        registry.publish(&state);
        *registry.state.lock() = state;
        registry
    }

    /// The kinds served now.
    pub fn table(&self) -> Arc<Table> {
        self.table.load_full()
    }

    /// Finds a resource by its place in a path.
    pub fn find(&self, group: &str, version: &str, plural: &str) -> Option<Arc<Served>> {
        self.table.load().find(group, version, plural).cloned()
    }

    /// Serves a custom kind as defined, in place of what its definition said before. `identity`
    /// tells this text of the definition from every other; `terminating` that it is on its way out.
    pub fn define(&self, definition: Definition, identity: &str, terminating: bool) {
        let mut state = self.state.lock();
        let place = (definition.group.clone(), definition.name.clone());
        let known = state.custom.get(&place).filter(|d| d.identity == identity);
        let shape = match known {
            // Compiled schemas stay as they are.
            Some(known) if known.terminating == terminating => return,
            Some(known) => known.shape,
            None => state.shapes + 1,
        };
        state.shapes = state.shapes.max(shape);
        let definition = Arc::new(definition);
        let space = state.space(&self.store, &definition.group, &definition.names.plural);
        let served = (0..definition.versions.len()).filter_map(|version| {
            let custom = Custom {
                definition: definition.clone(),
                version,
                terminating,
            };
            Some(Arc::new(Served::custom(custom, shape, space.clone())?))
        });
        let served = served.collect();
        let defined = Defined {
            identity: identity.into(),
            shape,
            terminating,
            served,
        };
        state.custom.insert(place, defined);
        self.publish(&state);
    }

    /// Stops serving a custom kind. Its watches end and its objects, if there still are any, go.
    pub fn undefine(&self, group: &str, name: &str) {
        let mut state = self.state.lock();
        let Some(defined) = state.custom.remove(&(group.to_string(), name.to_string())) else {
            return;
        };
        self.publish(&state);
        if let Some(plural) = defined.served.first().map(|s| s.kind.plural.clone())
            && let Some(space) = state.spaces.remove(&format!("{group}/{plural}"))
        {
            space.close();
        }
    }

    fn publish(&self, state: &State) {
        let custom = state.custom.values().flat_map(|d| &d.served);
        let all = state.builtin.iter().chain(custom).cloned().collect();
        self.table.store(Arc::new(Table::new(all)));
    }
}
