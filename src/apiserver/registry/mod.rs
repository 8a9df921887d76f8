//! Which kinds are served right now, under which paths, and where their objects are stored.
//!
//! Readers get the whole table at once and keep it as long as they like; a change swaps the table.
//! Must not know HTTP.

mod table;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwap;
use parking_lot::Mutex;

use super::kind::Kind;
use super::schema::{self, Schema};
use super::store::{Space, Store};
pub use table::{Group, Table, Version};

/// One kind in one served version, with the place its objects are stored.
#[derive(Debug)]
pub struct Served {
    /// Names and behaviour.
    pub kind: Kind,
    /// Where objects are; `None` for kinds that are never stored.
    pub space: Option<Arc<Space>>,
    /// `group/version`, or `version` for core.
    pub api_version: String,
    /// The apiVersion objects are stored in.
    pub storage_api_version: String,
    schema: OnceLock<Option<Arc<Schema>>>,
}

impl Served {
    /// The structural schema of this version; built when first asked for.
    pub fn schema(&self) -> Option<Arc<Schema>> {
        let kind = &self.kind;
        let built = || schema::builtin(&kind.group, &kind.version, &kind.kind);
        self.schema
            .get_or_init(|| kind.schema.clone().or_else(built))
            .clone()
    }

    /// Whether objects are stored in the version this serves.
    pub fn is_stored_version(&self) -> bool {
        self.api_version == self.storage_api_version
    }

    /// `group/version, Resource=plural` as some messages name a resource.
    pub fn described(&self) -> String {
        format!(
            "{}/{}, Resource={}",
            self.kind.group, self.kind.version, self.kind.plural
        )
    }
}

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
    /// Kinds of custom resource definitions by definition name.
    custom: BTreeMap<String, Vec<Arc<Served>>>,
    /// By `group/plural` of the storage version.
    spaces: BTreeMap<String, Arc<Space>>,
}

impl Registry {
    /// Serves the given built-in kinds.
    pub fn new(store: Store, builtin: Vec<Kind>) -> Self {
        let registry = Self {
            store,
            table: ArcSwap::from_pointee(Table::default()),
            state: Mutex::default(),
        };
        {
            let mut state = registry.state.lock();
            let served = builtin.into_iter().map(|k| registry.serve(&mut state, k));
            let served: Vec<_> = served.map(Arc::new).collect();
            state.builtin = served;
            registry.publish(&state);
        }
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

    fn serve(&self, state: &mut State, kind: Kind) -> Served {
        let stored = !kind.storage_version_hash.is_empty();
        let space = stored.then(|| {
            let key = format!("{}/{}", kind.storage_group, kind.plural);
            let space = state
                .spaces
                .entry(key)
                .or_insert_with(|| self.store.space());
            space.clone()
        });
        Served {
            space,
            api_version: api_version(&kind.group, &kind.version),
            storage_api_version: api_version(&kind.storage_group, &kind.storage_version),
            schema: OnceLock::new(),
            kind,
        }
    }

    fn publish(&self, state: &State) {
        let custom = state.custom.values().flatten();
        let all = state.builtin.iter().chain(custom).cloned().collect();
        self.table.store(Arc::new(Table::new(all)));
    }
}
