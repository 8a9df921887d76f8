//! The sockets for policy: what the lab plugs into the API server without the server knowing it.

use std::sync::Arc;

use async_trait::async_trait;
use kube::api::LogParams;
use parking_lot::RwLock;
use serde_json::Value;

use crate::apimachinery::api_error::ApiError;

/// What a request does to an object, as admission sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A new object.
    Create,
    /// A change, by update, patch or apply.
    Update,
    /// A deletion; `decode_object` is null and `old_object` is what goes.
    Delete,
}

/// One write on its way to storage, in the version the client used.
#[derive(Clone, Debug)]
pub struct AdmissionRequest<'a> {
    /// API group, empty for core.
    pub group: &'a str,
    /// API version.
    pub version: &'a str,
    /// Kind.
    pub kind: &'a str,
    /// Plural resource name.
    pub resource: &'a str,
    /// Subresource such as `status_subresource`, or empty.
    pub subresource: &'a str,
    /// Namespace, empty for cluster-scoped objects.
    pub namespace: &'a str,
    /// Name, empty while `generateName` is unresolved.
    pub name: &'a str,
    /// What happens.
    pub operation: Operation,
    /// The object before an update or delete.
    pub old_object: Option<&'a Value>,
    /// Whether nothing will be stored.
    pub dry_run: bool,
    /// The user who asks.
    pub user: &'a str,
}

/// What admission says of a write that it lets through.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AdmissionWarnings {
    /// Texts for the `Warning` headers.
    pub warnings: Vec<String>,
}

/// In-process admission: the counterpart of mutating and validating webhooks.
#[async_trait]
pub trait AdmissionPlugin: Send + Sync {
    /// Whether this plug-in cares about the resource at all; asked before anything is copied.
    fn handles(&self, group: &str, resource: &str, subresource: &str) -> bool;

    /// Changes the object before validation.
    ///
    /// # Errors
    /// Refuses the write; the error goes to the client as it is.
    async fn mutate(
        &self,
        request: &AdmissionRequest<'_>,
        object: &mut Value,
    ) -> Result<AdmissionWarnings, ApiError>;

    /// Looks at the final object; for a delete `decode_object` is null.
    ///
    /// # Errors
    /// Refuses the write; the error goes to the client as it is.
    async fn validate(
        &self,
        request: &AdmissionRequest<'_>,
        object: &Value,
    ) -> Result<AdmissionWarnings, ApiError>;
}

/// Conversion between versions of a custom resource, the counterpart of a conversion webhook.
pub trait CustomResourceConverter: Send + Sync {
    /// Whether conversions of this group and kind are this converter's.
    fn handles(&self, group: &str, kind: &str) -> bool;

    /// Converts `decode_object` in place, including its `apiVersion`; `to` is the `apiVersion` it gets: the
    /// same group, another version.
    ///
    /// # Errors
    /// Says why the object cannot be expressed in `to`.
    fn convert(&self, object: &mut Value, to: &str) -> Result<(), String>;
}

/// What the server asks of the kubelets behind it.
#[async_trait]
pub trait KubeletClient: Send + Sync {
    /// The log lines a container has written so far, and a stream of what follows where `follow`.
    ///
    /// # Errors
    /// The container does not exist or has not started.
    async fn logs(&self, request: PodLogRequest) -> Result<LogStream, ApiError>;
}

/// Which log to read, with the query options of `pods/log`.
#[derive(Clone, Debug, Default)]
pub struct PodLogRequest {
    /// Namespace of the pod.
    pub namespace: String,
    /// Name of the pod.
    pub pod: String,
    /// UID of the pod, so that a namesake's log is not read.
    pub uid: String,
    /// Container name.
    pub container: String,
    /// The query options; their container is unset.
    pub options: LogParams,
}

/// Log text in pieces; ends when the container has ended or, without `follow`, at the last line.
pub type LogStream = futures::stream::BoxStream<'static, bytes::Bytes>;

/// What is plugged in from outside; may change while the server runs.
#[derive(Default)]
pub(crate) struct Plugins {
    admission: RwLock<Vec<Arc<dyn AdmissionPlugin>>>,
    converter: RwLock<Option<Arc<dyn CustomResourceConverter>>>,
    kubelet: RwLock<Option<Arc<dyn KubeletClient>>>,
}

impl Plugins {
    pub(crate) fn admission(&self) -> Vec<Arc<dyn AdmissionPlugin>> {
        self.admission.read().clone()
    }

    pub(crate) fn converter(&self) -> Option<Arc<dyn CustomResourceConverter>> {
        self.converter.read().clone()
    }

    pub(crate) fn kubelet(&self) -> Option<Arc<dyn KubeletClient>> {
        self.kubelet.read().clone()
    }

    pub(crate) fn add_admission(&self, plugin: Arc<dyn AdmissionPlugin>) {
        self.admission.write().push(plugin);
    }

    pub(crate) fn set_converter(&self, converter: Arc<dyn CustomResourceConverter>) {
        *self.converter.write() = Some(converter);
    }

    pub(crate) fn set_kubelet(&self, kubelet: Arc<dyn KubeletClient>) {
        *self.kubelet.write() = Some(kubelet);
    }
}
