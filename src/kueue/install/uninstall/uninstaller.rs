//! The steps of an uninstall, in order.

use super::report::UninstallReport;
use super::{delete_resources, resume_jobs};
use crate::{InstallError, Installer, explanation_api, webhook_configurations};

impl Installer {
    /// Deletes all installed objects, resumes jobs and ungates pods. Can be repeated after a
    /// failure.
    ///
    /// # Errors
    /// A controller is running, permissions are missing, or the API server is unavailable.
    pub async fn uninstall(&self) -> Result<UninstallReport, InstallError> {
        let (client, clock) = (&self.client, &self.clock);
        let mut report = UninstallReport::default();
        // A controller outside the cluster has to be stopped by its owner first.
        delete_resources::delete_controller_deployment(client, &self.namespace, &mut report)
            .await?;
        self.wait_until_no_leader().await?;
        report.webhooks = webhook_configurations::remove(client).await?;
        // Without its server no namespace can be deleted.
        if explanation_api::remove(client, &self.namespace).await? {
            report.objects.push("API of explanations".to_owned());
        }
        resume_jobs::resume_jobs_and_pods(client, &mut report).await?;
        delete_resources::delete_crds(client, clock, &mut report).await?;
        delete_resources::delete_managed_objects(client, clock, &self.namespace, &mut report)
            .await?;
        Ok(report)
    }
}
