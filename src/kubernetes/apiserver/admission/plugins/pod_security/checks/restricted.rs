//! The checks of the level `restricted`, in addition to those of `baseline`.

use std::collections::BTreeSet;

use kueue_lab_json::ValueExt;
use serde_json::Value;

use super::super::evaluator::PodFields;
use super::baseline::proc_mount;
use super::check::{Check, Violation};
use super::containers::{BadSetters, named_containers, pluralize, quoted};
use super::seccomp;

/// The checks, by id.
pub(in super::super) const RESTRICTED: &[Check] = &[
    Check::new(
        "allowPrivilegeEscalation",
        &[
            (8, allow_privilege_escalation),
            (25, |pod| unless_windows(pod, allow_privilege_escalation)),
        ],
    ),
    Check::overriding(
        "capabilities_restricted",
        &[
            (22, capabilities),
            (25, |pod| unless_windows(pod, capabilities)),
        ],
        "capabilities_baseline",
    ),
    Check::overriding("procMount_restricted", &[(35, proc_mount)], "procMount"),
    Check::overriding("restrictedVolumes", &[(0, volumes)], "hostPathVolumes"),
    Check::new(
        "runAsNonRoot",
        &[
            (0, run_as_non_root),
            (35, |pod| unless_user_namespace(pod, run_as_non_root)),
        ],
    ),
    Check::new(
        "runAsUser",
        &[
            (23, run_as_user),
            (35, |pod| unless_user_namespace(pod, run_as_user)),
        ],
    ),
    Check::overriding(
        "seccompProfile_restricted",
        &[
            (19, seccomp::restricted),
            (25, |pod| unless_windows(pod, seccomp::restricted)),
        ],
        "seccompProfile_baseline",
    ),
];

/// Volume types that are allowed.
const VOLUMES: [&str; 9] = [
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "image",
    "persistentVolumeClaim",
    "projected",
    "secret",
];
/// Volume types that are named in violations.
const RESTRICTED_VOLUMES: [&str; 21] = [
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "gitRepo",
    "nfs",
    "iscsi",
    "glusterfs",
    "rbd",
    "flexVolume",
    "cinder",
    "cephfs",
    "flocker",
    "fc",
    "azureFile",
    "vsphereVolume",
    "quobyte",
    "azureDisk",
    "photonPersistentDisk",
    "portworxVolume",
    "scaleIO",
    "storageos",
];

fn unless_windows(
    pod: PodFields<'_>,
    check: fn(PodFields<'_>) -> Option<Violation>,
) -> Option<Violation> {
    // Validation rejects the fields of Linux in a pod for Windows.
    if pod.is_for_windows() {
        None
    } else {
        check(pod)
    }
}

fn unless_user_namespace(
    pod: PodFields<'_>,
    check: fn(PodFields<'_>) -> Option<Violation>,
) -> Option<Violation> {
    if pod.is_in_user_namespace() {
        None
    } else {
        check(pod)
    }
}

fn allow_privilege_escalation(pod: PodFields<'_>) -> Option<Violation> {
    const FIELD: &str = "/securityContext/allowPrivilegeEscalation";
    let names = pod.names_of(|c| c.at(FIELD).as_bool() != Some(false));
    if names.is_empty() {
        return None;
    }
    let detail = format!(
        "{} must set securityContext.allowPrivilegeEscalation=false",
        named_containers(&names)
    );
    Violation::new("allowPrivilegeEscalation != false", detail)
}

fn capabilities(pod: PodFields<'_>) -> Option<Violation> {
    let texts = |container: &'_ Value, list: &str| -> Vec<String> {
        let pointer = format!("/securityContext/capabilities/{list}");
        let all = container.list(&pointer).iter().filter_map(Value::as_str);
        all.map(ToOwned::to_owned).collect()
    };
    let not_dropping = pod.names_of(|c| !texts(c, "drop").iter().any(|name| name == "ALL"));
    let mut forbidden = BTreeSet::new();
    let adding = pod.names_of(|c| {
        let mut added = texts(c, "add");
        added.retain(|name| name != "NET_BIND_SERVICE");
        let is_adding = !added.is_empty();
        forbidden.extend(added);
        is_adding
    });
    let mut details = Vec::new();
    if !not_dropping.is_empty() {
        let containers = named_containers(&not_dropping);
        details.push(format!(
            r#"{containers} must set securityContext.capabilities.drop=["ALL"]"#
        ));
    }
    if !adding.is_empty() {
        details.push(format!(
            "{} must not include {} in securityContext.capabilities.add",
            named_containers(&adding),
            quoted(&forbidden)
        ));
    }
    if details.is_empty() {
        return None;
    }
    Violation::new("unrestricted capabilities", details.join("; "))
}

fn volumes(pod: PodFields<'_>) -> Option<Violation> {
    let has_type = |volume: &Value, types: &[&str]| types.iter().any(|t| volume.get(*t).is_some());
    let all = pod.spec.list("/volumes").iter();
    let bad: Vec<&Value> = all.filter(|volume| !has_type(volume, &VOLUMES)).collect();
    if bad.is_empty() {
        return None;
    }
    let type_of = |volume: &&Value| {
        let mut types = RESTRICTED_VOLUMES.iter();
        *types
            .find(|t| volume.get(**t).is_some())
            .unwrap_or(&"unknown")
    };
    let types: BTreeSet<&str> = bad.iter().map(type_of).collect();
    let detail = format!(
        "{} {} {} {} {}",
        pluralize("volume", "volumes", bad.len()),
        quoted(bad.iter().map(|volume| volume.text("/name"))),
        pluralize("uses", "use", bad.len()),
        pluralize(
            "restricted volume type",
            "restricted volume types",
            types.len()
        ),
        quoted(&types)
    );
    Violation::new("restricted volume types", detail)
}

fn run_as_non_root(pod: PodFields<'_>) -> Option<Violation> {
    const REASON: &str = "runAsNonRoot != true";
    const FIELD: &str = "/securityContext/runAsNonRoot";
    let bad = BadSetters::of(pod, "/runAsNonRoot", |value| {
        (value.as_bool() == Some(false)).then_some("false")
    });
    if !bad.is_empty() {
        let detail = format!(
            "{} must not set securityContext.runAsNonRoot=false",
            bad.joined()
        );
        return Violation::new(REASON, detail);
    }
    if pod.spec.flag(FIELD) {
        return None;
    }
    let names = pod.names_of(|container| !container.has(FIELD));
    if names.is_empty() {
        return None;
    }
    let detail = format!(
        "pod or {} must set securityContext.runAsNonRoot=true",
        named_containers(&names)
    );
    Violation::new(REASON, detail)
}

fn run_as_user(pod: PodFields<'_>) -> Option<Violation> {
    let bad = BadSetters::of(pod, "/runAsUser", |value| {
        (value.as_i64() == Some(0)).then_some("0")
    });
    if bad.is_empty() {
        return None;
    }
    let detail = format!("{} must not set runAsUser=0", bad.joined());
    Violation::new("runAsUser=0", detail)
}
