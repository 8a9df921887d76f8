//! Authorization of requests to the kubelets by SubjectAccessReviews, as kubelets do with
//! `--authorization-mode=Webhook`.

use async_trait::async_trait;
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use kube::Client;
use kube::api::{Api, PostParams};
use kueue_lab_http::CertificateSubject;

/// Decides on requests to the kubelets.
#[async_trait]
pub(super) trait Authorizer: Send + Sync + 'static {
    /// Whether a client may get `nodes/proxy`, the permission that container logs require.
    ///
    /// # Errors
    /// There is no decision.
    async fn may_get_logs(&self, client: &CertificateSubject) -> kube::Result<bool>;
}

/// Authorizes by the API server.
pub(super) struct SubjectAccessReviews {
    pub(super) client: Client,
}

#[async_trait]
impl Authorizer for SubjectAccessReviews {
    async fn may_get_logs(&self, client: &CertificateSubject) -> kube::Result<bool> {
        let mut groups = client.groups.clone();
        groups.push("system:authenticated".into());
        let review = SubjectAccessReview {
            spec: SubjectAccessReviewSpec {
                user: Some(client.user.clone()),
                groups: Some(groups),
                resource_attributes: Some(ResourceAttributes {
                    verb: Some("get".into()),
                    version: Some("v1".into()),
                    resource: Some("nodes".into()),
                    subresource: Some("proxy".into()),
                    ..ResourceAttributes::default()
                }),
                ..SubjectAccessReviewSpec::default()
            },
            ..SubjectAccessReview::default()
        };
        let reviews: Api<SubjectAccessReview> = Api::all(self.client.clone());
        let reviewed = reviews.create(&PostParams::default(), &review).await;
        let status = reviewed?.status;
        Ok(status.is_some_and(|status| status.allowed))
    }
}
