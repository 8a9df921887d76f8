//! A container runtime that knows scripts but executes no commands, for tests.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kueue_lab_container_program::Step;
use kueue_lab_streaming::remote_command::StartError;

use super::{Container, ContainerRuntime, Kubelet, RunningInstance, SimpleRuntime};

#[derive(Debug)]
pub(super) struct ShellRuntime;

#[async_trait]
impl ContainerRuntime for ShellRuntime {
    fn steps(
        &self,
        words: &[&str],
        environment: &BTreeMap<String, String>,
        _image: &str,
        _containers: usize,
    ) -> Option<Vec<Step>> {
        kueue_lab_container::steps(words, environment)
    }

    async fn container(
        &self,
        kubelet: &Kubelet,
        instance: &RunningInstance,
    ) -> Result<Arc<dyn Container>, StartError> {
        SimpleRuntime.container(kubelet, instance).await
    }

    fn pod_changed(&self, _pod: &Pod, _now: Timestamp) {}

    fn remove_pod(&self, _uid: &str) {}
}
