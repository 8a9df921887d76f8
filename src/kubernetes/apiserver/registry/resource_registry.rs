//! The registry of built-in and custom resources.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arc_swap::ArcSwap;
use parking_lot::Mutex;

use super::crd_spec::CrdSpec;
use super::registry_snapshot::{CrdSnapshot, RegistrySnapshot};
use super::resource_table::ResourceTable;
use super::served_resource::{CustomResourceInfo, ServedResource};
use crate::plugins::AggregatedApi;
use crate::storage::{ResourceStorage, Store, StoreSnapshot};
use kueue_lab_apimachinery::strategy::api_resource::ApiResource;

/// The served resources, which change while the server runs.
pub struct Registry {
    store: Store,
    table: ArcSwap<ResourceTable>,
    state: Mutex<RegistryState>,
}

#[derive(Default)]
struct RegistryState {
    builtin: Vec<Arc<ServedResource>>,
    /// Resources of extension API servers. Their groups come last in discovery, as
    /// groupPriorityMinimum orders them: kubectl takes the first group that has a resource name.
    aggregated: Vec<Arc<ServedResource>>,
    /// Custom resources by group and name of the CustomResourceDefinition.
    custom: BTreeMap<(String, String), ServedCrd>,
    /// The last schema generation assigned to a definition.
    last_schema_generation: u64,
    /// By `group/plural` of the storage version.
    storages: BTreeMap<String, Arc<ResourceStorage>>,
}

/// The served resources of one CustomResourceDefinition.
struct ServedCrd {
    definition: Arc<CrdSpec>,
    identity: String,
    schema_generation: u64,
    terminating: bool,
    served: Vec<Arc<ServedResource>>,
}

impl RegistryState {
    fn resource_storage(
        &mut self,
        store: &Store,
        group: &str,
        plural: &str,
    ) -> Arc<ResourceStorage> {
        let key = format!("{group}/{plural}");
        self.storages
            .entry(key)
            .or_insert_with_key(|key| store.new_resource_storage(key))
            .clone()
    }

    fn serve(&mut self, store: &Store, crd: CrdSnapshot) {
        let definition = &crd.definition;
        let key = (definition.group.clone(), definition.name.clone());
        let storage = self.resource_storage(store, &definition.group, &definition.names.plural);
        self.custom.insert(key, ServedCrd::new(crd, &storage));
    }

    /// Serves a revision of a definition; returns whether that is a change.
    fn serve_revision(
        &mut self,
        store: &Store,
        definition: CrdSpec,
        identity: String,
        terminating: bool,
    ) -> bool {
        let key = (definition.group.clone(), definition.name.clone());
        let known = self.custom.get(&key).filter(|d| d.identity == identity);
        let schema_generation = match known {
            // Compiled schemas are kept.
            Some(known) if known.terminating == terminating => return false,
            Some(known) => known.schema_generation,
            None => self.last_schema_generation + 1,
        };
        self.last_schema_generation = self.last_schema_generation.max(schema_generation);
        let crd = CrdSnapshot {
            definition: Arc::new(definition),
            identity,
            schema_generation,
            terminating,
        };
        self.serve(store, crd);
        true
    }
}

impl ServedCrd {
    fn new(crd: CrdSnapshot, storage: &Arc<ResourceStorage>) -> Self {
        let CrdSnapshot {
            definition,
            identity,
            schema_generation,
            terminating,
        } = crd;
        let served = (0..definition.versions.len()).filter_map(|version| {
            let custom = CustomResourceInfo {
                definition: definition.clone(),
                version,
                terminating,
            };
            let served = ServedResource::custom(custom, schema_generation, storage.clone());
            Some(Arc::new(served?))
        });
        Self {
            served: served.collect(),
            definition: definition.clone(),
            identity,
            schema_generation,
            terminating,
        }
    }
}

impl Registry {
    /// Creates a registry with the given built-in resources.
    pub fn new(store: Store, builtin: Vec<ApiResource>) -> Self {
        Self::with_crds(store, builtin, None)
    }

    /// Creates a registry with the given built-in resources and the custom resources of a snapshot.
    pub fn from_snapshot(
        store: Store,
        builtin: Vec<ApiResource>,
        snapshot: &RegistrySnapshot,
    ) -> Self {
        Self::with_crds(store, builtin, Some(snapshot.clone()))
    }

    fn with_crds(
        store: Store,
        builtin: Vec<ApiResource>,
        snapshot: Option<RegistrySnapshot>,
    ) -> Self {
        let mut state = RegistryState::default();
        for kind in builtin {
            let stored = !kind.storage_version_hash.is_empty();
            let storage =
                stored.then(|| state.resource_storage(&store, &kind.storage_group, &kind.plural));
            state
                .builtin
                .push(Arc::new(ServedResource::builtin(kind, storage)));
        }
        if let Some(snapshot) = snapshot {
            state.last_schema_generation = snapshot.last_schema_generation;
            for crd in snapshot.crds {
                state.serve(&store, crd);
            }
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

    /// The current table.
    pub fn table(&self) -> Arc<ResourceTable> {
        self.table.load_full()
    }

    /// Finds a resource by group, version and plural name.
    pub fn find(&self, group: &str, version: &str, plural: &str) -> Option<Arc<ServedResource>> {
        self.table.load().find(group, version, plural).cloned()
    }

    /// Serves a custom resource, replacing its previous definition. `identity` identifies this
    /// revision of the definition; `terminating` is set while the definition is being deleted.
    pub(crate) fn serve_crd(&self, definition: CrdSpec, identity: &str, terminating: bool) {
        let mut state = self.state.lock();
        if state.serve_revision(&self.store, definition, identity.into(), terminating) {
            self.publish(&state);
        }
    }

    /// Serves several custom resources with their identities, as [`serve_crd`](Self::serve_crd).
    pub(crate) fn serve_crds(&self, definitions: impl IntoIterator<Item = (CrdSpec, String)>) {
        let mut state = self.state.lock();
        for (definition, identity) in definitions {
            state.serve_revision(&self.store, definition, identity, false);
        }
        self.publish(&state);
    }

    /// The state of all storages and the custom resources that are served.
    pub fn snapshot(&self) -> (StoreSnapshot, RegistrySnapshot) {
        let state = self.state.lock();
        let crds = state.custom.values().map(|crd| CrdSnapshot {
            definition: crd.definition.clone(),
            identity: crd.identity.clone(),
            schema_generation: crd.schema_generation,
            terminating: crd.terminating,
        });
        let registry = RegistrySnapshot {
            crds: crds.collect(),
            last_schema_generation: state.last_schema_generation,
        };
        (self.store.store_snapshot(state.storages.values()), registry)
    }

    /// Stops serving a custom resource. Its watches end and its remaining objects are dropped.
    pub(crate) fn stop_serving_crd(&self, group: &str, name: &str) {
        let mut state = self.state.lock();
        let Some(defined) = state.custom.remove(&(group.to_string(), name.to_string())) else {
            return;
        };
        self.publish(&state);
        if let Some(plural) = defined.served.first().map(|s| s.kind.plural.clone())
            && let Some(storage) = state.storages.remove(&format!("{group}/{plural}"))
        {
            self.store.close_resource_storage(&storage);
        }
    }

    /// The names of the served CustomResourceDefinitions.
    pub(crate) fn crd_names(&self) -> BTreeSet<String> {
        let state = self.state.lock();
        state.custom.keys().map(|(_, name)| name.clone()).collect()
    }

    /// Serves the resources of an extension API server.
    pub(crate) fn serve_aggregated(
        &self,
        resources: Vec<ApiResource>,
        api: &Arc<dyn AggregatedApi>,
    ) {
        let mut state = self.state.lock();
        let served = resources
            .into_iter()
            .map(|kind| Arc::new(ServedResource::aggregated(kind, api.clone())));
        state.aggregated.extend(served);
        self.publish(&state);
    }

    fn publish(&self, state: &RegistryState) {
        let custom = state.custom.values().flat_map(|d| &d.served);
        let all = state.builtin.iter().chain(custom).chain(&state.aggregated);
        let all = all.cloned().collect();
        self.table.store(Arc::new(ResourceTable::new(all)));
    }
}
