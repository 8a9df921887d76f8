//! [`ExistingWorker`]: a worker cluster that exists without the lab, reached with a kubeconfig.

use http::Uri;
use kube::config::Kubeconfig;
use kueue_lab_api::v1beta2::API_VERSION;
use kueue_lab_cluster::{KubeconfigContext, error_chain};
use kueue_lab_controller::validate_kubeconfig;
use kueue_lab_controller_runtime::api_errors::is_not_found;
use kueue_lab_presets::{ExistingCluster, Finding};

/// A worker cluster that `clusters.yaml` names.
#[derive(Clone)]
pub(crate) struct ExistingWorker {
    /// The entry of the file.
    cluster: ExistingCluster,
    context: KubeconfigContext,
    /// The kubeconfig of the context, without references to files.
    pub(crate) kubeconfig: String,
}

impl ExistingWorker {
    /// Reads the kubeconfig of a cluster.
    ///
    /// # Errors
    /// It cannot be read, has no such context, or MultiKueue does not allow it.
    pub(crate) fn load(cluster: &ExistingCluster) -> Result<Self, Finding> {
        let error = |message: String| {
            Finding::error(
                &cluster.file,
                cluster.at,
                format!("worker cluster {}: {message}", cluster.name),
            )
        };
        let name = cluster.context.as_deref();
        let context = KubeconfigContext::load(name, cluster.kubeconfig.as_deref());
        let context = context.map_err(|e| error(e.to_string()))?;
        let kubeconfig = context.flattened().map_err(|e| error(e.to_string()))?;
        let parsed = Kubeconfig::from_yaml(&kubeconfig).map_err(|e| error(e.to_string()))?;
        validate_kubeconfig(&parsed).map_err(|message| {
            error(format!("MultiKueue does not use its kubeconfig: {message}")).remedy(
                "name a kubeconfig with a certificate authority and the token or certificate of a user",
            )
        })?;
        Ok(Self {
            cluster: cluster.clone(),
            context,
            kubeconfig,
        })
    }

    /// The port of its API server.
    pub(crate) fn port(&self) -> u16 {
        let server: Option<Uri> = self.context.server().parse().ok();
        let port = server.as_ref().and_then(Uri::port_u16);
        let is_http = server.is_some_and(|server| server.scheme_str() == Some("http"));
        port.unwrap_or(if is_http { 80 } else { 443 })
    }

    /// The name of its MultiKueueCluster.
    pub(crate) fn name(&self) -> &str {
        &self.cluster.name
    }

    /// The error of the connection to the cluster; None if it answers and serves Kueue's kinds. The manager
    /// connects when that changes.
    pub(crate) async fn connection_warning(&self) -> Option<Finding> {
        let (message, remedy) = self.probe().await.err()?;
        let message = format!(
            "worker cluster {} at {}: {message}",
            self.name(),
            self.context.server()
        );
        let found = Finding::warning(&self.cluster.file, self.cluster.at, message);
        Some(found.remedy(remedy))
    }

    /// The error is a message and a remedy.
    async fn probe(&self) -> Result<(), (String, &'static str)> {
        let unreachable = "start the cluster, or correct kubeconfig and context of this entry; the manager connects as soon as it answers";
        let client = self.context.client().await;
        let client = client.map_err(|error| (error.to_string(), unreachable))?;
        match client.list_api_group_resources(API_VERSION).await {
            Ok(_) => Ok(()),
            Err(error) if is_not_found(&error) => Err((
                format!("it does not serve {API_VERSION}"),
                "install Kueue there, with queues of the same names",
            )),
            Err(kube::Error::Api(status)) => Err((
                status.message.clone(),
                "name a kubeconfig whose user may read and write Workloads and jobs",
            )),
            Err(error) => Err((
                format!("it does not answer: {}", error_chain(&error)),
                unreachable,
            )),
        }
    }
}
