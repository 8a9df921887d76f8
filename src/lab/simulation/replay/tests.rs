//! Tests of replays with small traces.

use jiff::SignedDuration;
use kueue_lab_engine::EngineConfig;
use kueue_lab_engine::config::FairSharing;
use serde_json::{Value, json};

use super::{QueueMapping, ReplayConfiguration, ReplayOptions, ReplayOutcome, replay};
use crate::report;
use crate::trace::{ReadOptions, Trace, read_trace};

fn trace(records: &str) -> Trace {
    let text = format!("queue,submit_time,duration,priority,gpu\n{records}");
    read_trace("t", &text, &ReadOptions::default()).unwrap()
}

/// Two ClusterQueues `a` and `b` of a cohort with these numbers of GPUs.
fn queues(quotas: [u32; 2], preemption: &Value) -> ReplayConfiguration {
    let flavor = json!({"kind": "ResourceFlavor", "metadata": {"name": "f"}, "spec": {}});
    let mut objects = vec![flavor];
    for (name, quota) in ["a", "b"].into_iter().zip(quotas) {
        let flavors = json!([{"name": "f", "resources": [{"name": "nvidia.com/gpu", "nominalQuota": quota}]}]);
        objects.push(
            json!({"kind": "ClusterQueue", "metadata": {"name": name}, "spec": {
                "cohortName": "all", "namespaceSelector": {}, "preemption": preemption,
                "resourceGroups": [{"coveredResources": ["nvidia.com/gpu"], "flavors": flavors}],
            }}),
        );
        objects.push(
            json!({"kind": "LocalQueue", "metadata": {"name": name, "namespace": "ns"},
            "spec": {"clusterQueue": name}}),
        );
    }
    ReplayConfiguration {
        name: "queues".to_owned(),
        objects,
        ..ReplayConfiguration::default()
    }
}

fn run(records: &str, configuration: &ReplayConfiguration) -> ReplayOutcome {
    replay(&trace(records), configuration, &ReplayOptions::default()).unwrap()
}

/// The whole seconds of each admission.
fn admissions(outcome: &ReplayOutcome) -> Vec<Option<i64>> {
    let all = outcome.admissions.iter();
    all.map(|at| at.map(|at| at.round() as i64)).collect()
}

#[test]
fn priorities_are_names_of_the_classes_of_the_configuration() {
    let mut configuration = queues([2, 0], &json!({"withinClusterQueue": "LowerPriority"}));
    for (name, value) in [("low", -10), ("high", 100)] {
        configuration.objects.push(
            json!({"kind": "WorkloadPriorityClass", "metadata": {"name": name}, "value": value}),
        );
    }
    // Numbers and names are compared.
    for priorities in [
        ["low", "high"],
        ["-10", "100"],
        ["99", "high"],
        ["low", "0"],
    ] {
        let [first, second] = priorities;
        let records = format!("a,0,100,{first},2\na,10,50,{second},2\n");
        let outcome = run(&records, &configuration);
        let admitted = admissions(&outcome)[1].unwrap();
        assert!((40..=42).contains(&admitted), "{priorities:?}: {admitted}");
    }
    let unknown = trace("a,0,100,urgent,2\n");
    let error = replay(&unknown, &configuration, &ReplayOptions::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "line 2 of the trace has the priority \"urgent\", and there is no WorkloadPriorityClass of this name; there are high, low"
    );
}

#[test]
fn a_job_waits_for_the_end_of_another() {
    let never = json!({});
    let outcome = run(
        "a,0,100,0,2\na,10,50,0,2\nb,10,5,0,3\n",
        &queues([2, 0], &never),
    );
    // The engine requeues inadmissible workloads one second after quota is released.
    assert_eq!(admissions(&outcome), [Some(0), Some(101), None]);
    assert_eq!((outcome.admitted, outcome.finished), (2, 2));
    let never: Vec<_> = outcome
        .never
        .iter()
        .map(|n| (n.jobs, n.line, n.reason.as_str()))
        .collect();
    let reason = "never: 3 nvidia.com/gpu > maximum 2 in f";
    assert_eq!(never, [(1, 4, reason)]);
    let table = report::table("t", 0, std::slice::from_ref(&outcome));
    let line = format!("queues: 1 job never admitted, such as job-4 of line 4: {reason}\n");
    assert!(table.contains(&line), "{table}");
    assert_eq!(outcome.wait.unwrap().max, 91.0);
    assert_eq!(outcome.makespan_seconds, 151.0);
    let used = outcome.utilisation["nvidia.com/gpu"];
    assert!((used - 150.0 / 151.0).abs() < 1e-9, "{used}");
    let queue = &outcome.queues[1];
    assert_eq!(
        (queue.queue.as_str(), queue.jobs, queue.never_admitted),
        ("ns/b", 1, 1)
    );
    assert!((outcome.queues[0].held_hours - 300.0 / 3_600.0).abs() < 1e-9);
}

#[test]
fn namespaces_have_the_label_of_their_name() {
    let mut configuration = queues([2, 0], &json!({}));
    let selector = json!({"matchLabels": {"kubernetes.io/metadata.name": "ns"}});
    configuration.objects[1]["spec"]["namespaceSelector"] = selector;
    assert_eq!(run("a,0,100,0,2\n", &configuration).admitted, 1);
    let namespace = json!({"kind": "Namespace", "metadata": {"name": "ns"}});
    configuration.objects.push(namespace);
    assert_eq!(run("a,0,100,0,2\n", &configuration).admitted, 1);
}

#[test]
fn preempted_work_is_lost_or_kept_at_checkpoints() {
    let lower = json!({"withinClusterQueue": "LowerPriority"});
    let configuration = queues([1, 0], &lower);
    let records = "a,0,100,0,1\na,50,10,5,1\n";
    let outcome = run(records, &configuration);
    // The first job is preempted after 50 s; its pods hold the quota for 30 s.
    assert_eq!(outcome.preemptions["InClusterQueue"], 1);
    let admitted = admissions(&outcome)[1].unwrap();
    assert!((80..=82).contains(&admitted), "{admitted}");
    assert!((outcome.lost_hours - 50.0 / 3_600.0).abs() < 1e-9);
    assert!(
        outcome.makespan_seconds >= 190.0,
        "{}",
        outcome.makespan_seconds
    );
    let options = ReplayOptions {
        checkpoint_interval: Some(SignedDuration::from_secs(20)),
        termination_grace_period: SignedDuration::ZERO,
        ..ReplayOptions::default()
    };
    let kept = replay(&trace(records), &configuration, &options).unwrap();
    assert!((kept.lost_hours - 10.0 / 3_600.0).abs() < 1e-9);
    assert!(kept.makespan_seconds < 125.0, "{}", kept.makespan_seconds);
}

#[test]
fn strict_and_best_effort_queues_differ() {
    let mut strict = queues([2, 0], &json!({}));
    strict.objects[1]["spec"]["queueingStrategy"] = json!("StrictFIFO");
    let records = "a,0,100,0,1\na,1,100,0,2\na,2,10,0,1\n";
    let strict = run(records, &strict);
    let best_effort = run(records, &queues([2, 0], &json!({})));
    assert_eq!(admissions(&best_effort)[2], Some(2));
    assert_eq!(admissions(&strict)[2], Some(200));
}

#[test]
fn queues_are_mapped_by_option_name_or_in_turn() {
    let configuration = queues([9, 9], &json!({}));
    let options = |pairs: &[&str]| ReplayOptions {
        queues: QueueMapping::parse(&pairs.iter().map(|p| (*p).to_owned()).collect::<Vec<_>>())
            .unwrap(),
        ..ReplayOptions::default()
    };
    let trace = trace("x,0,1,0,1\nb,0,1,0,1\ny,0,1,0,1\nz,0,1,0,1\n");
    let by_queue = |pairs: &[&str]| {
        let outcome = replay(&trace, &configuration, &options(pairs)).unwrap();
        let jobs: Vec<usize> = outcome.queues.iter().map(|queue| queue.jobs).collect();
        (jobs, outcome.assumed_queues)
    };
    let assumed = ["x=ns/a", "y=ns/b", "z=ns/a"].map(str::to_owned).to_vec();
    assert_eq!(by_queue(&[]), (vec![2, 2], assumed));
    assert_eq!(by_queue(&["x=b", "*=ns/a"]), (vec![3, 1], Vec::new()));
    let absent = |pairs: &[&str]| {
        let options = options(pairs);
        options.queues.absent_from(&trace).map(str::to_owned)
    };
    assert_eq!(absent(&["x=b", "*=ns/a"]), None);
    assert_eq!(absent(&["x=b", "w=b"]), Some("w".to_owned()));
    assert!(QueueMapping::parse(&["x=a", "x=b"].map(str::to_owned)).is_err());
    let absent = replay(&trace, &configuration, &options(&["x=c"])).unwrap_err();
    assert_eq!(
        absent.to_string(),
        r#"there is no LocalQueue "c"; the LocalQueues are ns/a, ns/b"#
    );
}

#[test]
fn a_loop_of_preemptions_ends_the_replay() {
    let preemption = json!({"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"});
    let mut configuration = queues([4, 2], &preemption);
    configuration.objects[3]["spec"]["preemption"] =
        json!({"withinClusterQueue": "Never", "reclaimWithinCohort": "Never"});
    configuration.objects[3]["spec"]["queueingStrategy"] = json!("StrictFIFO");
    // The quota that the last job preempts in its own queue is borrowed by the job of `b`, and reclaimed from it.
    let records = "a,0,1000000,20,1\na,1,1000000,0,3\na,2,1000000,0,4\n\
                   b,3,1000000,10,5\na,4,1000000,0,4\na,5,1000000,10,4\n";
    let options = ReplayOptions {
        termination_grace_period: SignedDuration::ZERO,
        ..ReplayOptions::default()
    };
    let outcome = replay(&trace(records), &configuration, &options).unwrap();
    let stopped = outcome.stopped.as_ref().unwrap();
    assert!(stopped.contains("was preempted 1000 times"), "{stopped}");
}

#[test]
fn preemptions_with_fair_sharing_end() {
    // As in the test of `explain`: reclaim and fair sharing preempt each other without end.
    let mut configuration = queues(
        [1, 3],
        &json!({"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"}),
    );
    configuration.engine = EngineConfig {
        fair_sharing: Some(FairSharing::default()),
        ..EngineConfig::default()
    };
    let outcome = run("a,0,100000,0,4\nb,10,100000,0,1\n", &configuration);
    // Whether it loops or not, it ends, and no job is lost.
    assert_eq!(outcome.jobs, 2);
    assert!(
        outcome.stopped.is_some() || outcome.finished == 2,
        "{outcome:?}"
    );
}

/// A replay ends when its state is stable, however many jobs run one after the other at its end.
#[test]
fn all_serial_jobs_after_the_last_submission_run() {
    let records = "a,0,60,0,1\n".repeat(120);
    let outcome = run(&records, &queues([1, 0], &json!({})));
    assert_eq!((outcome.admitted, outcome.finished), (120, 120));
}

/// A job that other jobs preempt in turn is no loop.
#[test]
fn a_job_is_preempted_by_very_many_jobs() {
    let spikes = (1..=1_010).map(|hour| format!("a,{},60,10,1\n", hour * 3_600));
    let records = format!("a,0,7200,0,1\n{}", spikes.collect::<String>());
    let lower = json!({"withinClusterQueue": "LowerPriority"});
    let outcome = run(&records, &queues([1, 0], &lower));
    assert_eq!(
        (outcome.stopped.as_deref(), outcome.finished),
        (None, 1_011)
    );
    let most = outcome.most_preempted.as_ref().unwrap();
    assert_eq!((most.line, most.preemptions), (2, 1_010));
    let table = report::table("t", 0, std::slice::from_ref(&outcome));
    let line = "queues: job-2 of line 2 was preempted 1010 times\n";
    assert!(table.contains(line), "{table}");
}

#[test]
fn a_starved_queue_shows_in_slowdown_and_fairness() {
    let records = "a,0,100,0,1\nb,0,100,0,3\n".repeat(20);
    let mut configuration = queues([1, 1], &json!({}));
    for queue in [1, 3] {
        let group = &mut configuration.objects[queue]["spec"]["resourceGroups"][0];
        group["coveredResources"] = json!(["amd.com/gpu", "cpu", "nvidia.com/gpu"]);
        let resources = group["flavors"][0]["resources"].as_array_mut().unwrap();
        for name in ["cpu", "amd.com/gpu"] {
            resources.insert(0, json!({"name": name, "nominalQuota": 8}));
        }
    }
    let outcome = run(&records, &configuration);
    assert_eq!(outcome.main_resource, "nvidia.com/gpu");
    let [running, starved] = &outcome.queues[..] else {
        panic!("{outcome:?}")
    };
    assert_eq!((running.unfinished, starved.unfinished), (0, 20));
    assert_eq!(starved.wait, None);
    assert!((running.held_hours - 20.0 * 100.0 / 3_600.0).abs() < 1e-9);
    // The starved jobs wait until the last of the others ends.
    let end = outcome.makespan_seconds;
    assert!((starved.mean_slowdown.unwrap() - end / 100.0).abs() < 1e-9);
    assert!(outcome.fairness.unwrap() < 0.99, "{outcome:?}");
    let table = report::table("t", 0, std::slice::from_ref(&outcome));
    let line = table.lines().find(|line| line.starts_with("ns/b"));
    let cells: Vec<&str> = line.unwrap().split_whitespace().collect();
    let slowdown = format!(">={:.2}", end / 100.0);
    assert_eq!(cells[1..7], ["20", "20", "-", "-", &slowdown, "0"]);
    assert!(table.contains("queues: 20 jobs did not finish"), "{table}");
    let none = run("b,0,100,0,3\n", &configuration);
    assert_eq!(none.fairness, None);
    let table = report::table("t", 0, &[none]);
    assert!(!table.contains("0s"), "{table}");
}

#[test]
fn jobs_that_are_never_admitted_are_all_counted() {
    // 250 different jobs, of which one is frequent and last.
    let different = (0..250).map(|i| format!("a,0,60,0,{}\n", 10 + i));
    let frequent = "a,0,60,0,500\n".repeat(30);
    let records = different.collect::<String>() + &frequent;
    let outcome = run(&records, &queues([1, 0], &json!({})));
    let explained: usize = outcome.never.iter().map(|never| never.jobs).sum();
    assert_eq!((explained, outcome.not_explained), (30 + 199, 51));
    assert_eq!(outcome.never[0].jobs, 30);
    let table = report::table("t", 0, &[outcome]);
    let line = "queues: 51 jobs more never admitted, not explained\n";
    assert!(table.contains(line), "{table}");
}

#[test]
fn reports_have_all_configurations() {
    let one = run("a,0,100,0,2\na,10,50,0,2\n", &queues([2, 0], &json!({})));
    let mut two = one.clone();
    two.configuration = "<other>".to_owned();
    let outcomes = [one, two];
    let table = report::table("t", 3, &outcomes);
    assert!(
        table.starts_with("t: 2 jobs, 3 incomplete jobs skipped\n"),
        "{table}"
    );
    assert!(table.contains("Not modelled: admission checks"), "{table}");
    let json: Value = serde_json::from_str(&report::json("t", 0, &outcomes).unwrap()).unwrap();
    assert_eq!(json["configurations"][1]["wait"]["max"], 91.0);
    assert_eq!(json["configurations"][0]["queues"][0]["queue"], "ns/a");
    let svg = report::svg("t", &outcomes).unwrap();
    assert!(svg.contains("&lt;other&gt;") && !svg.contains("NaN") && svg.ends_with("</svg>\n"));
}

#[test]
fn replays_are_repeatable() {
    let records: String = (0..200)
        .map(|i| {
            format!(
                "{},{},{},{},{}\n",
                ["a", "b"][i % 2],
                i * 7,
                20 + i * 13 % 90,
                i % 3,
                1 + i % 4
            )
        })
        .collect();
    let preemption = json!({"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"});
    let configuration = queues([4, 4], &preemption);
    let first = run(&records, &configuration);
    assert_eq!(first, run(&records, &configuration));
    assert_eq!(first.finished, 200);
}
