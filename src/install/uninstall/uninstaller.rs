//! The steps of an uninstall, in order.

use super::report::UninstallReport;
use super::{delete_resources, resume_jobs};
use crate::{InstallError, Installer, webhook_configurations};

impl Installer {
    /// Removes everything that was installed and lets go of what was held back. Can be repeated
    /// after it failed half-way.
    ///
    /// # Errors
    /// Somebody runs the controller, rights are missing, or the cluster does not answer.
    pub async fn uninstall(&self) -> Result<UninstallReport, InstallError> {
        let (client, clock) = (&self.client, &self.clock);
        let mut report = UninstallReport::default();
        // Whoever runs outside the cluster has to be asked before anything is taken from under it.
        delete_resources::delete_controller_deployment(client, &self.namespace, &mut report)
            .await?;
        self.wait_until_no_leader().await?;
        report.webhooks = webhook_configurations::remove(client).await?;
        resume_jobs::resume_jobs_and_pods(client, &mut report).await?;
        delete_resources::delete_crds(client, clock, &mut report).await?;
        delete_resources::delete_managed_objects(client, clock, &self.namespace, &mut report)
            .await?;
        Ok(report)
    }
}
