//! The known kinds of jobs, and the integrations that are enabled.

use std::borrow::Cow;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

use super::pods;
use kueue_lab_api::config::{Configuration, FRAMEWORKS, Framework};
use kueue_lab_controller_runtime::controller_of;

/// Group, version and kind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Gvk {
    /// API group, empty for core.
    pub group: Cow<'static, str>,
    /// API version.
    pub version: Cow<'static, str>,
    /// Kind.
    pub kind: Cow<'static, str>,
}

impl Gvk {
    /// A kind of a built-in integration.
    pub const fn new(group: &'static str, version: &'static str, kind: &'static str) -> Self {
        Self {
            group: Cow::Borrowed(group),
            version: Cow::Borrowed(version),
            kind: Cow::Borrowed(kind),
        }
    }

    /// The kind of an owner reference.
    pub fn of(owner: &OwnerReference) -> Self {
        let (group, version) = owner
            .api_version
            .split_once('/')
            .unwrap_or(("", &owner.api_version));
        let owned = |s: &str| Cow::Owned(s.to_owned());
        Self {
            group: owned(group),
            version: owned(version),
            kind: owned(&owner.kind),
        }
    }

    /// `group/version`, or the version in the core group.
    pub fn api_version(&self) -> String {
        match self.group.is_empty() {
            true => self.version.clone().into_owned(),
            false => format!("{}/{}", self.group, self.version),
        }
    }

    /// Whether an owner reference has this kind and API version.
    pub(crate) fn matches_owner(&self, owner: &OwnerReference) -> bool {
        owner.kind == self.kind && owner.api_version == self.api_version()
    }
}

impl std::fmt::Display for Gvk {
    /// Formats as Go's GroupVersionKind.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}, Kind={}", self.group, self.version, self.kind)
    }
}

/// The enabled integrations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IntegrationManager {
    enabled: Vec<&'static Framework>,
    external: Vec<Gvk>,
    /// Whether pods are managed only as children of an enabled framework.
    pod_implicitly_enabled: bool,
}

impl IntegrationManager {
    /// The integrations that a configuration enables.
    pub fn new(configuration: &Configuration) -> Self {
        let integrations = configuration.integrations.clone().unwrap_or_default();
        let named = |name: &str| integrations.frameworks.iter().any(|f| f == name);
        let pod_implicitly_enabled =
            !named(pods::FRAMEWORK) && FRAMEWORKS.iter().any(|f| f.serving && named(f.name));
        let enabled = FRAMEWORKS
            .iter()
            .filter(|f| named(f.name) || (pod_implicitly_enabled && f.name == pods::FRAMEWORK))
            .collect();
        let external = integrations.external_frameworks.iter();
        Self {
            enabled,
            external: external.filter_map(|text| parse(text)).collect(),
            pod_implicitly_enabled,
        }
    }

    /// Whether a framework is enabled.
    pub(crate) fn is_enabled(&self, name: &str) -> bool {
        self.enabled.iter().any(|f| f.name == name)
    }

    /// Whether pods are managed only as children of an enabled framework.
    pub(crate) fn is_pod_implicitly_enabled(&self) -> bool {
        self.pod_implicitly_enabled
    }

    /// Whether an owner is of a known kind, enabled or not, so that the search for an ancestor
    /// continues at it.
    pub(crate) fn is_known_owner(&self, owner: &OwnerReference) -> bool {
        FRAMEWORKS.iter().any(|f| framework_matches_owner(f, owner))
            || self.external.iter().any(|gvk| gvk.matches_owner(owner))
            // The owner between a Deployment and its pods.
            || (owner.kind == "ReplicaSet" && owner.api_version == "apps/v1")
    }

    /// Whether an owner is of an enabled kind.
    pub(crate) fn is_owner_managed_by_kueue(&self, owner: &OwnerReference) -> bool {
        self.enabled
            .iter()
            .any(|f| framework_matches_owner(f, owner))
            || self.external.iter().any(|gvk| gvk.matches_owner(owner))
    }

    /// Whether upstream finds the Workloads of an owner of this kind: not for external frameworks
    /// and for serving kinds, whose Workloads belong to their pods.
    pub(crate) fn has_workload_owner_index(&self, gvk: &Gvk) -> bool {
        !self.external.contains(gvk)
            && !FRAMEWORKS
                .iter()
                .any(|f| f.serving && Gvk::new(f.group, f.version, f.kind) == *gvk)
    }

    /// Whether the controller reference of an object is of an enabled kind.
    pub(crate) fn is_owner_managed_by_kueue_for_object(&self, meta: &ObjectMeta) -> bool {
        controller_of(meta).is_some_and(|owner| self.is_owner_managed_by_kueue(owner))
    }
}

fn framework_matches_owner(framework: &Framework, owner: &OwnerReference) -> bool {
    Gvk::new(framework.group, framework.version, framework.kind).matches_owner(owner)
}

/// Parses `Kind.version.group.com`.
fn parse(text: &str) -> Option<Gvk> {
    let (kind, rest) = text.split_once('.')?;
    let (version, group) = rest.split_once('.')?;
    let owned = |s: &str| Cow::Owned(s.to_owned());
    Some(Gvk {
        group: owned(group),
        version: owned(version),
        kind: owned(kind),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use kueue_lab_api::config::Integrations;

    fn owner(api_version: &str, kind: &str) -> OwnerReference {
        OwnerReference {
            api_version: api_version.into(),
            kind: kind.into(),
            ..Default::default()
        }
    }

    fn with(frameworks: &[&str], external: &[&str]) -> IntegrationManager {
        let names = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect();
        IntegrationManager::new(&Configuration {
            integrations: Some(Integrations {
                frameworks: names(frameworks),
                external_frameworks: names(external),
                ..Default::default()
            }),
            ..Default::default()
        })
    }

    #[test]
    fn owners_are_known_when_not_enabled() {
        let frameworks = with(&["batch/job"], &["Foo.v1.example.com"]);
        let job_set = owner("jobset.x-k8s.io/v1alpha2", "JobSet");
        assert!(
            frameworks.is_known_owner(&job_set) && !frameworks.is_owner_managed_by_kueue(&job_set)
        );
        assert!(frameworks.is_owner_managed_by_kueue(&owner("batch/v1", "Job")));
        assert!(frameworks.is_owner_managed_by_kueue(&owner("example.com/v1", "Foo")));
        let set = owner("apps/v1", "ReplicaSet");
        assert!(frameworks.is_known_owner(&set) && !frameworks.is_owner_managed_by_kueue(&set));
        assert!(!frameworks.is_known_owner(&owner("batch/v1", "CronJob")));
        let indexed = |api_version: &str, kind: &str| {
            frameworks.has_workload_owner_index(&Gvk::of(&owner(api_version, kind)))
        };
        assert!(indexed("batch/v1", "Job") && indexed("jobset.x-k8s.io/v1alpha2", "JobSet"));
        assert!(!indexed("example.com/v1", "Foo") && !indexed("apps/v1", "StatefulSet"));
    }

    #[test]
    fn deployment_enables_pod_implicitly() {
        let frameworks = with(&["deployment"], &[]);
        assert!(frameworks.is_pod_implicitly_enabled() && frameworks.is_enabled("pod"));
        let frameworks = with(&["deployment", "pod"], &[]);
        assert!(!frameworks.is_pod_implicitly_enabled() && frameworks.is_enabled("pod"));
    }
}
