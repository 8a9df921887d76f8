//! Which writes are asked about: one row for each of upstream's webhooks.

use kueue_lab_api::v1beta2;
use kueue_lab_controller::webhook::{KINDS, Kind};

/// What a webhook does with an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// It may change it.
    Mutate,
    /// It may refuse it.
    Validate,
}

/// Whose objects a webhook is about; what happens when nobody answers depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// Kueue's own kinds.
    Kueue,
    /// Jobs, and what else brings pods.
    Jobs,
    /// Pods.
    Pods,
}

/// One webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hook {
    /// Name, such as `vjob.kb.io`; it stands in refusals.
    pub name: String,
    /// What it does.
    pub phase: Phase,
    /// Whose objects it is about.
    pub of: Of,
    /// API group, empty for core.
    pub group: &'static str,
    /// API version; writes in others are converted by the API server before they are asked about.
    pub version: &'static str,
    /// Resources, with subresources.
    pub resources: Vec<&'static str>,
    /// Operations, as rules name them.
    pub operations: &'static [&'static str],
}

const CREATE: &[&str] = &["CREATE"];
const CHANGE: &[&str] = &["CREATE", "UPDATE"];

fn own(name: &str, phase: Phase, resources: &[&'static str]) -> Hook {
    Hook {
        name: name.to_owned(),
        phase,
        of: Of::Kueue,
        group: v1beta2::GROUP,
        version: v1beta2::VERSION,
        resources: resources.to_vec(),
        operations: match phase {
            Phase::Mutate => CREATE,
            Phase::Validate => CHANGE,
        },
    }
}

fn of_job(kind: &Kind, phase: Phase) -> Hook {
    let (prefix, operations) = match phase {
        // What serves gets its queue's labels into its pods with every change.
        Phase::Mutate if kind.serves => ('m', CHANGE),
        Phase::Mutate => ('m', CREATE),
        Phase::Validate => ('v', CHANGE),
    };
    Hook {
        name: format!("{prefix}{}.kb.io", kind.name),
        phase,
        of: match kind.resource {
            "pods" => Of::Pods,
            _ => Of::Jobs,
        },
        group: kind.group,
        version: kind.version,
        resources: vec![kind.resource],
        operations,
    }
}

/// All webhooks, of jobs those that `managed` says by the name of the integration.
pub fn hooks(managed: impl Fn(&str) -> bool) -> Vec<Hook> {
    let mut hooks = vec![
        own("mclusterqueue.kb.io", Phase::Mutate, &["clusterqueues"]),
        own("mresourceflavor.kb.io", Phase::Mutate, &["resourceflavors"]),
        own("mworkload.kb.io", Phase::Mutate, &["workloads"]),
        own("vclusterqueue.kb.io", Phase::Validate, &["clusterqueues"]),
        own("vcohort.kb.io", Phase::Validate, &["cohorts"]),
        own(
            "vresourceflavor.kb.io",
            Phase::Validate,
            &["resourceflavors"],
        ),
        own(
            "vworkload.kb.io",
            Phase::Validate,
            &["workloads", "workloads/status"],
        ),
    ];
    for kind in KINDS.iter().filter(|kind| managed(kind.framework)) {
        hooks.push(of_job(kind, Phase::Mutate));
        hooks.push(of_job(kind, Phase::Validate));
    }
    hooks.sort_by(|a, b| (a.phase, &a.name).cmp(&(b.phase, &b.name)));
    hooks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_managed_kinds_are_asked_about() {
        let names = |hooks: Vec<Hook>| hooks.into_iter().map(|h| h.name).collect::<Vec<_>>();
        let own = names(hooks(|_| false));
        assert_eq!(own.len(), 7);
        let with = names(hooks(|f| f == "batch/job"));
        assert!(with.iter().any(|n| n == "mjob.kb.io") && with.iter().any(|n| n == "vjob.kb.io"));
        assert_eq!(with.len(), 9);
    }

    #[test]
    fn what_serves_is_changed_on_updates_too() {
        let all = hooks(|_| true);
        let of = |name: &str| all.iter().find(|h| h.name == name).unwrap().operations;
        assert_eq!(of("mjob.kb.io"), CREATE);
        assert_eq!(of("mdeployment.kb.io"), CHANGE);
        assert_eq!(of("mstatefulset.kb.io"), CHANGE);
    }
}
