//! The context of one resource request.

use std::sync::Arc;

use indexmap::IndexSet;

use http::header::{CONTENT_TYPE, USER_AGENT};
use parking_lot::Mutex;

use super::AuthenticatedRequest;
use super::response_transformer::{IncludeObjectPolicy, ResponseTransformer};
use crate::registry::ServedResource;
use crate::request::content_negotiation::{EndpointRestrictions, MediaTypeOptions};
use crate::request::{Query, ResourcePath};
use crate::server_state::ServerState;
use crate::storage::key::storage_key;
use crate::storage::{Object, ResourceStorage};
use kueue_lab_apimachinery::api_error::ApiError;
use kueue_lab_apimachinery::fieldmanager;

/// A request to a served resource.
pub(super) struct RequestContext<'s> {
    pub(super) core: &'s Arc<ServerState>,
    pub(super) request: &'s AuthenticatedRequest,
    pub(super) path: ResourcePath,
    pub(super) served: Arc<ServedResource>,
    pub(super) query: Query,
    pub(super) transformer: ResponseTransformer,
    warnings: Mutex<IndexSet<String>>,
}

impl<'s> RequestContext<'s> {
    /// `None` when no resource is served at the path.
    pub(super) fn new(
        core: &'s Arc<ServerState>,
        incoming: &'s AuthenticatedRequest,
        path: ResourcePath,
        query: Query,
        verb: &str,
    ) -> Result<Option<Self>, ApiError> {
        let Some(served) = core
            .registry
            .find(&path.group, &path.version, &path.resource)
        else {
            return Ok(None);
        };
        let deprecation = served.deprecation_warning();
        let in_namespace = !path.namespace.is_empty() && path.resource != "namespaces";
        if in_namespace && !served.kind.namespaced {
            return Ok(None);
        }
        let views = match verb {
            "watch" => EndpointRestrictions::Watch,
            _ => EndpointRestrictions::Resources,
        };
        let mut accept = MediaTypeOptions::negotiate(incoming.accept(), views)?;
        accept.pretty |= wants_pretty(&query, incoming.header(&USER_AGENT));
        let include = IncludeObjectPolicy::parse(query.text("includeObject"))?;
        let view = ResponseTransformer {
            core: core.clone(),
            served: served.clone(),
            accept,
            include,
        };
        Ok(Some(Self {
            core,
            request: incoming,
            path,
            served,
            query,
            transformer: view,
            warnings: Mutex::new(deprecation.into_iter().collect()),
        }))
    }

    /// The same request for another resource.
    pub(super) fn for_resource(&self, served: Arc<ServedResource>) -> Self {
        let path = ResourcePath {
            group: served.kind.group.to_string(),
            version: served.kind.version.to_string(),
            resource: served.kind.plural.to_string(),
            ..self.path.clone()
        };
        let view = ResponseTransformer {
            served: served.clone(),
            ..self.transformer.clone()
        };
        Self {
            core: self.core,
            request: self.request,
            path,
            served,
            query: self.query.clone(),
            transformer: view,
            warnings: Mutex::default(),
        }
    }

    /// Whether the path of a namespaced custom resource has no namespace, as only lists and watches
    /// may.
    pub(super) fn is_namespace_missing(&self, verb: &str) -> bool {
        self.served.custom.is_some()
            && self.served.kind.namespaced
            && self.path.namespace.is_empty()
            && !matches!(verb, "list" | "watch")
    }

    /// Rejects verbs the resource does not support and paths of the wrong scope.
    pub(super) fn check_verb(&self, verb: &str) -> Result<(), ApiError> {
        let kind = &self.served.kind;
        let sub = &self.path.subresource;
        let placed = !kind.namespaced || !self.path.namespace.is_empty();
        // Built-in resources have no route for it; custom ones ignore the name of the path.
        let creates_named =
            verb == "create" && !self.path.name.is_empty() && self.served.custom.is_none();
        let allowed = if sub.is_empty() {
            !creates_named
                && self.served.allows_verb(verb)
                && (placed || matches!(verb, "list" | "watch"))
        } else {
            let found = kind
                .subresource(sub)
                .ok_or_else(ApiError::no_such_resource)?;
            found.verbs.contains(&verb) && placed
        };
        if allowed {
            Ok(())
        } else {
            Err(ApiError::method_not_allowed())
        }
    }

    /// The storage of the resource.
    pub(super) fn storage(&self) -> Result<&Arc<ResourceStorage>, ApiError> {
        self.served
            .storage
            .as_ref()
            .ok_or_else(ApiError::method_not_allowed)
    }

    /// The namespace of the request; empty for cluster-scoped kinds.
    pub(super) fn namespace(&self) -> &str {
        if self.served.kind.namespaced {
            &self.path.namespace
        } else {
            ""
        }
    }

    /// The storage key of an object.
    pub(super) fn storage_key(&self, name: &str) -> String {
        storage_key(self.namespace(), name)
    }

    /// The stored object of the name in the path; for a read, its durable version.
    ///
    /// # Errors
    /// 404 if it does not exist.
    pub(super) fn stored_object(&self) -> Result<Arc<Object>, ApiError> {
        let name = &self.path.name;
        let (storage, key) = (self.storage()?, self.storage_key(name));
        let object = match self.request.parts.method.is_safe() {
            true => self.core.store.durable_object(storage, &key),
            false => storage.get(&key),
        };
        object.ok_or_else(|| self.not_found(name))
    }

    /// 404 for an object of this kind.
    pub(super) fn not_found(&self, name: &str) -> ApiError {
        ApiError::not_found(&self.path.group, &self.path.resource, name)
    }

    /// Adds a `Warning` header to the response.
    pub(super) fn warn(&self, text: impl Into<String>) {
        let text = text.into();
        self.warnings.lock().insert(text);
    }

    /// The texts of the `Warning` headers.
    pub(super) fn warnings(&self) -> Vec<String> {
        self.warnings.lock().iter().cloned().collect()
    }

    /// The media type of the body, without parameters.
    pub(super) fn content_type(&self) -> &str {
        let header = self.request.header(&CONTENT_TYPE);
        header.split(';').next().unwrap_or_default().trim()
    }

    /// The field manager of a write: `fieldManager`, or the user agent up to the first slash.
    pub(super) fn field_manager(&self) -> String {
        let agent = self.request.header(&USER_AGENT);
        fieldmanager::manager_name(self.query.text("fieldManager"), agent)
    }
}

/// Whether JSON is indented: by `pretty`, else for curl, wget and browsers.
fn wants_pretty(query: &Query, agent: &str) -> bool {
    match query.text("pretty") {
        "" => ["curl", "Wget", "Mozilla/5.0"]
            .iter()
            .any(|p| agent.starts_with(p)),
        text => matches!(text, "1" | "t" | "T" | "true" | "TRUE" | "True"),
    }
}
