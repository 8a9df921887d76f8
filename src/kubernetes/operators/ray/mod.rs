//! KubeRay's RayCluster, RayJob and RayService controllers.

pub(super) mod gcs_fault_tolerance;
mod kuberay_metadata;
pub(super) mod ray_cluster;
pub(super) mod ray_job;
mod ray_pods;
pub(super) mod ray_service;
mod submitter;

use kuberay_metadata::{
    DISABLE_HEAD_RESTART, ORIGINATED_FROM_CR_NAME, ORIGINATED_FROM_CRD, inherited,
};
