//! GPU node labels: the label formatters of SkyPilot in its order of preference.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Node;

use kueue_lab_quantity::Quantity;

/// The properties of a node that SkyPilot uses.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct NodeInfo {
    /// Name.
    pub name: String,
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// Whether the Ready condition is true.
    pub ready: bool,
    /// CPUs.
    pub cpus: NodeCapacity,
    /// Memory, in GB (10⁹ bytes).
    pub memory: NodeCapacity,
    /// GPUs by resource name.
    pub gpus: BTreeMap<String, u32>,
}

/// The capacity and the allocatable amount of a resource.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct NodeCapacity {
    /// Capacity.
    pub capacity: f64,
    /// Allocatable.
    pub allocatable: f64,
}

/// The extended resources that are GPUs.
pub(crate) const GPU_RESOURCES: [&str; 2] = ["nvidia.com/gpu", "amd.com/gpu"];

impl NodeInfo {
    /// Reads a Node; invalid quantities count as zero.
    pub(crate) fn from_node(node: &Node) -> Self {
        let status = node.status.clone().unwrap_or_default();
        let (capacity, allocatable) = (
            status.capacity.unwrap_or_default(),
            status.allocatable.unwrap_or_default(),
        );
        let amount = |list: &BTreeMap<String, _>, name: &str| {
            list.get(name)
                .and_then(|q| Quantity::try_from(q).ok())
                .map_or(0.0, Quantity::approximate)
        };
        let node_capacity = |name: &str, unit: f64| NodeCapacity {
            capacity: amount(&capacity, name) / unit,
            allocatable: amount(&allocatable, name) / unit,
        };
        let ready = status.conditions.unwrap_or_default();
        Self {
            name: node.metadata.name.clone().unwrap_or_default(),
            labels: node.metadata.labels.clone().unwrap_or_default(),
            ready: ready
                .iter()
                .any(|c| c.type_ == "Ready" && c.status == "True"),
            cpus: node_capacity("cpu", 1.0),
            memory: node_capacity("memory", 1e9),
            gpus: GPU_RESOURCES
                .iter()
                .map(|name| ((*name).to_owned(), amount(&capacity, name) as u32))
                .filter(|(_, n)| *n > 0)
                .collect(),
        }
    }

    /// The GPU resource name of a cluster.
    pub(super) fn gpu_resource(nodes: &[Self]) -> &'static str {
        let has = |name: &str| nodes.iter().any(|n| n.gpus.contains_key(name));
        GPU_RESOURCES
            .into_iter()
            .find(|n| has(n))
            .unwrap_or(GPU_RESOURCES[0])
    }
}

/// A label formatter (SkyPilot's `GPULabelFormatter`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GpuLabelFormatter {
    /// `skypilot.co/accelerator`, values in lower case.
    SkyPilot,
    /// Google's `cloud.google.com/gke-accelerator`.
    Gke,
    /// Karpenter's `karpenter.k8s.aws/instance-gpu-name`.
    Karpenter,
    /// `nvidia.com/gpu.product`, from NVIDIA's GPU feature discovery.
    Nvidia,
    /// CoreWeave's `gpu.nvidia.com/class`.
    CoreWeave,
    /// `nebius.com/gpu-name`.
    Nebius,
}

impl GpuLabelFormatter {
    /// All formatters, in the order of preference.
    pub(crate) const ALL: [Self; 6] = [
        Self::SkyPilot,
        Self::Gke,
        Self::Karpenter,
        Self::Nvidia,
        Self::CoreWeave,
        Self::Nebius,
    ];

    /// The node label key.
    pub(crate) const fn key(self) -> &'static str {
        match self {
            Self::SkyPilot => "skypilot.co/accelerator",
            Self::Gke => "cloud.google.com/gke-accelerator",
            Self::Karpenter => "karpenter.k8s.aws/instance-gpu-name",
            Self::Nvidia => "nvidia.com/gpu.product",
            Self::CoreWeave => "gpu.nvidia.com/class",
            Self::Nebius => "nebius.com/gpu-name",
        }
    }

    /// The keys that Pods without GPUs avoid by preferred node affinity.
    pub(crate) const fn avoided_keys(self) -> &'static [&'static str] {
        match self {
            Self::SkyPilot => &["skypilot.co/accelerator"],
            Self::Gke => &[
                "cloud.google.com/gke-accelerator",
                "cloud.google.com/gke-tpu-accelerator",
            ],
            Self::Karpenter => &[
                "karpenter.k8s.aws/instance-gpu-name",
                "karpenter.k8s.aws/instance-accelerator-name",
            ],
            Self::Nvidia => &["nvidia.com/gpu.product"],
            Self::CoreWeave => &["gpu.nvidia.com/class"],
            Self::Nebius => &["nebius.com/gpu-name"],
        }
    }

    /// The formatter of the cluster: the first whose key some node has with a valid value.
    pub(crate) fn detect(nodes: &[NodeInfo]) -> Option<Self> {
        Self::ALL.into_iter().find(|label| {
            let values = nodes.iter().filter_map(|n| n.labels.get(label.key()));
            values
                .into_iter()
                .any(|v| !v.is_empty() && label.accepts(v))
        })
    }

    fn accepts(self, value: &str) -> bool {
        match self {
            Self::SkyPilot | Self::Karpenter => value == value.to_lowercase(),
            Self::Gke => value.starts_with("nvidia-") || value.starts_with("tpu"),
            Self::Nebius => value == value.to_uppercase(),
            Self::Nvidia | Self::CoreWeave => true,
        }
    }

    /// SkyPilot's accelerator name for a label value.
    pub(crate) fn accelerator(self, value: &str) -> String {
        match self {
            Self::SkyPilot | Self::Karpenter | Self::Nebius => value.to_uppercase(),
            Self::CoreWeave if value == "H100_NVLINK_80GB" => "H100".into(),
            Self::CoreWeave => value.to_owned(),
            Self::Gke => match value.strip_prefix("nvidia-tesla-") {
                Some(name) => name.to_uppercase(),
                None => match value.trim_start_matches("nvidia-").to_uppercase().as_str() {
                    "H100-80GB" => "H100".into(),
                    "H200-141GB" => "H200".into(),
                    name => name.to_owned(),
                },
            },
            Self::Nvidia => canonical_gpu_name(value),
        }
    }

    /// The label value of the first node with the requested GPU.
    pub(super) fn value_for<'n>(self, nodes: &'n [NodeInfo], accelerator: &str) -> Option<&'n str> {
        nodes
            .iter()
            .filter_map(|n| n.labels.get(self.key()))
            .find(|value| {
                let names = [value.to_lowercase(), self.accelerator(value).to_lowercase()];
                names
                    .iter()
                    .any(|n| gpu_names_match(&accelerator.to_lowercase(), n))
            })
            .map(String::as_str)
    }
}

/// GPU names in product labels, a longer name before a shorter one that it contains.
const CANONICAL_GPU_NAMES: [&str; 34] = [
    "GB300",
    "GB200",
    "B300",
    "B200",
    "B100",
    "GH200",
    "H200",
    "H100-80GB",
    "H100-MEGA",
    "H100",
    "A100-80GB",
    "A100",
    "A10G",
    "A10",
    "A16",
    "A30",
    "A40",
    "RTX6000-Ada",
    "L40S",
    "L40",
    "L4",
    "A6000",
    "A5000",
    "A4000",
    "V100-32GB",
    "V100",
    "P100",
    "P40",
    "P4000",
    "P4",
    "T4g",
    "T4",
    "K80",
    "M60",
];

/// The GPU name in a product label such as `NVIDIA-H100-80GB-HBM3`.
fn canonical_gpu_name(value: &str) -> String {
    for name in CANONICAL_GPU_NAMES {
        let named = match name {
            // The size can be separate from the name: NVIDIA-A100-SXM4-80GB.
            "A100-80GB" | "H100-80GB" => value
                .split_once(&name[..4])
                .is_some_and(|(_, rest)| rest.contains("-80GB")),
            _ => has_word(value, name),
        };
        if named {
            return name.to_owned();
        }
    }
    value
        .to_uppercase()
        .replace("NVIDIA-", "")
        .replace("GEFORCE-", "")
        .replace("RTX-", "RTX")
}

/// Whether a text contains a whole word.
fn has_word(text: &str, word: &str) -> bool {
    let part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices(word).any(|(start, _)| {
        !text[..start].ends_with(part) && !text[start + word.len()..].starts_with(part)
    })
}

/// Whether a requested GPU name matches a found one: equal, or one is a prefix of the other up to a
/// dash, unless the request needs more memory than the GPU has.
fn gpu_names_match(requested: &str, found: &str) -> bool {
    let (short, long) = if requested.len() <= found.len() {
        (requested, found)
    } else {
        (found, requested)
    };
    let related = long
        .strip_prefix(short)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('-'));
    related
        && match (memory_gb(requested), memory_gb(found)) {
            (Some(requested), Some(found)) => requested <= found,
            _ => true,
        }
}

/// Device memory in GB, for GPUs with several sizes.
fn memory_gb(name: &str) -> Option<u32> {
    let base = ["a100", "v100"].into_iter().find(|b| name.starts_with(b))?;
    let suffix = name[base.len()..].rsplit('-').next().unwrap_or_default();
    let digits = suffix.trim_end_matches(['g', 'b']);
    match digits.parse() {
        Ok(size) => Some(size),
        Err(_) if name == base => Some(if base == "a100" { 40 } else { 16 }),
        Err(_) => None,
    }
}

/// The label and value of the cluster's spot nodes, if a node has one that SkyPilot supports.
pub(super) fn spot_label(nodes: &[NodeInfo]) -> Option<(&'static str, &'static str)> {
    [
        ("cloud.google.com/gke-spot", "true"),
        ("karpenter.sh/capacity-type", "spot"),
    ]
    .into_iter()
    .find(|(key, value)| {
        nodes
            .iter()
            .any(|n| n.labels.get(*key).is_some_and(|v| v == value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(labels: &[(&str, &str)]) -> NodeInfo {
        NodeInfo {
            labels: labels
                .iter()
                .map(|(k, v)| ((*k).into(), (*v).into()))
                .collect(),
            ..NodeInfo::default()
        }
    }

    #[test]
    fn the_first_known_key_applies_to_the_cluster() {
        let nodes = [
            node(&[]),
            node(&[("nvidia.com/gpu.product", "NVIDIA-H100-80GB-HBM3")]),
            node(&[("skypilot.co/accelerator", "h100")]),
        ];
        assert_eq!(
            GpuLabelFormatter::detect(&nodes),
            Some(GpuLabelFormatter::SkyPilot)
        );
        assert_eq!(
            GpuLabelFormatter::detect(&nodes[..2]),
            Some(GpuLabelFormatter::Nvidia)
        );
        assert_eq!(GpuLabelFormatter::detect(&nodes[..1]), None);
        assert_eq!(
            GpuLabelFormatter::detect(&[node(&[("skypilot.co/accelerator", "H100")])]),
            None
        );
    }

    #[test]
    fn a_request_matches_the_label_of_the_cluster() {
        let nodes = [
            node(&[("nvidia.com/gpu.product", "NVIDIA-A100-SXM4-40GB")]),
            node(&[("nvidia.com/gpu.product", "NVIDIA-H100-80GB-HBM3")]),
        ];
        let value = |name| GpuLabelFormatter::Nvidia.value_for(&nodes, name);
        assert_eq!(value("H100"), Some("NVIDIA-H100-80GB-HBM3"));
        assert_eq!(value("a100"), Some("NVIDIA-A100-SXM4-40GB"));
        assert_eq!(value("A100-80GB"), None);
        assert_eq!(value("L4"), None);
        let gke = [node(&[(
            "cloud.google.com/gke-accelerator",
            "nvidia-h100-80gb",
        )])];
        assert_eq!(
            GpuLabelFormatter::Gke.value_for(&gke, "H100"),
            Some("nvidia-h100-80gb")
        );
        assert_eq!(GpuLabelFormatter::Gke.accelerator("nvidia-tesla-t4"), "T4");
    }

    #[test]
    fn product_names() {
        for (label, name) in [
            ("NVIDIA-H100-80GB-HBM3", "H100-80GB"),
            ("NVIDIA-A100-SXM4-80GB", "A100-80GB"),
            ("NVIDIA-L4", "L4"),
            ("NVIDIA-L40S", "L40S"),
            ("NVIDIA-A100-SXM4-40GB", "A100"),
            ("NVIDIA-RTX-A6000", "A6000"),
            ("NVIDIA-GeForce-RTX-3070", "RTX3070"),
        ] {
            assert_eq!(canonical_gpu_name(label), name, "{label}");
        }
    }
}
