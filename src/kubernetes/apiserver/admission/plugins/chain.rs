//! The chain of built-in admission plugins, as `admission/chain.go`.

use serde_json::Value;

use super::plugin_context::PluginContext;
use super::{
    certificate_approval, certificate_requester, certificate_signing,
    certificate_subject_restriction, default_ingress_class, default_storage_class,
    default_toleration_seconds, endpoint_addresses, limit_ranger, namespace_lifecycle,
    persistent_volume_claim_resize, pod_security, priority, resource_quota, runtime_class,
    service_account, service_allocator, taint_nodes_by_condition,
};
use crate::plugins::Operation;
use kueue_lab_apimachinery::api_error::ApiError;

/// Runs the mutating phase of the built-in plugins, before in-process plugins and webhooks.
///
/// # Errors
/// The error of the plugin that rejects the write.
pub(crate) fn mutate(write: &PluginContext<'_>, object: &mut Value) -> Result<(), ApiError> {
    namespace_lifecycle::admit(write)?;
    if write.request.operation == Operation::Delete {
        return Ok(());
    }
    let request = write.request;
    match (request.group, request.resource, request.subresource) {
        ("", "pods", "") => {
            if write.is_create() {
                limit_ranger::set_default_requirements(write, object);
                service_account::admit(write, object)?;
            }
            priority::set_pod_priority(write, object)?;
            default_toleration_seconds::add_default_tolerations(object);
            if write.is_create() {
                runtime_class::admit(write, object)?;
            }
        }
        ("", "nodes", "") if write.is_create() => {
            taint_nodes_by_condition::add_not_ready_taint(object);
        }
        ("", "services", "") => service_allocator::allocate(write, object)?,
        ("", "persistentvolumeclaims", "") => {
            default_storage_class::set_default_storage_class(write, object);
        }
        ("networking.k8s.io", "ingresses", "") => {
            default_ingress_class::set_default_ingress_class(write, object)?;
        }
        ("certificates.k8s.io", "certificatesigningrequests", _) => {
            certificate_requester::set_requester(write, object);
        }
        _ => {}
    }
    Ok(())
}

/// Runs the validating phase of the built-in plugins, after in-process plugins and webhooks.
/// ResourceQuota runs last; the caller holds the lock of the server until the object is stored.
///
/// # Errors
/// The error of the plugin that rejects the write.
pub(crate) fn validate(write: &PluginContext<'_>, object: &Value) -> Result<(), ApiError> {
    if write.request.operation == Operation::Delete {
        return namespace_lifecycle::admit(write);
    }
    pod_security::validate(write, object)?;
    let request = write.request;
    match (request.group, request.resource, request.subresource) {
        ("", "pods", "") if write.is_create() => {
            limit_ranger::validate_limits(write, object)?;
            runtime_class::validate(write, object)?;
        }
        ("", "services", "") => service_allocator::check_allocations(write, object)?,
        ("", "persistentvolumeclaims", "") => {
            limit_ranger::validate_limits(write, object)?;
            persistent_volume_claim_resize::validate_volume_resize(write, object)?;
        }
        ("", "endpoints", "") => endpoint_addresses::validate_endpoints(write, object)?,
        ("discovery.k8s.io", "endpointslices", "") => {
            endpoint_addresses::validate_slice(write, object)?;
        }
        ("scheduling.k8s.io", "priorityclasses", "") => {
            priority::validate_priority_class(write, object)?;
        }
        ("certificates.k8s.io", "certificatesigningrequests", subresource) => match subresource {
            "approval" => certificate_approval::validate(write)?,
            "status" => certificate_signing::validate(write, object)?,
            "" if write.is_create() => certificate_subject_restriction::validate(write, object)?,
            _ => {}
        },
        _ => {}
    }
    resource_quota::check_request(write, object)
}
