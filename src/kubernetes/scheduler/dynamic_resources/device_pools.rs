//! The devices of ResourceSlices, by pool and node.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use k8s_openapi::api::core::v1::NodeSelector;
use k8s_openapi::api::resource::v1::{Device, ResourceSlice};
use parking_lot::Mutex;

use super::super::NodeInfo;
use kueue_lab_cel::{CelSelector, CompileSelectorError, Evaluator, SelectorError};
use kueue_lab_component_helpers::node_affinity;

/// How many expressions a slice keeps the results of.
const MAX_CACHED_EXPRESSIONS: usize = 64;

/// The identity of a device in the cluster.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct DeviceId {
    pub driver: String,
    pub pool: String,
    pub device: String,
}

impl std::fmt::Display for DeviceId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}/{}", self.driver, self.pool, self.device)
    }
}

/// For each device of a slice, whether an expression matches it, or the runtime error.
type Matches = Arc<[Result<bool, SelectorError>]>;

/// A slice with the results of selectors on its devices.
pub(super) struct DeviceSlice {
    pub slice: Arc<ResourceSlice>,
    matches: Mutex<HashMap<String, Result<Matches, CompileSelectorError>>>,
}

impl DeviceSlice {
    fn new(slice: Arc<ResourceSlice>) -> Self {
        Self {
            slice,
            matches: Mutex::default(),
        }
    }

    /// The devices of the slice.
    pub(super) fn devices(&self) -> &[Device] {
        self.slice.spec.devices.as_deref().unwrap_or_default()
    }

    /// Whether an expression matches each of the devices.
    ///
    /// # Errors
    /// The compilation error.
    pub(super) fn matches(&self, expression: &str) -> Result<Matches, CompileSelectorError> {
        let mut cached = self.matches.lock();
        if let Some(known) = cached.get(expression) {
            return known.clone();
        }
        let matches = CelSelector::compile(expression).map(|selector| {
            let (driver, selector) = (&self.slice.spec.driver, [selector]);
            let evaluator = Evaluator::new();
            let matches = self
                .devices()
                .iter()
                .map(|device| evaluator.matches(&selector, &evaluator.candidate(driver, device)));
            matches.collect()
        });
        if cached.len() >= MAX_CACHED_EXPRESSIONS {
            cached.clear();
        }
        cached.insert(expression.to_owned(), matches.clone());
        matches
    }

    /// Whether the slice has devices for a node.
    fn targets(&self, node: &NodeInfo) -> bool {
        let spec = &self.slice.spec;
        if spec.per_device_node_selection == Some(true) {
            return self.devices().iter().any(|device| is_on_node(device, node));
        }
        let name = spec.node_name.as_deref().unwrap_or_default();
        node_matches(node, name, spec.all_nodes, spec.node_selector.as_ref())
    }
}

/// Whether a device of a slice with `perDeviceNodeSelection` is available on a node.
pub(super) fn is_on_node(device: &Device, node: &NodeInfo) -> bool {
    let name = device.node_name.as_deref().unwrap_or_default();
    node_matches(node, name, device.all_nodes, device.node_selector.as_ref())
}

fn node_matches(
    node: &NodeInfo,
    name: &str,
    all: Option<bool>,
    selector: Option<&NodeSelector>,
) -> bool {
    if !name.is_empty() {
        return node.name == name;
    }
    all == Some(true) || selector.is_some_and(|selector| selector_matches(selector, node))
}

/// Whether a node selector matches a node.
pub(super) fn selector_matches(selector: &NodeSelector, node: &NodeInfo) -> bool {
    node_affinity::NodeSelector::of(selector).matches(&node.name, node.labels()) == Ok(true)
}

/// The slices of the latest generation of a pool.
struct PoolInfo {
    driver: String,
    name: String,
    generation: i64,
    expected: i64,
    has_counters: bool,
    slices: Vec<Arc<DeviceSlice>>,
}

/// A pool with devices for a node.
pub(super) struct NodePool<'a> {
    pub driver: &'a str,
    pub name: &'a str,
    /// Whether slices of its latest generation are missing.
    pub is_incomplete: bool,
    /// The slices for the node.
    pub slices: Vec<&'a DeviceSlice>,
    /// The slices for all nodes.
    pub all_slices: &'a [Arc<DeviceSlice>],
    /// Whether devices share counters.
    pub has_counters: bool,
}

#[derive(Default)]
struct PoolIndex {
    pools: Vec<PoolInfo>,
    /// The pools with slices of one node.
    by_node: HashMap<String, Vec<usize>>,
    /// The other pools.
    shared: Vec<usize>,
}

/// All slices.
#[derive(Default)]
pub(super) struct DevicePools {
    slices: BTreeMap<String, Arc<DeviceSlice>>,
    index: PoolIndex,
    is_stale: bool,
}

impl DevicePools {
    /// Adds or updates a slice.
    pub(super) fn update(&mut self, name: String, slice: Arc<ResourceSlice>) {
        self.slices.insert(name, Arc::new(DeviceSlice::new(slice)));
        self.is_stale = true;
    }

    /// Removes a slice.
    pub(super) fn remove(&mut self, name: &str) {
        self.is_stale |= self.slices.remove(name).is_some();
    }

    /// Groups the slices by pool after changes. To be called before [`Self::for_node`].
    pub(super) fn refresh(&mut self) {
        if !std::mem::take(&mut self.is_stale) {
            return;
        }
        let mut pools: BTreeMap<(&str, &str), PoolInfo> = BTreeMap::new();
        for slice in self.slices.values() {
            let spec = &slice.slice.spec;
            let pool = &spec.pool;
            let fresh = || PoolInfo {
                driver: spec.driver.clone(),
                name: pool.name.clone(),
                generation: pool.generation,
                expected: pool.resource_slice_count,
                has_counters: false,
                slices: Vec::new(),
            };
            let known = pools
                .entry((&spec.driver, &pool.name))
                .or_insert_with(fresh);
            if pool.generation > known.generation {
                *known = fresh();
            }
            if pool.generation == known.generation {
                known.has_counters |= spec.shared_counters.is_some();
                known.slices.push(slice.clone());
            }
        }
        let mut index = PoolIndex::default();
        for pool in pools.into_values() {
            let at = index.pools.len();
            let mut is_shared = false;
            for slice in &pool.slices {
                match &slice.slice.spec.node_name {
                    Some(node) => {
                        let of_node = index.by_node.entry(node.clone()).or_default();
                        if of_node.last() != Some(&at) {
                            of_node.push(at);
                        }
                    }
                    None => is_shared = true,
                }
            }
            if is_shared {
                index.shared.push(at);
            }
            index.pools.push(pool);
        }
        self.index = index;
    }

    /// The pools with devices for a node, by driver and name.
    pub(super) fn for_node<'a>(&'a self, node: &NodeInfo) -> Vec<NodePool<'a>> {
        let own = self.index.by_node.get(&node.name).into_iter().flatten();
        let mut pools: Vec<usize> = own.chain(&self.index.shared).copied().collect();
        pools.sort_unstable();
        pools.dedup();
        let pools = pools.into_iter().map(|at| &self.index.pools[at]);
        let pools = pools.map(|pool| NodePool {
            driver: &pool.driver,
            name: &pool.name,
            is_incomplete: i64::try_from(pool.slices.len()) != Ok(pool.expected),
            slices: pool
                .slices
                .iter()
                .map(|slice| &**slice)
                .filter(|slice| slice.targets(node))
                .collect(),
            all_slices: &pool.slices,
            has_counters: pool.has_counters,
        });
        pools.filter(|pool| !pool.slices.is_empty()).collect()
    }
}
