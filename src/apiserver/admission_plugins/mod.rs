//! The admission that is built into every API server: what it fills in, what it refuses.
//!
//! Plain functions over one write and the objects that are there. Runs around what is plugged in:
//! [`mutate`] before plug-ins change the object, [`validate`] after they have looked at it. Must not
//! know storage or requests as they come.

mod certificate_requester;
mod default_storage_class;
mod limit_ranger;
mod namespace_lifecycle;
mod priority;
pub mod resource_quota;
mod runtime_class;
mod service_account;
mod service_allocator;
mod taint_nodes_by_condition;

use jiff::Timestamp;
use serde_json::Value;

use super::plugins::{AdmissionRequest, Operation};
use crate::apimachinery::api_error::ApiError;
use crate::auth::user::User;
use crate::registry::object_reader::ObjectReader;
use kueue_lab_entropy::Entropy;

/// One write and what deciding on it takes.
pub struct PluginContext<'a> {
    /// What is written.
    pub request: &'a AdmissionRequest<'a>,
    /// Who writes.
    pub user: &'a User,
    /// The objects that are there.
    pub reader: &'a dyn ObjectReader,
    /// Chance, for generated names, addresses and ports.
    pub entropy: &'a Entropy,
    /// The present time.
    pub now: Timestamp,
}

impl PluginContext<'_> {
    /// Whether this creates.
    fn is_create(&self) -> bool {
        self.request.operation == Operation::Create
    }

    /// Whether this creates or changes an object of a resource itself.
    fn is_write_of(&self, group: &str, resource: &str) -> bool {
        let r = self.request;
        r.operation != Operation::Delete
            && r.subresource.is_empty()
            && r.group == group
            && r.resource == resource
    }

    /// The refusal of this write.
    fn forbidden(&self, why: impl AsRef<str>) -> ApiError {
        let r = self.request;
        let name = if r.name.is_empty() { "Unknown" } else { r.name };
        ApiError::forbidden(r.group, r.resource, name, why.as_ref())
    }

    /// The refusal of this write for several reasons.
    fn forbidden_for_all(&self, mut reasons: Vec<String>) -> ApiError {
        let mut seen = Vec::new();
        reasons.retain(|r| {
            let new = !seen.contains(r);
            seen.push(r.clone());
            new
        });
        match reasons.as_slice() {
            [only] => self.forbidden(only),
            all => self.forbidden(format!("[{}]", all.join(", "))),
        }
    }
}

/// Changes an object before plug-ins do.
///
/// # Errors
/// Refuses the write.
pub fn mutate(write: &PluginContext<'_>, object: &mut Value) -> Result<(), ApiError> {
    namespace_lifecycle::admit(write)?;
    match (write.request.group, write.request.resource) {
        ("", "pods") if write.is_write_of("", "pods") => {
            if write.is_create() {
                limit_ranger::set_default_requirements(write, object);
                service_account::admit(write, object)?;
            }
            priority::set_pod_priority(write, object)?;
            priority::add_default_tolerations(object);
            if write.is_create() {
                runtime_class::admit(write, object)?;
            }
            Ok(())
        }
        ("", "nodes") if write.is_write_of("", "nodes") && write.is_create() => {
            taint_nodes_by_condition::add_not_ready_taint(object);
            Ok(())
        }
        ("", "services") if write.is_write_of("", "services") => {
            service_allocator::allocate(write, object)
        }
        ("", "persistentvolumeclaims") if write.is_write_of("", "persistentvolumeclaims") => {
            default_storage_class::set_default_storage_class(write, object);
            Ok(())
        }
        ("networking.k8s.io", "ingresses")
            if write.is_write_of("networking.k8s.io", "ingresses") =>
        {
            default_storage_class::set_default_ingress_class(write, object)
        }
        ("certificates.k8s.io", "certificatesigningrequests") => {
            certificate_requester::set_requester(write, object);
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Looks at an object after plug-ins have. Quotas come last, so that they count only what nothing
/// else refuses; whoever calls keeps others from being counted until the object is stored.
///
/// # Errors
/// Refuses the write.
pub fn validate(write: &PluginContext<'_>, object: &Value) -> Result<(), ApiError> {
    if write.request.operation == Operation::Delete {
        return namespace_lifecycle::admit(write);
    }
    match (write.request.group, write.request.resource) {
        ("", "pods") if write.is_write_of("", "pods") && write.is_create() => {
            limit_ranger::validate_limits(write, object)?;
            runtime_class::validate(write, object)?;
        }
        ("", "persistentvolumeclaims") if write.is_write_of("", "persistentvolumeclaims") => {
            limit_ranger::validate_limits(write, object)?;
            default_storage_class::validate_volume_resize(write, object)?;
        }
        ("scheduling.k8s.io", "priorityclasses")
            if write.is_write_of("scheduling.k8s.io", "priorityclasses") =>
        {
            priority::validate_priority_class(write, object)?;
        }
        _ => {}
    }
    resource_quota::check_request(write, object)
}

/// Objects for the tests of this room.
#[cfg(test)]
pub(crate) mod fake {
    use std::sync::Arc;

    use super::*;
    use crate::apimachinery::value_ext::ValueExt;

    /// Objects by group and resource.
    #[derive(Default)]
    pub struct Objects(pub Vec<(&'static str, &'static str, Value)>);

    impl ObjectReader for Objects {
        fn get(&self, group: &str, resource: &str, ns: &str, name: &str) -> Option<Arc<Value>> {
            self.list(group, resource, ns)
                .into_iter()
                .find(|o| o.name() == name)
        }

        fn list(&self, group: &str, resource: &str, ns: &str) -> Vec<Arc<Value>> {
            let all = self.0.iter();
            all.filter(|(g, r, o)| {
                *g == group
                    && *r == resource
                    && (ns.is_empty() || o.text("/metadata/namespace") == ns)
            })
            .map(|(_, _, o)| Arc::new(o.clone()))
            .collect()
        }
    }

    /// A request of the namespace `n`.
    pub fn request<'a>(
        group: &'a str,
        resource: &'a str,
        operation: Operation,
    ) -> AdmissionRequest<'a> {
        AdmissionRequest {
            group,
            version: "v1",
            kind: "",
            resource,
            subresource: "",
            namespace: "n",
            name: "x",
            operation,
            old_object: None,
            dry_run: false,
            user: "me",
        }
    }

    /// Runs something on a write of an object.
    pub fn with<T>(
        objects: &Objects,
        request: &AdmissionRequest<'_>,
        run: impl FnOnce(&PluginContext<'_>) -> T,
    ) -> T {
        let user = User {
            name: "me".into(),
            groups: vec!["we".into()],
            ..User::default()
        };
        run(&PluginContext {
            request,
            user: &user,
            reader: objects,
            entropy: &Entropy::seeded(1),
            now: Timestamp::UNIX_EPOCH,
        })
    }
}
