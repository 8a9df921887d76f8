//! Plugin interfaces of the API server: admission, conversion and the kubelet client.

use std::error::Error;
use std::net::IpAddr;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use http::StatusCode;
use kube::api::LogParams;
use parking_lot::RwLock;
use serde_json::Value;

use crate::request::parse_int;
pub use kueue_lab_apimachinery::admission_request::{AdmissionRequest, Operation};
use kueue_lab_apimachinery::api_error::ApiError;
pub use kueue_lab_streaming::port_forward::{DialError, PodConnection, PortForwarder};
pub use kueue_lab_streaming::remote_command::{
    CommandError, ContainerStreams, RemoteCommand, StartError, StreamOptions, TerminalSize,
};

/// The result of admission for an allowed write.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AdmissionWarnings {
    /// Texts for the `Warning` headers.
    pub warnings: Vec<String>,
}

/// In-process admission plugin: the counterpart of mutating and validating webhooks.
#[async_trait]
pub trait AdmissionPlugin: Send + Sync {
    /// Whether this plugin handles the resource; called before the object is copied.
    fn handles(&self, group: &str, resource: &str, subresource: &str) -> bool;

    /// Whether it replaces the webhooks of a Service, which are then not called.
    fn replaces_service(&self, _namespace: &str, _service: &str) -> bool {
        false
    }

    /// Mutates the object before validation. By default, it does not.
    ///
    /// # Errors
    /// An error rejects the write and is returned to the client unchanged.
    async fn mutate(
        &self,
        _request: &AdmissionRequest<'_>,
        _object: &mut Value,
    ) -> Result<AdmissionWarnings, ApiError> {
        Ok(AdmissionWarnings::default())
    }

    /// Validates the final object, which is null for a delete. By default, it is valid.
    ///
    /// # Errors
    /// An error rejects the write and is returned to the client unchanged.
    async fn validate(
        &self,
        _request: &AdmissionRequest<'_>,
        _object: &Value,
    ) -> Result<AdmissionWarnings, ApiError> {
        Ok(AdmissionWarnings::default())
    }
}

/// Converts custom resources between versions: the counterpart of a conversion webhook.
pub trait CustomResourceConverter: Send + Sync {
    /// Whether this converter handles the group and kind.
    fn handles(&self, group: &str, kind: &str) -> bool;

    /// Converts `object` in place to the apiVersion `to`, another version of the same group, and
    /// sets its `apiVersion`.
    ///
    /// # Errors
    /// The object cannot be represented in `to`.
    fn convert(&self, object: &mut Value, to: &str) -> Result<(), Box<dyn Error + Send + Sync>>;
}

/// An extension API server in the same process: the counterpart of an APIService with a Service.
pub trait AggregatedApi: std::fmt::Debug + Send + Sync {
    /// The API group.
    fn group(&self) -> &'static str;

    /// The versions of the group.
    fn versions(&self) -> &'static [&'static str];

    /// Namespace and name of the Service in its APIServices.
    fn service(&self) -> (&'static str, &'static str);

    /// The resources, which are the same in all versions. They have no verbs of their own.
    fn resources(&self) -> &'static [AggregatedResource];

    /// The response to `get` of a subresource. Kind and apiVersion are set by the caller.
    ///
    /// # Errors
    /// An error is returned to the client unchanged.
    fn get_subresource(&self, request: &AggregatedRequest<'_>) -> Result<Value, ApiError>;
}

/// A resource of an [`AggregatedApi`].
#[derive(Clone, Copy, Debug)]
pub struct AggregatedResource {
    /// Kind of the resource in discovery.
    pub kind: &'static str,
    /// Plural resource name.
    pub plural: &'static str,
    /// Singular resource name.
    pub singular: &'static str,
    /// Whether the resource is namespaced.
    pub namespaced: bool,
    /// Name and kind of its subresource, which has the verb `get`.
    pub subresource: (&'static str, &'static str),
}

/// A request to an [`AggregatedApi`]; authorization has allowed it.
#[derive(Clone, Copy, Debug)]
pub struct AggregatedRequest<'a> {
    /// Plural resource name.
    pub resource: &'a str,
    /// Namespace, empty for cluster-scoped resources.
    pub namespace: &'a str,
    /// Name of the object.
    pub name: &'a str,
    /// Query parameters, in order.
    pub parameters: &'a [(String, String)],
}

impl AggregatedRequest<'_> {
    /// An integer parameter; 0 if it is absent.
    ///
    /// # Errors
    /// 400 with Go's parse error if the value is not a number.
    pub fn integer(&self, name: &str) -> Result<i64, ApiError> {
        let mut found = self.parameters.iter().filter(|(key, _)| key == name);
        match found.next() {
            None => Ok(0),
            Some((_, text)) => parse_int(text),
        }
    }
}

/// Client of the kubelets.
#[async_trait]
pub trait KubeletClient: Send + Sync {
    /// The log lines of a container so far, followed by new lines if `follow` is set.
    ///
    /// # Errors
    /// The container does not exist or has not started.
    async fn logs(&self, request: PodLogRequest) -> Result<LogStream, ApiError>;

    /// A command that runs in a container.
    ///
    /// # Errors
    /// The container does not run.
    async fn exec(
        &self,
        _container: &ContainerReference,
        _command: ExecCommand,
    ) -> Result<RemoteCommand, StartError> {
        Err(not_supported("exec"))
    }

    /// The main process of a container.
    ///
    /// # Errors
    /// The container does not run.
    async fn attach(
        &self,
        _container: &ContainerReference,
        _options: StreamOptions,
    ) -> Result<RemoteCommand, StartError> {
        Err(not_supported("attach"))
    }

    /// Connections to the ports of a pod.
    ///
    /// # Errors
    /// The pod does not run.
    async fn port_forward(
        &self,
        _pod: &PodReference,
    ) -> Result<Arc<dyn PortForwarder>, StartError> {
        Err(not_supported("port-forward"))
    }

    /// Connects to a port of a node, or to its kubelet.
    ///
    /// # Errors
    /// Nothing listens at the address.
    async fn dial_node(&self, node: &str, port: Option<u16>) -> Result<PodConnection, DialError> {
        Err(DialError::NoRoute(match port {
            Some(port) => format!("{node}:{port}"),
            None => node.to_owned(),
        }))
    }

    /// Connects to an address of the cluster's network, as the API server does for `proxy`.
    ///
    /// # Errors
    /// Nothing listens at the address.
    async fn dial(&self, address: IpAddr, port: u16) -> Result<PodConnection, DialError> {
        Err(DialError::NoRoute(format!("{address}:{port}")))
    }
}

fn not_supported(feature: &str) -> StartError {
    StartError {
        status: StatusCode::NOT_IMPLEMENTED,
        message: format!("{feature} is not supported by the kubelet"),
    }
}

/// A pod.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodReference {
    /// Namespace of the pod.
    pub namespace: String,
    /// Name of the pod.
    pub name: String,
    /// UID of the pod.
    pub uid: String,
}

/// A container of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContainerReference {
    /// The pod.
    pub pod: PodReference,
    /// Name of the container.
    pub container: String,
}

/// The command of an `exec` request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExecCommand {
    /// The command and its arguments; it is not run by a shell.
    pub command: Vec<String>,
    /// The streams of the client.
    pub options: StreamOptions,
}

/// The log to read, with the query options of `pods/log`.
#[derive(Clone, Debug, Default)]
pub struct PodLogRequest {
    /// Namespace of the pod.
    pub namespace: String,
    /// Name of the pod.
    pub pod: String,
    /// UID of the pod, so that the log of another pod of the same name is not read.
    pub uid: String,
    /// Container name.
    pub container: String,
    /// The query options; their container is unset.
    pub options: LogParams,
}

/// A stream of log text; ends when the container terminates or, without `follow`, at the last line.
pub type LogStream = futures::stream::BoxStream<'static, Bytes>;

/// The registered plugins; may change while the server runs.
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

    /// The number of admission plugins.
    pub(crate) fn admission_len(&self) -> usize {
        self.admission.read().len()
    }

    /// Whether a plugin replaces the webhooks of a Service.
    pub(crate) fn replace_service(&self, namespace: &str, service: &str) -> bool {
        let plugins = self.admission.read();
        plugins
            .iter()
            .any(|p| p.replaces_service(namespace, service))
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
