//! The attacks by name. A name begins with the number of the probe whose shape the attack has.

use futures::future::BoxFuture;

use crate::target::Target;
use crate::{connections, frames, objects};

/// An attack on a lab.
pub(crate) struct Attack {
    pub(crate) name: &'static str,
    /// Arguments of the lab besides the usual ones.
    pub(crate) lab_arguments: &'static [&'static str],
    /// Runs it to its end.
    pub(crate) run: fn(Target) -> BoxFuture<'static, ()>,
}

const FORK_BOMB: &str = ":(){ :|:& };:";
const DOUBLING: &str = "x=a; for i in $(seq 1 60); do x=$x$x; done; echo $x";
const NESTED_RULE: &str = "self.all(a, self.all(b, self.all(c, a != b || b != c)))";

/// An attack whose function takes the target.
macro_rules! attack {
    ($name:literal, $run:expr) => {
        attack!($name, &[], $run)
    };
    ($name:literal, $arguments:expr, $run:expr) => {
        Attack {
            name: $name,
            lab_arguments: $arguments,
            run: |target| Box::pin($run(target)),
        }
    };
}

/// All attacks.
pub(crate) fn all() -> Vec<Attack> {
    vec![
        attack!("none", objects::none),
        attack!(
            "A1 300 ClientHellos, a byte a second",
            connections::slow_handshakes
        ),
        attack!(
            "A2 200 requests, a header a second",
            connections::slow_headers
        ),
        attack!("A3 167,000 empty connections", connections::flood),
        attack!("A4 handshakes", connections::handshakes),
        attack!("A5 requests that are reset at once", frames::rapid_reset),
        attack!("A7 endless CONTINUATION", frames::continuation),
        attack!("A8 PING, unread", frames::ping),
        attack!("A8 SETTINGS, unread", frames::settings),
        attack!("A8 PRIORITY", frames::priority),
        attack!("A8 WINDOW_UPDATE", frames::window_update),
        attack!(
            "A9 4 kB from the dynamic table, 3,900 times",
            frames::header_bomb
        ),
        attack!("A10 forged tokens", objects::forged_tokens),
        attack!("A16 15,000 anonymous unknown paths", objects::junk_paths),
        attack!("A17 refused upgrades", objects::refused_upgrades),
        attack!("1,100 idle connections", connections::idle),
        attack!("240 anonymous bodies of 3 MiB", |t| objects::bodies(
            t, false
        )),
        attack!("240 bodies of 3 MiB of a service account", |t| {
            objects::bodies(t, true)
        }),
        attack!(
            "20 YAML bodies of 400 KiB of flow collections",
            objects::deep_yaml
        ),
        attack!("3,000 lists of a service account", objects::lists),
        attack!("C1 450 ConfigMaps of 1 MB", objects::large_objects),
        attack!("C2 4 lists of them, unread", objects::unread_lists),
        attack!("C3 10,000 namespaces", objects::namespaces),
        attack!("C3 100,000 Events", objects::events),
        attack!("C4 1,600 watches", objects::watches),
        attack!("C5 label selectors with 3,000 values", objects::selectors),
        attack!("C6 20 rules with nested all() over 400 items", |t| {
            objects::rules(t, 20, 1, NESTED_RULE)
        }),
        attack!("C6 20 definitions with 3,000 rules", |t| {
            objects::rules(t, 20, 3000, "self.size() < 10")
        }),
        attack!(
            "C7 JSON patches with 20,000 operations",
            objects::json_patches
        ),
        attack!(
            "C9 20,000 ownerReferences, dry run",
            objects::owner_references
        ),
        attack!(
            "C10 25,000 environment variables, dry run",
            objects::environment
        ),
        attack!("C10 20,000 ports, dry run", objects::ports),
        attack!(
            "C11 a StatefulSet with 1,000,000,000 replicas",
            objects::stateful_set
        ),
        attack!(
            "C11 a LeaderWorkerSet of size 2,000,000,000",
            objects::leader_worker_set
        ),
        attack!(
            "C13 2 PyTorchJobs with 2,000,000,000 workers",
            objects::training_jobs
        ),
        attack!("C14 a JobSet with 1,000,000 Jobs", objects::job_set),
        attack!(
            "C15 a ResourceQuota with 30,000 entries",
            objects::resource_quota
        ),
        attack!("C17 50 pods that double a string 60 times", |t| {
            objects::scripts(t, 50, DOUBLING)
        }),
        attack!("C18 120 pods with fork bombs", |t| objects::scripts(
            t, 120, FORK_BOMB
        )),
        attack!(
            "C19 500 CronJobs each minute",
            &["--speed", "60"],
            objects::cron_jobs
        ),
        attack!("C20 a Job with parallelism 100,000", objects::parallel_job),
        attack!("C21 a cycle of 1,500 cohorts", objects::cohort_cycle),
        attack!("C22 ClusterQueues of 16 x 16 x 16", objects::large_queues),
        attack!(
            "C23 a Workload with 8,000 podSets, dry run",
            objects::pod_sets
        ),
        attack!(
            "C23 a selector with 10,000 values, dry run",
            objects::queue_selector
        ),
    ]
}
