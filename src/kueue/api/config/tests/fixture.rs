//! Documents and helpers of the tests.

use super::super::*;

pub(super) fn read(text: &str) -> LoadedConfiguration {
    load(text)
        .unwrap_or_else(|p| panic!("{}", p.iter().map(|p| format!("{p}\n")).collect::<String>()))
}

pub(super) fn rejected(text: &str) -> Vec<String> {
    load(text)
        .expect_err("should be rejected")
        .iter()
        .map(ToString::to_string)
        .collect()
}

pub(super) fn file(version: &str, body: &str) -> String {
    format!("apiVersion: config.kueue.x-k8s.io/{version}\nkind: Configuration\n{body}")
}

/// The configuration of SkyPilot's example, in its ConfigMap.
pub(super) const CONFIG_MAP: &str = "\
apiVersion: v1
data:
  controller_manager_config.yaml: |
    apiVersion: config.kueue.x-k8s.io/v1beta1
    kind: Configuration
    health:
      healthProbeBindAddress: :8081
    metrics:
      bindAddress: :8080
    leaderElection:
      leaderElect: true
      resourceName: c1f6bfd2.kueue.x-k8s.io
    controller:
      groupKindConcurrency:
        Job.batch: 5
        Workload.kueue.x-k8s.io: 5
    clientConnection:
      qps: 50
      burst: 100
    integrations:
      frameworks:
      - \"batch/job\"
      - \"pod\"
      podOptions:
       # oddly indented
       namespaceSelector:
         matchExpressions:
           - key: kubernetes.io/metadata.name
             operator: NotIn
             values: [ kube-system, kueue-system ]
";
