//! Which rules each built-in kind follows.

use super::meta::names;
use super::rules::{Field, Fields, Rules};

/// The rules of a built-in kind, but for its table and scope.
pub(super) fn rules(group: &str, kind: &str) -> Rules {
    match (group, kind) {
        ("", "Namespace") => NAMESPACE,
        ("", "Node") => NODE,
        ("", "Pod") => POD,
        ("", "Secret") => SECRET,
        ("", "Event") => EVENT,
        ("events.k8s.io", "Event") => NEW_EVENT,
        ("", "Service") => SERVICE,
        ("", "ReplicationController") => REPLICATION_CONTROLLER,
        ("", "PodTemplate") => Rules {
            generation_of: &["template"],
            ..UPSERT
        },
        ("", "Endpoints" | "LimitRange") => UPSERT,
        ("apps", "Deployment" | "ReplicaSet" | "StatefulSet" | "DaemonSet") => SPEC,
        ("batch", "Job") => JOB,
        ("batch", "CronJob") => super::batch::cronjob::RULES,
        ("policy", "PodDisruptionBudget") => SPEC,
        ("networking.k8s.io", "Ingress" | "IngressClass" | "NetworkPolicy") => SPEC,
        ("discovery.k8s.io", "EndpointSlice") => Rules {
            generation_of: &["addressType", "endpoints", "ports"],
            ..PLAIN
        },
        ("admissionregistration.k8s.io", _) => Rules {
            generation_of: &["spec", "webhooks"],
            ..PLAIN
        },
        ("apiextensions.k8s.io" | "flowcontrol.apiserver.k8s.io", _) => SPEC,
        ("scheduling.k8s.io", "PriorityClass") => Rules {
            generation_of: &["value"],
            ..PLAIN
        },
        ("resource.k8s.io", "DeviceClass") => SPEC,
        ("resource.k8s.io", "ResourceSlice") => RESOURCE_SLICE,
        ("coordination.k8s.io", "Lease") => UPSERT,
        ("rbac.authorization.k8s.io", _) => Rules {
            name: names::path_segment,
            creates_on_update: true,
            ..PLAIN
        },
        ("certificates.k8s.io", _) => SIGNING_REQUEST,
        ("apiregistration.k8s.io", _) => Rules {
            name: names::path_segment,
            ..PLAIN
        },
        _ => PLAIN,
    }
}

const PLAIN: Rules = Rules::PLAIN;
/// A kind whose generation counts the changes of its spec.
const SPEC: Rules = Rules {
    generation_of: &["spec"],
    ..PLAIN
};
/// A kind that a PUT creates.
const UPSERT: Rules = Rules {
    creates_on_update: true,
    ..PLAIN
};

const PHASE: Field = ("status.phase", "/status/phase", "");

const NAMESPACE: Rules = Rules {
    name: names::label_name,
    fields: Fields::Some(&[PHASE, ("name", "/metadata/name", "")]),
    ..PLAIN
};

const NODE: Rules = Rules {
    fields: Fields::Some(&[("spec.unschedulable", "/spec/unschedulable", "false")]),
    ..PLAIN
};

const POD: Rules = Rules {
    fields: Fields::Some(&[
        ("spec.nodeName", "/spec/nodeName", ""),
        ("spec.host", "/spec/nodeName", ""),
        ("spec.restartPolicy", "/spec/restartPolicy", ""),
        ("spec.schedulerName", "/spec/schedulerName", ""),
        ("spec.serviceAccountName", "/spec/serviceAccountName", ""),
        ("spec.hostNetwork", "/spec/hostNetwork", "false"),
        PHASE,
        ("status.podIP", "/status/podIP", ""),
        ("status.podIPs", "/status/podIPs/0/ip", ""),
        ("status.nominatedNodeName", "/status/nominatedNodeName", ""),
    ]),
    ..super::pod::RULES
};

const SECRET: Rules = Rules {
    fields: Fields::Some(&[("type", "/type", "")]),
    ..PLAIN
};

const EVENT: Rules = Rules {
    fields: Fields::Some(&[
        ("involvedObject.kind", "/involvedObject/kind", ""),
        ("involvedObject.namespace", "/involvedObject/namespace", ""),
        ("involvedObject.name", "/involvedObject/name", ""),
        ("involvedObject.uid", "/involvedObject/uid", ""),
        (
            "involvedObject.apiVersion",
            "/involvedObject/apiVersion",
            "",
        ),
        (
            "involvedObject.resourceVersion",
            "/involvedObject/resourceVersion",
            "",
        ),
        ("involvedObject.fieldPath", "/involvedObject/fieldPath", ""),
        ("reason", "/reason", ""),
        ("reportingComponent", "/reportingComponent", ""),
        ("source", "/source/component", ""),
        ("source", "/reportingComponent", ""),
        ("type", "/type", ""),
    ]),
    ..UPSERT
};

/// Events in the form of their own group.
const NEW_EVENT: Rules = Rules {
    fields: Fields::Some(&[
        ("regarding.kind", "/regarding/kind", ""),
        ("regarding.namespace", "/regarding/namespace", ""),
        ("regarding.name", "/regarding/name", ""),
        ("regarding.uid", "/regarding/uid", ""),
        ("regarding.apiVersion", "/regarding/apiVersion", ""),
        (
            "regarding.resourceVersion",
            "/regarding/resourceVersion",
            "",
        ),
        ("regarding.fieldPath", "/regarding/fieldPath", ""),
        ("reason", "/reason", ""),
        ("reportingController", "/reportingController", ""),
        ("type", "/type", ""),
    ]),
    ..UPSERT
};

const SERVICE: Rules = Rules {
    name: names::label_1035_name,
    fields: Fields::Some(&[
        ("spec.clusterIP", "/spec/clusterIP", ""),
        ("spec.type", "/spec/type", ""),
    ]),
    ..UPSERT
};

const REPLICATION_CONTROLLER: Rules = Rules {
    orphans_by_default: true,
    fields: Fields::Some(&[("status.replicas", "/status/replicas", "0")]),
    ..SPEC
};

const JOB: Rules = Rules {
    fields: Fields::Named(&[("status.successful", "/status/succeeded", "0")], "Job"),
    ..super::batch::job::RULES
};

const RESOURCE_SLICE: Rules = Rules {
    fields: Fields::Some(&[
        ("spec.nodeName", "/spec/nodeName", ""),
        ("spec.driver", "/spec/driver", ""),
    ]),
    ..SPEC
};

const SIGNING_REQUEST: Rules = Rules {
    name: names::any_name,
    fields: Fields::Some(&[("spec.signerName", "/spec/signerName", "")]),
    ..PLAIN
};
