//! The settings of `~/.sky/config.yaml` that affect Pods, and a task's `config:` block.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::merge_k8s_configs::merge_k8s_configs;
use kueue_lab_yaml::{Limits, Problem, from_node, parse_one};

/// The user's configuration, `~/.sky/config.yaml`. Sections that do not affect Pods are ignored.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct SkyConfig {
    kubernetes: KubernetesConfig,
}

/// The `config:` block of a task.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct TaskConfigOverrides {
    kubernetes: KubernetesOverrides,
}

impl TaskConfigOverrides {
    /// Whether the block itself sets a label of the Pods.
    pub(crate) fn sets_label(&self, key: &str) -> bool {
        let own = &self.kubernetes;
        let pod = own.pod_config.as_ref().map(|config| &config["metadata"]);
        let metadata = [pod, own.custom_metadata.as_ref()].into_iter().flatten();
        metadata.into_iter().any(|m| m["labels"].get(key).is_some())
    }
}

/// The `kubernetes` section of a task: the settings that a task may override.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, deny_unknown_fields)]
struct KubernetesOverrides {
    pod_config: Option<Value>,
    custom_metadata: Option<Value>,
    provision_timeout: Option<i64>,
    kueue: Kueue,
    quota: Quota,
    remote_identity: Option<Value>,
    set_pod_resource_limits: Option<LimitSetting>,
    #[serde(rename = "dws")]
    _dws: Option<IgnoredAny>,
    #[serde(rename = "enable_docker")]
    _enable_docker: Option<IgnoredAny>,
}

/// The `kubernetes` section of the configuration file.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
struct KubernetesConfig {
    namespace: Option<String>,
    pod_config: Option<Value>,
    custom_metadata: Option<Value>,
    provision_timeout: Option<i64>,
    kueue: Kueue,
    quota: Quota,
    remote_identity: Option<Value>,
    set_pod_resource_limits: Option<LimitSetting>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, deny_unknown_fields)]
struct Kueue {
    local_queue_name: Option<String>,
    admission_timeout: Option<i64>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
struct Quota {
    queue: Option<String>,
}

/// `set_pod_resource_limits`: off, equal to the requests, or a multiple of them.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(untagged, expecting = "expected true, false or a number of at least 1")]
enum LimitSetting {
    Switch(bool),
    Factor(f64),
}

/// The effective queue and timeouts of one launch.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct QueueSettings {
    /// The LocalQueue (`kubernetes.kueue.local_queue_name`): the Pods become a pod group in it.
    pub local_queue: Option<String>,
    /// The timeout for the scheduling of ungated Pods; `None` for no timeout.
    pub provision_timeout: Option<std::time::Duration>,
    /// The timeout for the removal of scheduling gates; `None` for no timeout.
    pub admission_timeout: Option<std::time::Duration>,
}

/// The default provision timeout without a queue, in seconds: base, per additional node, maximum.
const PROVISION_TIMEOUT_SECONDS: (f64, f64, f64) = (10.0, 0.2, 60.0);
/// The default timeout with a queue, in seconds.
const DAY: f64 = 86_400.0;

impl SkyConfig {
    /// Parses a configuration file.
    ///
    /// # Errors
    /// The text is not YAML or a known setting is invalid.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        from_node(&parse_one(text, Limits::default())?)
    }

    /// The namespace of clusters, if it is not that of the context.
    pub(crate) fn namespace(&self) -> Option<&str> {
        self.kubernetes
            .namespace
            .as_deref()
            .filter(|name| !name.is_empty())
    }

    /// The queue and the timeouts of a task with `num_nodes` nodes.
    pub(crate) fn queue_settings(
        &self,
        task: &TaskConfigOverrides,
        num_nodes: u32,
    ) -> QueueSettings {
        let (own, global) = (&task.kubernetes, &self.kubernetes);
        let named = |quota: &Quota, kueue: &Kueue| {
            let name = quota
                .queue
                .clone()
                .or_else(|| kueue.local_queue_name.clone());
            name.filter(|n| !n.is_empty())
        };
        let local_queue =
            named(&own.quota, &own.kueue).or_else(|| named(&global.quota, &global.kueue));
        let seconds = |set: Option<i64>, default: f64| match set {
            Some(n) if n < 0 => None,
            Some(n) => Some(std::time::Duration::from_secs(n.unsigned_abs())),
            None => Some(std::time::Duration::from_secs_f64(default)),
        };
        let (first, further, most) = PROVISION_TIMEOUT_SECONDS;
        let provision = match local_queue {
            Some(_) => DAY,
            None => (first + further * f64::from(num_nodes.saturating_sub(1))).min(most),
        };
        QueueSettings {
            local_queue,
            provision_timeout: seconds(
                own.provision_timeout.or(global.provision_timeout),
                provision,
            ),
            admission_timeout: seconds(
                own.kueue
                    .admission_timeout
                    .or(global.kueue.admission_timeout),
                DAY,
            ),
        }
    }

    /// `pod_config` of both levels, the task's merged over the user's.
    pub(super) fn pod_config(&self, task: &TaskConfigOverrides) -> Option<Value> {
        merge_overrides(
            self.kubernetes.pod_config.as_ref(),
            task.kubernetes.pod_config.as_ref(),
        )
    }

    /// `custom_metadata` of both levels, the task's merged over the user's.
    pub(super) fn custom_metadata(&self, task: &TaskConfigOverrides) -> Option<Value> {
        merge_overrides(
            self.kubernetes.custom_metadata.as_ref(),
            task.kubernetes.custom_metadata.as_ref(),
        )
    }

    /// The factor between requests and limits; `None` for no limits.
    pub(super) fn limit_factor(&self, task: &TaskConfigOverrides) -> Option<f64> {
        let set = task.kubernetes.set_pod_resource_limits;
        match set.or(self.kubernetes.set_pod_resource_limits)? {
            LimitSetting::Switch(false) => None,
            LimitSetting::Switch(true) => Some(1.0),
            LimitSetting::Factor(factor) => Some(factor.max(1.0)),
        }
    }

    /// The service account of the Pods.
    pub(super) fn service_account(&self, task: &TaskConfigOverrides) -> String {
        let set = task.kubernetes.remote_identity.as_ref();
        let identity = set.or(self.kubernetes.remote_identity.as_ref());
        match identity.and_then(Value::as_str) {
            None | Some("LOCAL_CREDENTIALS" | "SERVICE_ACCOUNT" | "NO_UPLOAD") => {
                super::services_and_roles::SERVICE_ACCOUNT.to_owned()
            }
            Some(name) => name.to_owned(),
        }
    }
}

fn merge_overrides(base: Option<&Value>, over: Option<&Value>) -> Option<Value> {
    match (base, over) {
        (None, None) => None,
        (Some(one), None) | (None, Some(one)) => Some(one.clone()),
        (Some(base), Some(over)) => {
            let mut merged = base.clone();
            merge_k8s_configs(&mut merged, over);
            Some(merged)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn task_settings_override_and_quota_overrides_kueue() {
        let config = SkyConfig::parse(
            "allowed_clouds: [kubernetes]\nkubernetes:\n  networking: portforward\n  kueue: {local_queue_name: far}\n  provision_timeout: 30\n",
        )
        .unwrap();
        let none = TaskConfigOverrides::default();
        assert_eq!(
            config.queue_settings(&none, 1).local_queue.as_deref(),
            Some("far")
        );
        let task: TaskConfigOverrides = kueue_lab_yaml::from_str(
            "kubernetes:\n  kueue: {local_queue_name: b}\n  quota: {queue: a}\n  provision_timeout: -1\n",
        )
        .unwrap();
        let settings = config.queue_settings(&task, 1);
        assert_eq!(settings.local_queue.as_deref(), Some("a"));
        assert_eq!(settings.provision_timeout, None);
        assert_eq!(settings.admission_timeout.unwrap().as_secs(), 86_400);
    }

    #[test]
    fn the_default_provision_timeout_grows_with_nodes() {
        let settings = SkyConfig::default().queue_settings(&TaskConfigOverrides::default(), 6);
        assert_eq!(settings.provision_timeout.unwrap().as_secs_f64(), 11.0);
    }

    #[test]
    fn a_task_overrides_only_some_settings() {
        let e = kueue_lab_yaml::from_str::<TaskConfigOverrides>("kubernetes:\n  namespace: x\n")
            .unwrap_err();
        assert!(
            e.to_string()
                .starts_with("2:3: unknown field \"namespace\""),
            "{e}"
        );
    }
}
