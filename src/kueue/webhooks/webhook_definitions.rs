//! The webhooks to register: one definition for each of upstream's.

use kueue_lab_api::config::{FRAMEWORKS, Framework};
use kueue_lab_api::v1beta2;
use kueue_lab_controller::jobs::webhooks::webhook_name;

/// Mutating or validating.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AdmissionPhase {
    /// A mutating webhook.
    Mutate,
    /// A validating webhook.
    Validate,
}

/// The kinds a webhook handles, which determines its failure policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WebhookSubject {
    /// Kueue's own kinds.
    Kueue,
    /// Jobs and other owners of pods.
    Jobs,
    /// Pods.
    Pods,
}

/// One webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookDefinition {
    /// Name, such as `vjob.kb.io`; part of denial messages.
    pub name: String,
    /// Mutating or validating.
    pub phase: AdmissionPhase,
    /// The kinds it handles.
    pub subject: WebhookSubject,
    /// API group, empty for core.
    pub group: &'static str,
    /// The kind of the first resource.
    pub kind: &'static str,
    /// API version; the API server converts objects of other versions before the call.
    pub version: &'static str,
    /// Resources, with subresources.
    pub resources: Vec<&'static str>,
    /// Operations, as in rules.
    pub operations: &'static [&'static str],
}

const CREATE: &[&str] = &["CREATE"];
const CREATE_AND_UPDATE: &[&str] = &["CREATE", "UPDATE"];

impl WebhookDefinition {
    /// The path of the webhook in upstream's manifests, as controller-runtime generates it, such as
    /// `/mutate-batch-v1-job`.
    pub fn path(&self) -> String {
        let verb = match self.phase {
            AdmissionPhase::Mutate => "mutate",
            AdmissionPhase::Validate => "validate",
        };
        let (group, kind) = (self.group.replace('.', "-"), self.kind.to_lowercase());
        format!("/{verb}-{group}-{}-{kind}", self.version)
    }
}

fn kueue_kind_webhook(
    kind: &'static str,
    phase: AdmissionPhase,
    resources: &[&'static str],
) -> WebhookDefinition {
    WebhookDefinition {
        name: webhook_name(kind, phase == AdmissionPhase::Mutate),
        kind,
        phase,
        subject: WebhookSubject::Kueue,
        group: v1beta2::GROUP,
        version: v1beta2::VERSION,
        resources: resources.to_vec(),
        operations: match phase {
            AdmissionPhase::Mutate => CREATE,
            AdmissionPhase::Validate => CREATE_AND_UPDATE,
        },
    }
}

fn job_webhook(framework: &Framework, phase: AdmissionPhase) -> WebhookDefinition {
    let operations = match phase {
        // Serving kinds copy the queue name to their pod template on updates, too.
        AdmissionPhase::Mutate if framework.serving => CREATE_AND_UPDATE,
        AdmissionPhase::Mutate => CREATE,
        AdmissionPhase::Validate => CREATE_AND_UPDATE,
    };
    WebhookDefinition {
        name: webhook_name(framework.kind, phase == AdmissionPhase::Mutate),
        phase,
        subject: match framework.resource {
            "pods" => WebhookSubject::Pods,
            _ => WebhookSubject::Jobs,
        },
        group: framework.group,
        kind: framework.kind,
        version: framework.version,
        resources: vec![framework.resource],
        operations,
    }
}

/// All webhooks; those of jobs if `managed` returns true for their framework.
pub fn webhook_definitions(managed: impl Fn(&str) -> bool) -> Vec<WebhookDefinition> {
    let mut hooks = vec![
        kueue_kind_webhook("ClusterQueue", AdmissionPhase::Mutate, &["clusterqueues"]),
        kueue_kind_webhook(
            "ResourceFlavor",
            AdmissionPhase::Mutate,
            &["resourceflavors"],
        ),
        kueue_kind_webhook("Workload", AdmissionPhase::Mutate, &["workloads"]),
        kueue_kind_webhook("ClusterQueue", AdmissionPhase::Validate, &["clusterqueues"]),
        kueue_kind_webhook("Cohort", AdmissionPhase::Validate, &["cohorts"]),
        kueue_kind_webhook(
            "ResourceFlavor",
            AdmissionPhase::Validate,
            &["resourceflavors"],
        ),
        kueue_kind_webhook(
            "Workload",
            AdmissionPhase::Validate,
            &["workloads", "workloads/status"],
        ),
    ];
    for framework in FRAMEWORKS
        .iter()
        .filter(|framework| managed(framework.name))
    {
        hooks.push(job_webhook(framework, AdmissionPhase::Mutate));
        hooks.push(job_webhook(framework, AdmissionPhase::Validate));
    }
    hooks.sort_by(|a, b| (a.phase, &a.name).cmp(&(b.phase, &b.name)));
    hooks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_enabled_integrations_have_webhooks() {
        let names =
            |hooks: Vec<WebhookDefinition>| hooks.into_iter().map(|h| h.name).collect::<Vec<_>>();
        let own = names(webhook_definitions(|_| false));
        assert_eq!(own.len(), 7);
        let with = names(webhook_definitions(|f| f == "batch/job"));
        assert!(with.iter().any(|n| n == "mjob.kb.io") && with.iter().any(|n| n == "vjob.kb.io"));
        assert_eq!(with.len(), 9);
    }

    #[test]
    fn serving_kinds_are_mutated_on_updates() {
        let all = webhook_definitions(|_| true);
        let of = |name: &str| all.iter().find(|h| h.name == name).unwrap().operations;
        assert_eq!(of("mjob.kb.io"), CREATE);
        assert_eq!(of("mdeployment.kb.io"), CREATE_AND_UPDATE);
        assert_eq!(of("mstatefulset.kb.io"), CREATE_AND_UPDATE);
    }
}
