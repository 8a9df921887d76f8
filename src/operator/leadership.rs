//! One term after the other: stand by, lead, and stop leading before anybody else may start.

use std::pin::pin;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::instance::{Instance, InstanceRole};
use super::operator::OperatorError;
use kueue_lab_controller::{Controller, WebhooksOnlyInstance};
use kueue_lab_election::{LeaderElector, NamespaceMissing};
use kueue_lab_install::InstallError;
use kueue_lab_runtime::Context;

/// Unregistering webhooks at the end may take this long.
const HAND_OVER_TIMEOUT: Duration = Duration::from_secs(5);
/// A namespace just made is not known everywhere at once.
const MADE: Duration = Duration::from_millis(250);
/// After a term that could not begin, the next try.
const PAUSE: Duration = Duration::from_secs(2);

/// Runs terms until told to stop.
///
/// # Errors
/// Something that does not mend itself keeps the instance from leading.
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
        // From here on nothing of the term is written any more.
        context.tasks.shutdown().await;
        match ended {
            None => break Ok(()),
            Some(Ok(())) => tracing::warn!("this instance does not lead any more"),
            Some(Err(error)) if is_transient(&error) => {
                tracing::warn!("cannot lead yet: {error}");
                tokio::select! {
                    () = instance.clock.sleep(PAUSE) => {}
                    () = stop.cancelled() => break Ok(()),
                }
            }
            Some(Err(error)) => break Err(error),
        }
    };
    hand_over(instance, candidate.as_mut()).await;
    outcome
}

/// Whether it may go better the next time.
fn is_transient(error: &OperatorError) -> bool {
    matches!(
        error,
        OperatorError::Install(InstallError::Unavailable { .. })
    )
}

/// One term; ends when somebody else may lead.
async fn run_term(
    instance: &Instance,
    context: &Context,
    mut candidate: Option<&mut LeaderElector>,
) -> Result<(), OperatorError> {
    let standby = match instance.is_in_cluster() {
        true => Some(prepare(instance, context).await?),
        false => None,
    };
    if let Some(candidate) = candidate.as_deref_mut() {
        let mut others = |leader: &str| {
            tracing::info!("{leader} leads; waiting");
            instance
                .role
                .send_replace(InstanceRole::Follower(leader.to_owned()));
        };
        // It may have been taken away since this instance began, with the lease.
        while let Err(NamespaceMissing) = candidate.acquire(&mut others).await {
            instance.installer.ensure_namespace().await?;
            instance.clock.sleep(MADE).await;
        }
    }
    // The lease has to be renewed while the rest of it starts.
    let stay = async {
        match candidate {
            Some(candidate) => candidate.renew().await,
            None => std::future::pending().await,
        }
    };
    let lead = async {
        let standby = match standby {
            Some(standby) => standby,
            None => prepare(instance, context).await?,
        };
        if let Some(metrics) = &instance.metrics {
            metrics.observe_controller(standby.shared());
        }
        let controller = standby.become_leader();
        instance.policy.set_job_webhooks(controller.webhooks());
        register_webhooks(instance, &controller).await?;
        tracing::info!("this instance leads");
        instance
            .role
            .send_replace(InstanceRole::Leader(controller.clone()));
        rotate_certificates(instance, &controller).await;
        Ok(())
    };
    tokio::select! {
        () = stay => Ok(()),
        ended = lead => ended,
    }
}

/// Installs the kinds and gets to know the cluster; writes nothing of what is decided.
async fn prepare(
    instance: &Instance,
    context: &Context,
) -> Result<WebhooksOnlyInstance, OperatorError> {
    let endpoint = instance.endpoint.as_ref().map(|(endpoint, _)| endpoint);
    instance.installer.install_crds(endpoint).await?;
    let standby = WebhooksOnlyInstance::start(context, instance.kueue.clone()).await;
    instance.policy.set_job_webhooks(standby.webhooks());
    Ok(standby)
}

async fn register_webhooks(
    instance: &Instance,
    controller: &Controller,
) -> Result<(), OperatorError> {
    let Some((endpoint, keeper)) = &instance.endpoint else {
        // Whoever answered them led before, and is killed or cut off.
        if instance.installer.remove_abandoned_webhooks().await? > 0 {
            tracing::info!("webhooks that nobody answers any more were unregistered");
        }
        return Ok(());
    };
    let mut endpoint = endpoint.clone();
    endpoint.authority = keeper.authority();
    let managed = |framework: &str| controller.webhooks().is_integration_enabled(framework);
    instance
        .installer
        .install_webhooks(&endpoint, managed)
        .await?;
    Ok(())
}

/// Keeps the certificate good, and the cluster's trust in it.
async fn rotate_certificates(instance: &Instance, controller: &Controller) {
    let Some((endpoint, keeper)) = &instance.endpoint else {
        return std::future::pending().await;
    };
    loop {
        keeper.authority_changed().await;
        let mut endpoint = endpoint.clone();
        endpoint.authority = keeper.authority();
        if let Err(error) = instance.installer.install_crds(Some(&endpoint)).await {
            tracing::warn!("the new certificate is not trusted yet: {error}");
        }
        if let Err(error) = register_webhooks(instance, controller).await {
            tracing::warn!("the new certificate is not trusted yet: {error}");
        }
    }
}

/// Hands over.
async fn hand_over(instance: &Instance, candidate: Option<&mut LeaderElector>) {
    let leads = candidate.as_ref().is_none_or(|c| c.is_leader());
    if leads && !instance.is_in_cluster() && instance.endpoint.is_some() {
        let patience = instance.clock.to_wall(HAND_OVER_TIMEOUT);
        let removed = tokio::time::timeout(patience, instance.installer.remove_webhooks()).await;
        match removed {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!("the webhooks stay registered: {error}"),
            Err(_) => tracing::warn!("the webhooks stay registered: the cluster does not answer"),
        }
    }
    if let Some(candidate) = candidate {
        candidate.release().await;
    }
}
