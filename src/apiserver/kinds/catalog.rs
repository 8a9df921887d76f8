//! Which rules each built-in kind follows.

use serde_json::json;

use super::meta::names;
use super::pod;
use super::rules::{Field, Fields, Rules};
use super::value::Fill;
use super::{apps, batch, cluster, config, limits, namespace, node, service};
use crate::crd::check as definition;

/// The rules of a built-in kind, but for its table and scope.
pub(super) fn rules(group: &str, kind: &str) -> Rules {
    match (group, kind) {
        ("", "Namespace") => namespace::RULES,
        ("", "Node") => node::RULES,
        ("", "Pod") => Rules {
            fields: Fields::Some(POD_FIELDS),
            ..pod::RULES
        },
        ("", "ConfigMap") => config::CONFIG_MAP,
        ("", "Secret") => config::SECRET,
        ("", "Service") => service::RULES,
        ("", "ReplicationController") => apps::REPLICATION_CONTROLLER,
        ("", "PodTemplate") => POD_TEMPLATE,
        ("", "LimitRange") => limits::LIMIT_RANGE,
        ("", "ResourceQuota") => limits::RESOURCE_QUOTA,
        ("", "PersistentVolume") => cluster::PERSISTENT_VOLUME,
        ("", "PersistentVolumeClaim") => cluster::PERSISTENT_VOLUME_CLAIM,
        ("", "Endpoints") => ENDPOINTS,
        (_, "Event") => cluster::rules(group, kind),
        ("", _) => PLAIN,
        ("apps", _) => apps::rules(kind),
        ("batch", "Job") => Rules {
            fields: Fields::Named(&[("status.successful", "/status/succeeded", "0")], "Job"),
            ..batch::job::RULES
        },
        ("batch", "CronJob") => batch::cronjob::RULES,
        ("apiextensions.k8s.io", _) => Rules {
            default: definition::default,
            prepare_create: definition::note_storage,
            prepare_update: |new, _| definition::note_storage(new),
            create: definition::create,
            update: definition::update,
            subresource: |_, new, _| definition::update_status(new),
            warnings: definition::warnings,
            generation_of: &["spec"],
            ..PLAIN
        },
        ("certificates.k8s.io", _) => SIGNING_REQUEST,
        ("apiregistration.k8s.io", _) => API_SERVICE,
        _ => cluster::rules(group, kind),
    }
}

const PLAIN: Rules = Rules::PLAIN;

const POD_FIELDS: &[Field] = &[
    ("spec.nodeName", "/spec/nodeName", ""),
    ("spec.host", "/spec/nodeName", ""),
    ("spec.restartPolicy", "/spec/restartPolicy", ""),
    ("spec.schedulerName", "/spec/schedulerName", ""),
    ("spec.serviceAccountName", "/spec/serviceAccountName", ""),
    ("spec.hostNetwork", "/spec/hostNetwork", "false"),
    ("status.phase", "/status/phase", ""),
    ("status.podIP", "/status/podIP", ""),
    ("status.podIPs", "/status/podIPs/0/ip", ""),
    ("status.nominatedNodeName", "/status/nominatedNodeName", ""),
];

const POD_TEMPLATE: Rules = Rules {
    default: pod::defaults::template,
    create: |object| {
        let mut errors = super::check::Errors::default();
        let template = super::check::Path::root("template");
        pod::validate_template(&mut errors, &template, &object["template"]);
        errors.0
    },
    generation_of: &["template"],
    creates_on_update: true,
    ..PLAIN
};

const ENDPOINTS: Rules = Rules {
    default: |endpoints| {
        for subset in endpoints.items_mut("subsets") {
            for port in subset.items_mut("ports") {
                port.or_set("protocol", "TCP");
            }
        }
    },
    creates_on_update: true,
    ..PLAIN
};

const SIGNING_REQUEST: Rules = Rules {
    name: names::any_name,
    fields: Fields::Some(&[("spec.signerName", "/spec/signerName", "")]),
    prepare_create: |request| request["status"] = json!({}),
    ..PLAIN
};

const API_SERVICE: Rules = Rules {
    name: names::path_segment,
    default: |service| {
        if let Some(target) = service.child_if("spec").and_then(|s| s.child_if("service")) {
            target.or_set("port", 443);
        }
    },
    prepare_create: |service| service["status"] = json!({}),
    ..PLAIN
};
