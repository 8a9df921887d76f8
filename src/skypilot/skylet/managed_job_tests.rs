//! The programs that SkyPilot's client runs in the Pod of its jobs controller.

use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;

use crate::tests::{bash, cluster_with};
use crate::{
    JobsController, JobsControllerError, ManagedJob, ManagedJobOutput, ManagedJobSubmission,
    NewManagedJob,
};

/// What the generated programs begin with.
const PREFIX: &str = "\
import sys
from sky.jobs import utils
from sky.jobs import state as managed_job_state
from sky.jobs import constants as managed_job_constants
managed_job_version = managed_job_constants.MANAGED_JOBS_VERSION
if managed_job_version >= 20:
    from sky import sky_logging as _sky_logging
    from sky.server import plugins
    with _sky_logging.silent():
        plugins.load_plugins(plugins.ExtensionContext(
            context=plugins.PluginContext.CONTROLLER))
";

/// A controller that runs nothing: submitted jobs run until they are cancelled.
#[derive(Default)]
struct TestController {
    jobs: Mutex<Vec<ManagedJob>>,
    submissions: Mutex<Vec<ManagedJobSubmission>>,
    reasons: Mutex<Vec<String>>,
}

impl TestController {
    fn change(&self, id: i64, change: impl FnOnce(&mut ManagedJob)) {
        let mut jobs = self.jobs.lock();
        change(jobs.iter_mut().find(|job| job.id == id).unwrap());
    }
}

#[async_trait]
impl JobsController for TestController {
    fn add(&self, job: NewManagedJob) -> Result<i64, JobsControllerError> {
        let mut jobs = self.jobs.lock();
        let id = jobs.len() as i64 + 1;
        let job = ManagedJob {
            id,
            job,
            status: "PENDING",
            schedule_state: "INACTIVE",
            ..ManagedJob::default()
        };
        jobs.insert(0, job);
        Ok(id)
    }

    fn set_resources(&self, id: i64, resources: &str) {
        self.change(id, |job| resources.clone_into(&mut job.resources));
    }

    async fn start(
        &self,
        id: i64,
        submission: &ManagedJobSubmission,
    ) -> Result<(), JobsControllerError> {
        self.submissions.lock().push(submission.clone());
        self.change(id, |job| job.status = "RUNNING");
        Ok(())
    }

    fn jobs(&self) -> Vec<ManagedJob> {
        self.jobs.lock().clone()
    }

    fn cancel(&self, id: i64, reason: &str) -> bool {
        self.reasons.lock().push(reason.to_owned());
        self.change(id, |job| job.status = "CANCELLED");
        true
    }

    fn output(&self, _id: i64) -> Option<ManagedJobOutput> {
        Some(ManagedJobOutput {
            attempt: 0,
            text: "first\nsecond\n".into(),
        })
    }

    fn controller_log(&self, id: i64) -> String {
        format!("log of {id}\n")
    }
}

/// A head node with this controller.
fn head(controller: &Arc<TestController>) -> Arc<kueue_lab_container::Container> {
    let controller: Arc<dyn JobsController> = controller.clone();
    cluster_with(1, Some(controller)).remove(0)
}

/// Runs a program after [`PREFIX`] as a user.
async fn run(
    head: &Arc<kueue_lab_container::Container>,
    user: &str,
    program: &str,
) -> (i32, String) {
    let program = format!("{PREFIX}{program}");
    head.write_file("/tmp/p.py", program.as_bytes(), false)
        .unwrap();
    let command = format!("export SKYPILOT_USER_ID=\"{user}\"; python3 -u /tmp/p.py");
    bash(head, &command).await
}

/// Adds jobs with these names.
async fn add(head: &Arc<kueue_lab_container::Container>, user: &str, name: &str) {
    let program = format!(
        "task_ids = [0]\ntask_names = ['{name}']\njob_ids = []\n\
         for _ in range(1):\n  \
           job_id = managed_job_state.set_job_info_without_job_id(name='{name}',workspace='default',\
             entrypoint='sky',pool=None,pool_hash=None,user_hash='{user}',execution='serial',is_batch=False)\n  \
           job_ids.append(job_id)\n  \
           for task_id, task_name in zip(task_ids, task_names):\n    \
             managed_job_state.set_pending(job_id, task_id, task_name, '1x[CPU:6]', '{{}}', False)\n\
         print('Job IDs: ' + ','.join(map(str, job_ids)), flush=True)"
    );
    let (code, output) = run(head, user, &program).await;
    assert_eq!(code, 0, "{output}");
    assert!(output.starts_with("Job IDs: "), "{output}");
}

/// The rows of the queue for some users, as name, state and requested resources.
async fn queue(
    head: &Arc<kueue_lab_container::Container>,
    filters: &str,
) -> Vec<(String, String, String)> {
    let program = format!("print(utils.dump_managed_job_queue({filters}), flush=True)");
    let (code, output) = run(head, "a", &program).await;
    assert_eq!(code, 0, "{output}");
    let json = output.trim().strip_prefix("<sky-payload>").unwrap();
    let json = json.strip_suffix("</sky-payload>").unwrap();
    let queue: serde_json::Value = serde_json::from_str(json).unwrap();
    let jobs = queue["jobs"].as_array().unwrap().iter();
    let text = |job: &serde_json::Value, field: &str| job[field].as_str().unwrap().to_owned();
    jobs.map(|job| {
        (
            text(job, "job_name"),
            text(job, "status"),
            text(job, "resources"),
        )
    })
    .collect()
}

fn row(name: &str, status: &str) -> (String, String, String) {
    (name.into(), status.into(), "1x[CPU:6]".into())
}

#[tokio::test(start_paused = true)]
async fn a_job_is_added_submitted_listed_and_cancelled() {
    let controller = Arc::new(TestController::default());
    let head = head(&controller);
    add(&head, "a", "one").await;
    add(&head, "b", "two").await;
    assert_eq!(
        queue(&head, "user_hashes=None").await,
        [row("two", "PENDING"), row("one", "PENDING")]
    );

    let script = "mkdir -p ~/.sky/managed_jobs; cd ~/.sky/managed_jobs; \
        printf 'name: one\\n---\\nrun: echo\\n' > t.yaml; echo 'kubernetes: {}' > c.yaml; \
        for line in \"SKYPILOT_USER='root'\" \"SKYPILOT_USER_ID='a'\" \"SKYPILOT_CONFIG='~/.sky/managed_jobs/c.yaml'\"; \
        do echo \"export $line\" >> e.env; done; \
        python3 -u -m sky.jobs.scheduler ~/.sky/managed_jobs/t.yaml --user-yaml-path u --env-file ~/.sky/managed_jobs/e.env \
        --priority 500 --job-id 1";
    assert_eq!(bash(&head, script).await, (0, String::new()));
    let expected = ManagedJobSubmission {
        task: "name: one\n---\nrun: echo\n".into(),
        config: Some("kubernetes: {}\n".into()),
        user: "root".into(),
        user_hash: "a".into(),
        namespace: "default".into(),
    };
    assert_eq!(*controller.submissions.lock(), [expected]);
    let own = "user_hashes=['a', None], statuses=None";
    assert_eq!(queue(&head, own).await, [row("one", "RUNNING")]);

    // Only the jobs of the user, and not those that have ended.
    let cancel = "msg = utils.cancel_managed_jobs(name=None, job_ids=None, pool=None, all=True, all_users=False,\n    \
        cancel_request_info=utils.CancelRequestInfo(user_hash='a', user_name='root', request_id='r1'))\n\
        print(msg, end='', flush=True)";
    let expected = "Job with ID 1 is scheduled to be cancelled.";
    assert_eq!(run(&head, "a", cancel).await, (0, expected.into()));
    assert_eq!(run(&head, "a", cancel).await.1, "No job to cancel.");
    let reason = "Cancellation requested by user root (request ID: r1)";
    assert_eq!(*controller.reasons.lock(), [reason]);
    assert_eq!(
        queue(&head, "skip_finished=True").await,
        [row("two", "PENDING")]
    );
    let filters = "page=2, limit=1";
    assert_eq!(queue(&head, filters).await, [row("one", "CANCELLED")]);
}

#[tokio::test(start_paused = true)]
async fn logs_end_with_the_job() {
    let controller = Arc::new(TestController::default());
    let head = head(&controller);
    add(&head, "a", "one").await;
    let stream = |arguments: &str| {
        format!(
            "msg, retcode = utils.stream_logs(job_id=1, job_name=None, {arguments})\n\
             print(msg, flush=True)\nsys.exit(retcode)"
        )
    };
    let now = run(
        &head,
        "a",
        &stream("follow=False, tail=1, tail_offset=None"),
    )
    .await;
    assert_eq!(now, (0, "second\n\n".into()));
    let end = async {
        tokio::time::sleep(std::time::Duration::from_secs(60)).await;
        controller.change(1, |job| job.status = "FAILED");
    };
    let follow = stream("follow=True, controller=False, tail=None");
    let ((code, text), ()) = tokio::join!(run(&head, "a", &follow), end);
    assert_eq!(code, 100);
    assert!(text.starts_with("first\nsecond\n"), "{text}");
    assert!(
        text.contains("✓ Managed job finished: 1 (status: FAILED)."),
        "{text}"
    );
    let (code, text) = run(&head, "a", &stream("follow=True, controller=True")).await;
    assert_eq!(code, 100);
    assert!(text.starts_with("log of 1\n"), "{text}");
    let unknown = "result = utils.stream_logs(job_id=7, job_name=None, follow=True)\nprint(result)";
    let (_, text) = run(&head, "a", unknown).await;
    assert_eq!(text, "('Job 7 not found.', 102)\n");
}
