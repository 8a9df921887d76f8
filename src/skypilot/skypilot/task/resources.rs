//! The `resources` block: the resources of one node, and alternatives.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::accelerators::{Accelerator, RawAccelerators};
use super::amount::{self, Memory, RawAmount};
use super::recovery::{JobRecovery, RawRecovery};
use kueue_lab_yaml::{Located, Position, Problem};

/// Valid priorities in SkyPilot's own queue; not Kueue's.
const PRIORITIES: std::ops::RangeInclusive<i32> = -1000..=1000;

/// One alternative of the resources of a node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TaskResources {
    /// `cpus`.
    pub cpus: Option<f64>,
    /// `memory`.
    pub memory: Option<Memory>,
    /// `accelerators`.
    pub accelerator: Option<Accelerator>,
    /// The kubeconfig context that `infra` or `region` names.
    pub context: Option<String>,
    /// Labels of the Pods, such as Kueue's queue name and priority class.
    pub labels: BTreeMap<String, String>,
    /// The container image, without `docker:`.
    pub image: Option<String>,
    /// `disk_size` in GB, which requests ephemeral storage.
    pub disk_size: Option<u64>,
    /// Spot nodes only.
    pub use_spot: bool,
    /// Recovery settings of a managed job.
    pub recovery: JobRecovery,
    /// Priority in SkyPilot's own queue; not Kueue's.
    pub priority: i32,
    /// Free text; an annotation of the Pod, not used by Kueue.
    pub priority_class: Option<String>,
}

/// The block as deserialized, also each entry of `any_of` and `ordered`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawResources {
    cloud: Option<Located<String>>,
    region: Option<String>,
    infra: Option<Located<String>>,
    cpus: Option<Located<RawAmount>>,
    memory: Option<Located<RawAmount>>,
    accelerators: Option<Located<RawAccelerators>>,
    instance_type: Option<Located<String>>,
    use_spot: Option<bool>,
    job_recovery: Option<Located<RawRecovery>>,
    disk_size: Option<Located<RawAmount>>,
    labels: Option<BTreeMap<String, String>>,
    image_id: Option<Located<String>>,
    priority: Option<Located<i32>>,
    priority_class: Option<String>,
    any_of: Option<Vec<Located<RawResources>>>,
    ordered: Option<Vec<Located<RawResources>>>,
    #[serde(rename = "zone")]
    _zone: Option<Ignored>,
    #[serde(rename = "volumes")]
    _volumes: Option<Ignored>,
    #[serde(rename = "disk_tier")]
    _disk_tier: Option<Ignored>,
    #[serde(rename = "network_tier")]
    _network_tier: Option<Ignored>,
    #[serde(rename = "local_disk")]
    _local_disk: Option<Ignored>,
    #[serde(rename = "max_hourly_cost")]
    _max_hourly_cost: Option<Ignored>,
    #[serde(rename = "ports")]
    _ports: Option<Ignored>,
    #[serde(rename = "accelerator_args")]
    _accelerator_args: Option<Ignored>,
    #[serde(rename = "autostop")]
    _autostop: Option<Ignored>,
}

/// A field that does not affect Pods.
type Ignored = IgnoredAny;

impl RawResources {
    /// The alternatives, in SkyPilot's order for resources without cost.
    pub(super) fn alternatives(self, at: Position) -> Result<Vec<TaskResources>, Problem> {
        let mut base = self;
        let (any_of, ordered) = (base.any_of.take(), base.ordered.take());
        let entries = match (any_of, ordered) {
            (Some(_), Some(_)) => {
                let message = "any_of and ordered cannot be combined";
                return Err(Problem::new(at, message));
            }
            (Some(entries), None) | (None, Some(entries)) => entries,
            (None, None) => return base.into_resources(),
        };
        let mut alternatives = Vec::new();
        for entry in entries {
            if entry.value.any_of.is_some() || entry.value.ordered.is_some() {
                let message = "alternatives cannot be nested";
                return Err(Problem::new(entry.at, message));
            }
            alternatives.extend(entry.value.with_defaults_from(&base).into_resources()?);
        }
        if alternatives.is_empty() {
            return Err(Problem::new(at, "the list of alternatives is empty"));
        }
        Ok(alternatives)
    }

    /// Fills unset fields from the enclosing block.
    fn with_defaults_from(mut self, base: &Self) -> Self {
        let labels = base.labels.clone().map(|mut labels| {
            labels.extend(self.labels.take().unwrap_or_default());
            labels
        });
        macro_rules! inherit {
            ($($field:ident),+) => { $( self.$field = self.$field.take().or_else(|| base.$field.clone()); )+ };
        }
        self.labels = labels.or(self.labels.take());
        inherit!(
            cloud,
            region,
            infra,
            cpus,
            memory,
            accelerators,
            instance_type,
            use_spot,
            job_recovery,
            disk_size,
            image_id,
            priority,
            priority_class
        );
        self
    }

    fn into_resources(self) -> Result<Vec<TaskResources>, Problem> {
        let context = self.context()?;
        let mut resources = TaskResources {
            cpus: self.cpus.as_ref().map(amount::cpus).transpose()?,
            memory: self.memory.as_ref().map(amount::memory).transpose()?,
            disk_size: self.disk_size.as_ref().map(amount::disk).transpose()?,
            context,
            use_spot: self.use_spot.unwrap_or_default(),
            priority_class: self.priority_class,
            labels: self.labels.unwrap_or_default(),
            ..TaskResources::default()
        };
        if let Some(recovery) = self.job_recovery {
            resources.recovery = recovery.value.into_job_recovery(recovery.at)?;
        }
        if let Some(priority) = self.priority {
            if !PRIORITIES.contains(&priority.value) {
                let message = format!(
                    "priority orders jobs in SkyPilot's own queue and goes from -1000 to 1000, \
                     not {}; for Kueue set the label kueue.x-k8s.io/priority-class",
                    priority.value
                );
                return Err(Problem::new(priority.at, message));
            }
            resources.priority = priority.value;
        }
        if let Some(image) = self.image_id {
            resources.image = Some(match image.value.strip_prefix("docker:") {
                Some(name) => name.to_owned(),
                None => image.value,
            });
        }
        if let Some(instance) = self.instance_type {
            instance_type(&instance, &mut resources)?;
        }
        match self.accelerators {
            None => Ok(vec![resources]),
            Some(accelerators) => Ok(accelerators
                .value
                .alternatives(accelerators.at)?
                .into_iter()
                .map(|accelerator| TaskResources {
                    accelerator: Some(accelerator),
                    ..resources.clone()
                })
                .collect()),
        }
    }

    /// The context of `infra: k8s/CONTEXT`, or of `cloud` with `region`.
    fn context(&self) -> Result<Option<String>, Problem> {
        let cloud = |at: Position, name: &str| match name.to_ascii_lowercase().as_str() {
            "kubernetes" | "k8s" | "*" => Ok(()),
            _ => {
                let message = format!("the lab has no {name}, only kubernetes; write infra: k8s");
                Err(Problem::new(at, message))
            }
        };
        if let Some(infra) = &self.infra {
            if let Some(other) = &self.cloud {
                let message = "cloud and infra are redundant; keep infra";
                return Err(Problem::new(other.at, message));
            }
            let (name, context) = match infra.value.split_once('/') {
                Some((name, context)) => (name, Some(context)),
                None => (infra.value.as_str(), None),
            };
            cloud(infra.at, name)?;
            return Ok(context.filter(|c| *c != "*").map(str::to_owned));
        }
        if let Some(named) = &self.cloud {
            cloud(named.at, &named.value)?;
        }
        Ok(self.region.clone())
    }
}

/// `instance_type` in SkyPilot's spelling for Kubernetes: `4CPU--16GB` or `4CPU--16GB--H100:1`.
fn instance_type(written: &Located<String>, resources: &mut TaskResources) -> Result<(), Problem> {
    let wrong = || {
        let message = format!(
            "an instance type of Kubernetes looks like 4CPU--16GB or 4CPU--16GB--H100:1; found {:?}",
            written.value
        );
        Problem::new(written.at, message)
    };
    let parts: Vec<&str> = written.value.split("--").collect();
    let (cpus, memory, gpus) = match parts[..] {
        [cpus, memory] => (cpus, memory, None),
        [cpus, memory, gpus] => (cpus, memory, Some(gpus)),
        _ => return Err(wrong()),
    };
    let number = |text: &str, unit: &str| -> Option<f64> {
        text.strip_suffix(unit)?
            .parse()
            .ok()
            .filter(|n: &f64| *n > 0.0)
    };
    resources.cpus = Some(number(cpus, "CPU").ok_or_else(wrong)?);
    resources.memory = Some(Memory::Gigabytes(number(memory, "GB").ok_or_else(wrong)?));
    if let Some(gpus) = gpus {
        let one = RawAccelerators::Text(gpus.to_owned()).alternatives(written.at)?;
        resources.accelerator = one.into_iter().next();
    }
    Ok(())
}
