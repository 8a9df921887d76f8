//! Jobs on a cluster: `sky exec` and `sky logs`.

use kube::ResourceExt;

use super::cluster::{Cluster, ClusterStatus};
use super::cluster_client::PodExt;
use super::job_programs::{QueuedJob, add_job, queue_job, tail_logs};
use super::remote_command::{ExecError, run_script};
use super::sky_clusters::{ClusterError, SkyClusters};
use crate::naming::is_valid;
use crate::{LaunchError, Task};

/// The name of a job without a name.
const DEFAULT_NAME: &str = "sky-cmd";

impl SkyClusters {
    /// Submits `setup` and `run` of a task as a job. Returns its number.
    ///
    /// # Errors
    /// The cluster is not up or too small, the name of the task is invalid, or the head does not execute
    /// the commands.
    pub async fn submit(&self, cluster: &Cluster, task: &Task) -> Result<u64, ClusterError> {
        let name = task.name.as_deref().unwrap_or(DEFAULT_NAME);
        if !is_valid(name) {
            return Err(LaunchError::Name(name.to_owned()).into());
        }
        self.check_up(cluster)?;
        let ips = cluster.ips();
        let nodes = usize::try_from(task.num_nodes).unwrap_or(usize::MAX);
        let Some(ips) = ips.get(..nodes) else {
            return Err(ClusterError::Mismatch(format!(
                "the number of nodes of the cluster {:?} is {}, and num_nodes of the task is {nodes}; launch a larger cluster, or use fewer nodes with --num-nodes",
                cluster.name,
                ips.len(),
            )));
        };
        let gpus = task.gpus_per_node();
        if f64::from(gpus) > cluster.gpus_per_node() {
            return Err(ClusterError::Mismatch(format!(
                "the nodes of the cluster {:?} have {} GPUs, and the task needs {gpus}; launch a larger cluster, or use fewer GPUs with --gpus",
                cluster.name,
                cluster.gpus_per_node(),
            )));
        }
        let timestamp = self.now().await.strftime("sky-%Y-%m-%d-%H-%M-%S-%6f");
        let resources = cluster.resources();
        let add = add_job(
            name,
            &self.env.user_hash,
            &timestamp.to_string(),
            &resources,
        );
        let added = self.output(cluster, "python3 -u -", &add).await?;
        let mut lines = added.lines();
        let id = lines.next().and_then(|id| id.trim().parse().ok());
        let (Some(id), Some(log_dir)) = (id, lines.next()) else {
            return Err(ClusterError::Runtime(added));
        };
        let job = QueuedJob {
            id,
            name,
            log_dir,
            cluster: &cluster.name,
            ips,
            task,
        };
        let driver = format!("~/.sky/sky_app/sky_job_{id}");
        let write = format!(
            "mkdir -p {log_dir} ~/.sky/sky_app && touch {log_dir}/run.log && cat > {driver}"
        );
        self.output(cluster, &write, &job.driver()).await?;
        let queue = queue_job(id, &driver, log_dir);
        self.output(cluster, "python3 -u -", &queue).await?;
        Ok(id)
    }

    /// `sky logs`: passes the log of a job, by default of the newest one, to `output`, with `follow` until
    /// its end. Returns SkyPilot's exit code for the state of the job.
    ///
    /// # Errors
    /// The cluster is not up, or the connection is lost.
    pub async fn logs(
        &self,
        cluster: &Cluster,
        job: Option<u64>,
        follow: bool,
        output: impl FnMut(&[u8]),
    ) -> Result<i32, ClusterError> {
        self.check_up(cluster)?;
        let program = tail_logs(job, follow);
        Ok(self.run(cluster, "python3 -u -", &program, output).await?)
    }

    /// The reason that a cluster is incomplete; `None` if all its Pods run.
    ///
    /// # Errors
    /// A request failed.
    pub async fn failure(&self, cluster: &Cluster) -> Result<Option<String>, ClusterError> {
        let remote = self.cluster_client(&cluster.name_on_cloud);
        let pods = remote.list().await?;
        if let Some(lost) = pods.iter().find(|pod| !pod.is_running()) {
            let reason = lost.termination_reason();
            return Ok(Some(format!("{}: {reason}", lost.name_any())));
        }
        let is_missing = pods.len() < cluster.num_nodes;
        Ok(is_missing.then(|| "its Pods are deleted".to_owned()))
    }

    fn check_up(&self, cluster: &Cluster) -> Result<(), ClusterError> {
        match cluster.status() {
            ClusterStatus::Up => Ok(()),
            ClusterStatus::Init => Err(ClusterError::NotUp(cluster.name.clone())),
        }
    }

    /// The output of a script that succeeds.
    async fn output(
        &self,
        cluster: &Cluster,
        script: &str,
        input: &str,
    ) -> Result<String, ClusterError> {
        let mut all = Vec::new();
        let collect = |data: &[u8]| all.extend_from_slice(data);
        let code = self.run(cluster, script, input, collect).await?;
        let text = String::from_utf8_lossy(&all).into_owned();
        match code {
            0 => Ok(text),
            _ => Err(ClusterError::Runtime(text)),
        }
    }

    /// Runs a script on the head.
    async fn run(
        &self,
        cluster: &Cluster,
        script: &str,
        input: &str,
        output: impl FnMut(&[u8]),
    ) -> Result<i32, ExecError> {
        let head = format!("{}-head", cluster.name_on_cloud);
        let pod = (self.env.namespace.as_str(), head.as_str());
        run_script(&self.client, pod, script, input.as_bytes(), output).await
    }
}
