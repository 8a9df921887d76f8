//! Strategies of the built-in kinds.

use std::sync::Arc;

use serde_json::json;

use super::builtin_strategy::{BuiltinStrategy, SelectableField, SelectableFields};
use super::{
    apps, batch, config_map as config_map_and_secret,
    limit_range as limit_range_and_resource_quota, namespace, node, other_api_groups, pod, service,
};
use crate::printers;
use kueue_lab_apiextensions::crd::definition_validation as definition;
use kueue_lab_apimachinery::metadata_validation::object_names;
use kueue_lab_apimachinery::strategy::rest_strategy::Strategy;
use kueue_lab_json::ValueMutExt;

/// Returns the REST strategy of a built-in kind.
pub(super) fn strategy_for_kind(
    group: &str,
    _version: &str,
    kind: &'static str,
    namespaced: bool,
) -> Arc<dyn Strategy> {
    let rules = strategy_of(group, kind);
    Arc::new(BuiltinStrategy {
        kind,
        namespaced,
        printer: printers::printer_of(group, kind),
        ..rules
    })
}

/// Returns the strategy of a built-in kind without its printer and scope.
pub(crate) fn strategy_of(group: &str, kind: &str) -> BuiltinStrategy {
    match (group, kind) {
        ("", "Namespace") => namespace::STRATEGY,
        ("", "Node") => node::STRATEGY,
        ("", "Pod") => BuiltinStrategy {
            selectable_fields: SelectableFields::Some(POD_SELECTABLE_FIELDS),
            ..pod::STRATEGY
        },
        ("", "ConfigMap") => config_map_and_secret::CONFIG_MAP,
        ("", "Secret") => super::secret::SECRET,
        ("", "Service") => service::STRATEGY,
        ("", "ReplicationController") => apps::REPLICATION_CONTROLLER,
        ("", "PodTemplate") => POD_TEMPLATE,
        ("", "LimitRange") => limit_range_and_resource_quota::LIMIT_RANGE,
        ("", "ResourceQuota") => super::resource_quota::RESOURCE_QUOTA,
        ("", "PersistentVolume") => other_api_groups::PERSISTENT_VOLUME,
        ("", "PersistentVolumeClaim") => other_api_groups::PERSISTENT_VOLUME_CLAIM,
        ("", "Endpoints") => ENDPOINTS,
        (_, "Event") => other_api_groups::strategy_of(group, kind),
        ("", _) => DEFAULT,
        ("apps", _) => apps::strategy_of(kind),
        ("batch", "Job") => BuiltinStrategy {
            selectable_fields: SelectableFields::Named(
                &[("status.successful", "/status/succeeded", "0")],
                "Job",
            ),
            ..batch::job::STRATEGY
        },
        ("batch", "CronJob") => batch::cronjob::STRATEGY,
        ("apiextensions.k8s.io", _) => BuiltinStrategy {
            set_defaults: definition::set_defaults,
            prepare_for_create: definition::add_stored_version,
            prepare_for_update: |new, _| definition::add_stored_version(new),
            validate_create: definition::validate_create,
            validate_update: definition::validate_update,
            validate_subresource_update: |_, new, _| definition::validate_status_update(new),
            warnings: definition::warnings,
            generation_fields: &["spec"],
            ..DEFAULT
        },
        ("apiregistration.k8s.io", _) => API_SERVICE,
        _ => other_api_groups::strategy_of(group, kind),
    }
}

const DEFAULT: BuiltinStrategy = BuiltinStrategy::DEFAULT;

const POD_SELECTABLE_FIELDS: &[SelectableField] = &[
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

const POD_TEMPLATE: BuiltinStrategy = BuiltinStrategy {
    set_defaults: pod::defaults::template,
    validate_create: |object| {
        let mut errors = kueue_lab_apimachinery::error_list::ErrorList::default();
        let template = kueue_lab_apimachinery::field_path::FieldPath::root("template");
        pod::validate_template(&mut errors, &template, &object["template"]);
        errors.0
    },
    generation_fields: &["template"],
    allow_create_on_update: true,
    ..DEFAULT
};

const ENDPOINTS: BuiltinStrategy = BuiltinStrategy {
    set_defaults: |endpoints| {
        for subset in endpoints.items_mut("subsets") {
            for port in subset.items_mut("ports") {
                port.set_default("protocol", "TCP");
            }
        }
    },
    allow_create_on_update: true,
    ..DEFAULT
};

const API_SERVICE: BuiltinStrategy = BuiltinStrategy {
    validate_name: object_names::path_segment_name,
    set_defaults: |service| {
        if let Some(target) = service
            .get_object_mut("spec")
            .and_then(|s| s.get_object_mut("service"))
        {
            target.set_default("port", 443);
        }
    },
    prepare_for_create: |service| service["status"] = json!({}),
    ..DEFAULT
};
