//! SkyPilot as the cluster sees it: task YAML to the Pods SkyPilot submits, and the managed-job loop
//! that notices a preemption and resubmits. Reaches the cluster only through a `kube::Client`.
