//! Kueue's ClusterRoles on the embedded cluster.

use k8s_openapi::api::rbac::v1::ClusterRole;
use kube::api::PostParams;
use kueue_lab_codec::Codec;
use kueue_lab_install::cluster_roles;
use kueue_lab_runtime::{Api, Context};

/// Creates the ClusterRoles in the background: nothing that the lab starts needs them. Those that
/// aggregate others are last, so that their rules are written once.
pub(super) fn create_cluster_roles(context: &Context) {
    let api: Api<ClusterRole> = Api::all(context.client.clone());
    context.tasks.spawn("cluster-roles", async move {
        let mut roles: Vec<_> = cluster_roles().into_iter().collect();
        roles.sort_by_key(|role| role["aggregationRule"].is_object());
        for role in roles {
            let created = match ClusterRole::from_value(&role) {
                Ok(role) => api.create(&PostParams::default(), &role).await.map(drop),
                Err(error) => Err(kube::Error::SerdeError(error)),
            };
            if let Err(error) = created {
                tracing::warn!(
                    "cannot create the ClusterRole {}: {error}",
                    role["metadata"]["name"]
                );
            }
        }
    });
}
