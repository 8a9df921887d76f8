//! The node-pool file, parsed strictly. [`super::validation`] checks the values.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use k8s_openapi::api::core::v1::{ContainerImage, Taint};
use kueue_lab_host::FILE_LIMIT;
use serde::{Deserialize, Deserializer, de};

use super::node_devices::RawNodeDevices;
use super::{NodeDevices, RealNodes, real_nodes, validation};
use kueue_lab_quantity::Quantity;
use kueue_lab_yaml::{Kind, Limits, Located, Node, Problem, from_node, parse_one};

/// The content of the node-pool file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodePools {
    /// The pools, in the order of the file.
    pub pools: Vec<NodePool>,
    /// Fake resources of real nodes; the first entry that matches a node wins.
    pub real: Vec<RealNodes>,
}

/// A pool of identical nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct NodePool {
    /// Name of the pool; its nodes are `NAME-0`, `NAME-1` and so on, unless they have `names`.
    pub name: String,
    /// Names of the first nodes.
    pub names: Vec<String>,
    /// Number of nodes.
    pub count: u32,
    /// Capacity of each node.
    pub resources: BTreeMap<String, Quantity>,
    /// Labels of each node.
    pub labels: BTreeMap<String, String>,
    /// Taints of each node.
    pub taints: Vec<Taint>,
    /// Zones, assigned to the nodes round-robin.
    pub zones: Vec<String>,
    /// Topology levels, such as blocks and racks, from the widest.
    pub topology: Vec<PoolTopologyLevel>,
    /// `spec.providerID` of the nodes, with `$(NODE_NAME)` for the name of the node.
    pub provider_id: Option<String>,
    /// The `InternalIP` of the nodes on an embedded cluster, a loopback address: the Pods with
    /// `hostNetwork` on them are processes on this machine.
    pub address: Option<IpAddr>,
    /// `status.images` of each node.
    pub images: Vec<ContainerImage>,
    /// Devices of each node for dynamic resource allocation, on an embedded cluster.
    pub devices: Vec<NodeDevices>,
    /// Scale-up by ProvisioningRequests, and scale-down.
    pub autoscale: Option<Autoscale>,
}

impl NodePool {
    /// The name of the n-th node.
    pub fn node_name(&self, index: u32) -> String {
        match self.names.get(index as usize) {
            Some(name) => name.clone(),
            None => format!("{}-{index}", self.name),
        }
    }
}

/// A topology level: consecutive nodes share a domain.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct PoolTopologyLevel {
    /// The node label that names the domain.
    pub label: String,
    /// Number of consecutive nodes in a domain.
    pub nodes_per_domain: u32,
    /// Prefix of domain names; by default the pool's name and the last segment of the label.
    #[serde(default)]
    pub prefix: Option<String>,
}

/// How the autoscaler changes the size of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Autoscale {
    /// Maximum number of nodes.
    pub max: u32,
    /// Time from the decision to scale up until the nodes exist.
    pub delay: Duration,
    /// Time that an added node has to be without pods until it is removed
    /// (`--scale-down-unneeded-time` of the cluster autoscaler).
    pub scale_down_unneeded_time: Duration,
}

/// [`Autoscale`] as read from the file; durations have Go's format.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct RawAutoscale {
    pub(super) max: u32,
    #[serde(default)]
    pub(super) delay: Option<Located<String>>,
    #[serde(default)]
    pub(super) scale_down_unneeded_time: Option<Located<String>>,
}

/// The error of an invalid node-pool file.
#[derive(Debug, thiserror::Error)]
pub enum PoolsError {
    /// The file cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// The file has an error.
    #[error("{}:{problem}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// Position and message.
        problem: Problem,
    },
}

/// A quantity in the file: a number, or a string such as `64Gi`.
#[derive(Clone, Debug)]
pub(super) struct RawQuantity(pub(super) String);

impl<'de> Deserialize<'de> for RawQuantity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl de::Visitor<'_> for Read {
            type Value = RawQuantity;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a quantity such as 8, 500m or 64Gi")
            }
            fn visit_u64<E>(self, n: u64) -> Result<RawQuantity, E> {
                Ok(RawQuantity(n.to_string()))
            }
            fn visit_i64<E>(self, n: i64) -> Result<RawQuantity, E> {
                Ok(RawQuantity(n.to_string()))
            }
            fn visit_f64<E>(self, n: f64) -> Result<RawQuantity, E> {
                Ok(RawQuantity(n.to_string()))
            }
            fn visit_str<E>(self, text: &str) -> Result<RawQuantity, E> {
                Ok(RawQuantity(text.to_string()))
            }
        }
        deserializer.deserialize_any(Read)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct File {
    #[serde(default)]
    pools: Option<Vec<RawNodePool>>,
    #[serde(default)]
    real_nodes: Option<Vec<real_nodes::RawRealNodes>>,
}

/// A pool as read from the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct RawNodePool {
    pub(super) name: Located<String>,
    #[serde(default)]
    pub(super) count: Option<Located<i64>>,
    #[serde(default)]
    pub(super) names: Vec<Located<String>>,
    pub(super) resources: Located<BTreeMap<String, Located<RawQuantity>>>,
    #[serde(default)]
    pub(super) labels: BTreeMap<String, Located<String>>,
    #[serde(default)]
    pub(super) taints: Vec<Located<RawTaint>>,
    #[serde(default)]
    pub(super) zones: Vec<Located<String>>,
    #[serde(default)]
    pub(super) topology: Vec<Located<PoolTopologyLevel>>,
    #[serde(default, rename = "providerID")]
    pub(super) provider_id: Option<Located<String>>,
    #[serde(default)]
    pub(super) address: Option<Located<String>>,
    #[serde(default)]
    pub(super) images: Vec<Located<RawImage>>,
    #[serde(default)]
    pub(super) devices: Vec<Located<RawNodeDevices>>,
    #[serde(default)]
    pub(super) autoscale: Option<Located<RawAutoscale>>,
}

/// An image as read from the file, as in `status.images` of a Node.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct RawImage {
    pub(super) names: Vec<String>,
    #[serde(default)]
    pub(super) size_bytes: Option<i64>,
}

/// A taint as read from the file.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawTaint {
    pub(super) key: String,
    #[serde(default)]
    pub(super) value: Option<String>,
    pub(super) effect: Effect,
}

/// The effect of a taint.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) enum Effect {
    NoSchedule,
    PreferNoSchedule,
    NoExecute,
}

impl NodePools {
    /// The default pools.
    pub fn built_in() -> Self {
        // The text is embedded and checked by a test.
        Self::parse(include_str!("../../../lab/nodes.yaml")).unwrap_or_default()
    }

    /// Reads a node-pool file.
    ///
    /// # Errors
    /// The file cannot be read, or its first error with line and column.
    pub fn load(path: &Path) -> Result<Self, PoolsError> {
        let text = kueue_lab_host::read_argument_to_string(path, FILE_LIMIT).map_err(|source| {
            PoolsError::Read {
                path: path.to_path_buf(),
                source,
            }
        })?;
        Self::parse(&text).map_err(|problem| PoolsError::Invalid {
            path: path.to_path_buf(),
            problem,
        })
    }

    /// Parses a node-pool file: a mapping with the lists `pools` and `realNodes`, or only the list
    /// of pools.
    ///
    /// # Errors
    /// The first error, with its position.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        let root: Node = parse_one(text, Limits::default())?;
        let file = match root.kind {
            Kind::List(_) => File {
                pools: Some(from_node(&root)?),
                real_nodes: None,
            },
            _ => from_node(&root)?,
        };
        if file.pools.is_none() && file.real_nodes.is_none() {
            let message = "there are neither pools nor realNodes";
            return Err(Problem::new(root.at, message));
        }
        let mut names = BTreeSet::new();
        let mut pools = Vec::new();
        for pool in file.pools.unwrap_or_default() {
            if !names.insert(pool.name.value.clone()) {
                let message = format!(
                    "pool {:?} is already defined; choose another name",
                    pool.name.value
                );
                return Err(Problem::new(pool.name.at, message));
            }
            pools.push(validation::pool(pool)?);
        }
        validation::total(&pools, root.at)?;
        validation::node_names(&pools, root.at)?;
        let real = file.real_nodes.into_iter().flatten();
        Ok(Self {
            pools,
            real: real
                .map(real_nodes::RawRealNodes::check)
                .collect::<Result<_, _>>()?,
        })
    }
}
