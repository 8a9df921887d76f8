//! Computes the requests of a Pod from the resources of a task.

use super::gpu_labels::{GpuLabelFormatter, NodeInfo, spot_label};
use super::task::{Memory, TaskResources};

/// Default CPUs of a task without GPUs.
const DEFAULT_CPUS: f64 = 2.0;
/// Default CPUs per GPU.
const CPUS_PER_GPU: f64 = 4.0;
/// Default memory per CPU in GB, without and with GPUs.
const MEMORY_PER_CPU: (f64, f64) = (1.0, 4.0);
/// The tolerance of comparisons with a node's size.
const SIZE_TOLERANCE: f64 = 0.01;

/// The requests of each Pod of a cluster.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PodResources {
    /// CPUs.
    pub cpus: f64,
    /// Memory, in GB (10⁹ bytes).
    pub memory: f64,
    /// GPUs and their node label.
    pub gpus: Option<Gpus>,
    /// Node labels that Pods without GPUs avoid.
    pub avoided_labels: &'static [&'static str],
    /// The label and value of spot nodes, if requested.
    pub spot: Option<(&'static str, &'static str)>,
    /// Ephemeral storage in GB, if the task sets `disk_size`.
    pub disk: Option<u64>,
}

/// GPUs of a request.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Gpus {
    /// SkyPilot's name of the GPU.
    pub name: String,
    /// Count.
    pub count: u32,
    /// Resource name, such as `nvidia.com/gpu`.
    pub resource: &'static str,
    /// Node label key and value that the Pod requires.
    pub label: (&'static str, String),
}

/// Why a task does not fit the cluster.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PodResourcesError {
    /// No node has a GPU.
    #[error("the cluster has no GPUs; give the lab nodes with nvidia.com/gpu (--nodes)")]
    NoGpus,
    /// No node has a label with its GPU.
    #[error(
        "no node is labelled with its GPU; label GPU nodes with nvidia.com/gpu.product or skypilot.co/accelerator"
    )]
    NoGpuLabels,
    /// No node has the requested GPU.
    #[error("no node has {wanted} GPUs; the cluster has {found}")]
    NoSuchGpu {
        /// The requested GPU.
        wanted: String,
        /// The GPUs of the cluster.
        found: String,
    },
    /// No node has a spot label.
    #[error("no node is a spot node; label some with cloud.google.com/gke-spot=true")]
    NoSpotNodes,
    /// The request is larger than every node.
    #[error("no node is large enough for {wanted}; the largest has {largest}")]
    TooLarge {
        /// The request as text.
        wanted: String,
        /// The largest node as text.
        largest: String,
    },
    /// The task names another context.
    #[error("the task is for the context {0:?}, which is not this cluster's; write infra: k8s")]
    OtherContext(String),
}

impl PodResources {
    /// Sizes one alternative for a cluster of these nodes.
    ///
    /// # Errors
    /// The cluster has no suitable node.
    pub(crate) fn size(
        requested: &TaskResources,
        nodes: &[NodeInfo],
    ) -> Result<Self, PodResourcesError> {
        let count = requested.accelerator.as_ref().map_or(0, |a| a.count);
        let cpus = requested.cpus.unwrap_or(match count {
            0 => DEFAULT_CPUS,
            n => CPUS_PER_GPU * f64::from(n),
        });
        let per_cpu = if count == 0 {
            MEMORY_PER_CPU.0
        } else {
            MEMORY_PER_CPU.1
        };
        let memory = match requested.memory {
            Some(Memory::Gigabytes(gb)) => gb,
            Some(Memory::PerCpu(factor)) => factor * cpus,
            None => per_cpu * cpus,
        };
        // The request is parsed from the virtual instance type, which has one decimal.
        let (cpus, memory) = (round_to_one_decimal(cpus), round_to_one_decimal(memory));
        let label = GpuLabelFormatter::detect(nodes);
        let gpus = match &requested.accelerator {
            None => None,
            Some(accelerator) => Some(Gpus {
                name: accelerator.name.clone(),
                count,
                resource: NodeInfo::gpu_resource(nodes),
                label: find_gpu(label, nodes, &accelerator.name)?,
            }),
        };
        let spot = match requested.use_spot {
            false => None,
            true => Some(spot_label(nodes).ok_or(PodResourcesError::NoSpotNodes)?),
        };
        let mut request = Self {
            cpus,
            memory,
            avoided_labels: match (&gpus, label) {
                (None, Some(label)) => label.avoided_keys(),
                _ => &[],
            },
            gpus,
            spot,
            disk: requested.disk_size,
        };
        request.check_fits_on_node(nodes)?;
        request.clamp_to_allocatable(nodes);
        Ok(request)
    }

    /// `1x[CPU:6]`, `2x[H100:4]`: the REQUESTED column of `sky jobs queue`.
    pub(crate) fn requested(&self, num_nodes: u32) -> String {
        match &self.gpus {
            Some(gpus) => format!("{num_nodes}x[{}:{}]", gpus.name, gpus.count),
            None => format!("{num_nodes}x[CPU:{}]", format_number(self.cpus)),
        }
    }

    /// SkyPilot's launch check: the capacity of one node, used or not, fits one Pod.
    fn check_fits_on_node(&self, nodes: &[NodeInfo]) -> Result<(), PodResourcesError> {
        let count = |node: &NodeInfo| match &self.gpus {
            None => true,
            Some(gpus) => {
                node.gpus
                    .get(gpus.resource)
                    .is_some_and(|n| *n >= gpus.count)
                    && node.labels.get(gpus.label.0) == Some(&gpus.label.1)
            }
        };
        let ready: Vec<_> = nodes.iter().filter(|n| n.ready).collect();
        let fits = |n: &&NodeInfo| {
            n.cpus.capacity + SIZE_TOLERANCE >= self.cpus
                && n.memory.capacity + SIZE_TOLERANCE >= self.memory
                && count(n)
        };
        if ready.iter().any(fits) {
            return Ok(());
        }
        let largest = ready.iter().max_by(|a, b| {
            let key = |n: &NodeInfo| (n.gpus.values().sum::<u32>(), n.cpus.capacity);
            key(a)
                .partial_cmp(&key(b))
                .unwrap_or(std::cmp::Ordering::Equal)
        });
        Err(PodResourcesError::TooLarge {
            wanted: self.describe(),
            largest: largest.map_or("nothing, as no node is ready".into(), |n| {
                let gpus: u32 = n.gpus.values().sum();
                format!(
                    "{} CPUs, {} GB and {gpus} GPUs",
                    format_number(n.cpus.capacity),
                    format_number(n.memory.capacity.floor())
                )
            }),
        })
    }

    /// Lowers a request for a whole node to its allocatable resources, unless a node is larger in both.
    fn clamp_to_allocatable(&mut self, nodes: &[NodeInfo]) {
        let (mut cpus, mut memory) = (None::<f64>, None::<f64>);
        for node in nodes.iter().filter(|n| n.ready) {
            let (c, m) = (node.cpus, node.memory);
            if c.capacity > self.cpus + SIZE_TOLERANCE && m.capacity > self.memory + SIZE_TOLERANCE
            {
                return;
            }
            if (c.capacity - self.cpus).abs() < SIZE_TOLERANCE {
                let left = c.allocatable - c.capacity * 0.1;
                cpus = Some(cpus.map_or(left, |least| least.min(left)));
            }
            if (m.capacity - self.memory).abs() < SIZE_TOLERANCE {
                let left = m.allocatable - m.capacity * 0.05;
                memory = Some(memory.map_or(left, |least| least.min(left)));
            }
        }
        self.cpus = cpus.filter(|n| *n > 0.0).unwrap_or(self.cpus);
        self.memory = memory.filter(|n| *n > 0.0).unwrap_or(self.memory);
    }

    fn describe(&self) -> String {
        let gpus = match &self.gpus {
            Some(gpus) => format!(" and {} x {}", gpus.count, gpus.name),
            None => String::new(),
        };
        format!(
            "{} CPUs, {} GB{gpus}",
            format_number(self.cpus),
            format_number(self.memory)
        )
    }
}

fn find_gpu(
    label: Option<GpuLabelFormatter>,
    nodes: &[NodeInfo],
    name: &str,
) -> Result<(&'static str, String), PodResourcesError> {
    if nodes.iter().all(|n| n.gpus.is_empty()) {
        return Err(PodResourcesError::NoGpus);
    }
    let label = label.ok_or(PodResourcesError::NoGpuLabels)?;
    match label.value_for(nodes, name) {
        Some(value) => Ok((label.key(), value.to_owned())),
        None => {
            let values = nodes.iter().filter_map(|n| n.labels.get(label.key()));
            let mut found: Vec<_> = values.map(|v| label.accelerator(v)).collect();
            found.sort();
            found.dedup();
            Err(PodResourcesError::NoSuchGpu {
                wanted: name.to_owned(),
                found: found.join(", "),
            })
        }
    }
}

fn round_to_one_decimal(number: f64) -> f64 {
    if number.fract() == 0.0 {
        number
    } else {
        format!("{number:.1}").parse().unwrap_or(number)
    }
}

/// A number without `.0`.
fn format_number(number: f64) -> String {
    if number.fract() == 0.0 {
        format!("{number:.0}")
    } else {
        format!("{number:.1}")
    }
}
