//! Terms of an instance: follow, lead, and stop before another instance can lead.

use std::pin::pin;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::instance::{Instance, InstanceRole};
use super::operator::OperatorError;
use kueue_lab_controller::{Controller, WebhooksOnlyInstance};
use kueue_lab_controller_runtime::Context;
use kueue_lab_election::{LeaderElector, NamespaceMissing};
use kueue_lab_install::InstallError;

/// Timeout of unregistering webhooks on shutdown.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(5);
/// Delay after creating the namespace, so that all API servers observe it.
const NAMESPACE_CREATION_DELAY: Duration = Duration::from_millis(250);
/// Delay after a term that failed to start.
const TERM_RETRY_DELAY: Duration = Duration::from_secs(2);
/// Delay after explanations that could not be registered. An APIService that is not available keeps namespaces from being
/// deleted, so it is not tried often.
const EXPLANATIONS_RETRY_DELAY: Duration = Duration::from_mins(10);

/// Runs terms until cancelled.
///
/// # Errors
/// A permanent failure prevents the instance from leading.
pub(super) async fn run_terms(
    instance: &Instance,
    stop: &CancellationToken,
) -> Result<(), OperatorError> {
    let mut candidate = instance.leader_elector();
    let outcome = loop {
        let context = instance.context();
        let ended = {
            let term = pin!(run_term(instance, &context, candidate.as_mut()));
            tokio::select! {
                ended = term => Some(ended),
                () = stop.cancelled() => None,
            }
        };
        instance.role.send_replace(InstanceRole::Starting);
        // After this nothing of the term is written.
        context.tasks.shutdown().await;
        match ended {
            None => break Ok(()),
            Some(Ok(())) => tracing::warn!("lost leadership"),
            Some(Err(error)) if is_transient(&error) => {
                tracing::warn!("cannot lead, retrying: {error}");
                tokio::select! {
                    () = instance.clock.sleep(TERM_RETRY_DELAY) => {}
                    () = stop.cancelled() => break Ok(()),
                }
            }
            Some(Err(error)) => break Err(error),
        }
    };
    release_leadership(instance, candidate.as_mut()).await;
    outcome
}

/// Whether retrying may succeed.
fn is_transient(error: &OperatorError) -> bool {
    matches!(
        error,
        OperatorError::Install(InstallError::Unavailable { .. })
    )
}

/// Runs one term; returns when another instance may lead.
async fn run_term(
    instance: &Instance,
    context: &Context,
    mut candidate: Option<&mut LeaderElector>,
) -> Result<(), OperatorError> {
    let follower = match instance.is_in_cluster() {
        true => Some(prepare(instance, context).await?),
        false => None,
    };
    if let Some(candidate) = candidate.as_deref_mut() {
        let mut others = |leader: &str| {
            tracing::info!("{leader} is the leader; waiting");
            instance
                .role
                .send_replace(InstanceRole::Follower(leader.to_owned()));
        };
        // The namespace may have been deleted, with the Lease.
        while let Err(NamespaceMissing) = candidate.acquire(&mut others).await {
            instance.installer.ensure_namespace().await?;
            instance.clock.sleep(NAMESPACE_CREATION_DELAY).await;
        }
    }
    // The Lease is renewed while the controllers start.
    let renewal = async {
        match candidate {
            Some(candidate) => candidate.renew().await,
            None => std::future::pending().await,
        }
    };
    let lead = async {
        let follower = match follower {
            Some(follower) => follower,
            None => prepare(instance, context).await?,
        };
        if let Some(metrics) = &instance.metrics {
            metrics.observe_controller(follower.shared());
        }
        let controller = follower.become_leader();
        instance.policy.set_job_webhooks(controller.webhooks());
        register_webhooks(instance, &controller).await?;
        tracing::info!("became the leader");
        instance
            .role
            .send_replace(InstanceRole::Leader(Box::new(controller.clone())));
        tokio::join!(
            serve_explanations(instance),
            rotate_certificates(instance, &controller),
        );
        Ok(())
    };
    tokio::select! {
        () = renewal => Ok(()),
        ended = lead => ended,
    }
}

/// Installs the CRDs and syncs the informers.
async fn prepare(
    instance: &Instance,
    context: &Context,
) -> Result<WebhooksOnlyInstance, OperatorError> {
    let endpoint = instance.endpoint.as_ref().map(|(endpoint, _)| endpoint);
    instance.installer.install_crds(endpoint).await?;
    let follower = WebhooksOnlyInstance::start(context, instance.kueue.clone()).await;
    instance.policy.set_job_webhooks(follower.webhooks());
    Ok(follower)
}

async fn register_webhooks(
    instance: &Instance,
    controller: &Controller,
) -> Result<(), OperatorError> {
    let Some((endpoint, rotator)) = &instance.endpoint else {
        // Their server was the previous leader, which was killed or partitioned.
        if instance.installer.remove_abandoned_webhooks().await? > 0 {
            tracing::info!("unregistered the webhooks of a server that is gone");
        }
        return Ok(());
    };
    let mut endpoint = endpoint.clone();
    endpoint.authority = rotator.authority();
    let managed = |framework: &str| controller.webhooks().is_integration_enabled(framework);
    instance
        .installer
        .install_webhooks(&endpoint, managed)
        .await?;
    Ok(())
}

/// Registers the API of explanations, or unregisters that of a leader that is gone. The controller works without it.
async fn serve_explanations(instance: &Instance) {
    loop {
        let Err(error) = register_explanations(instance).await else {
            return;
        };
        let delay = match error {
            InstallError::Unavailable { .. } => TERM_RETRY_DELAY,
            _ => EXPLANATIONS_RETRY_DELAY,
        };
        tracing::warn!("`kueue-lab explain` decides on a copy of the objects: {error}");
        instance.clock.sleep(delay).await;
    }
}

async fn register_explanations(instance: &Instance) -> Result<(), InstallError> {
    match (&instance.explanations, &instance.endpoint) {
        (Some(endpoint), Some((_, rotator))) => {
            let mut endpoint = endpoint.clone();
            endpoint.authority = rotator.authority();
            instance.installer.install_explanations(&endpoint).await
        }
        _ => instance.installer.remove_explanations().await.map(drop),
    }
}

/// Renews the certificate, and `caBundle` when the authority changes.
async fn rotate_certificates(instance: &Instance, controller: &Controller) {
    let Some((endpoint, rotator)) = &instance.endpoint else {
        return std::future::pending().await;
    };
    loop {
        rotator.authority_changed().await;
        let mut endpoint = endpoint.clone();
        endpoint.authority = rotator.authority();
        if let Err(error) = instance.installer.install_crds(Some(&endpoint)).await {
            tracing::warn!("cannot update caBundle: {error}");
        }
        if let Err(error) = register_webhooks(instance, controller).await {
            tracing::warn!("cannot update caBundle: {error}");
        }
        if let Err(error) = register_explanations(instance).await {
            tracing::warn!("cannot update caBundle: {error}");
        }
    }
}

/// Unregisters the webhooks and releases the Lease.
async fn release_leadership(instance: &Instance, candidate: Option<&mut LeaderElector>) {
    let leads = candidate.as_ref().is_none_or(|c| c.is_leader());
    if leads && !instance.is_in_cluster() && instance.endpoint.is_some() {
        let timeout = instance.clock.to_wall(RELEASE_TIMEOUT);
        let removed = tokio::time::timeout(timeout, instance.installer.remove_webhooks()).await;
        match removed {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!("cannot unregister the webhooks: {error}"),
            Err(_) => tracing::warn!("cannot unregister the webhooks: timeout"),
        }
    }
    if leads && instance.explanations.is_some() {
        let timeout = instance.clock.to_wall(RELEASE_TIMEOUT);
        let removed = instance.installer.remove_explanations();
        match tokio::time::timeout(timeout, removed).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => tracing::warn!("cannot unregister the explanations: {error}"),
            Err(_) => tracing::warn!("cannot unregister the explanations: timeout"),
        }
    }
    if let Some(candidate) = candidate {
        candidate.release().await;
    }
}
