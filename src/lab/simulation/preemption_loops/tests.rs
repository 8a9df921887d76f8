//! Tests of the search for loops on small configurations.

use kueue_lab_engine::EngineConfig;
use kueue_lab_engine::config::FairSharing;
use serde_json::{Value, json};

use super::{LoopExample, LoopKind, LoopSearch};
use crate::replay::ReplayConfiguration;

/// A ClusterQueue of a cohort.
struct Queue {
    name: &'static str,
    quota: i64,
    weight: &'static str,
    within: &'static str,
    reclaim: &'static str,
    strategy: &'static str,
}

impl Queue {
    fn new(name: &'static str, quota: i64, within: &'static str, reclaim: &'static str) -> Self {
        Self {
            name,
            quota,
            weight: "1",
            within,
            reclaim,
            strategy: "BestEffortFIFO",
        }
    }

    fn object(&self) -> Value {
        let quota = json!({"name": "cpu", "nominalQuota": self.quota});
        json!({
            "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue", "metadata": {"name": self.name},
            "spec": {
                "cohortName": "shared", "queueingStrategy": self.strategy, "fairSharing": {"weight": self.weight},
                "preemption": {"withinClusterQueue": self.within, "reclaimWithinCohort": self.reclaim},
                "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [{"name": "f", "resources": [quota]}]}],
            },
        })
    }
}

fn search(fair: bool, queues: &[Queue], quota_of_cohort: i64) -> LoopSearch {
    let flavor = json!({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": "f"}, "spec": {}});
    let quota = json!([{"name": "cpu", "nominalQuota": quota_of_cohort}]);
    let cohort = json!({
        "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Cohort", "metadata": {"name": "shared"},
        "spec": {"resourceGroups": [{"coveredResources": ["cpu"], "flavors": [{"name": "f", "resources": quota}]}]},
    });
    let objects = [flavor, cohort].into_iter();
    LoopSearch {
        configuration: ReplayConfiguration {
            engine: EngineConfig {
                fair_sharing: fair.then(FairSharing::default),
                ..EngineConfig::default()
            },
            objects: objects.chain(queues.iter().map(Queue::object)).collect(),
            ..ReplayConfiguration::default()
        },
        cluster_queues: queues.iter().map(|queue| queue.name.to_owned()).collect(),
        priorities: vec![100, 500],
        partial_admission: false,
    }
}

fn texts(search: &LoopSearch) -> Vec<String> {
    let examples = search.examples();
    let text = |(queue, found): (&String, &LoopExample)| {
        format!("{queue}: {found}: {}", found.repetition())
    };
    examples.iter().map(text).collect()
}

/// The ClusterQueues of the preset `fair-sharing`: all quota is that of the cohort, the weights are 2 and 1.
fn weighted(within: &'static str) -> [Queue; 2] {
    let heavy = Queue::new("heavy", 0, within, "Any");
    let light = Queue::new("light", 0, within, "Any");
    [
        Queue {
            weight: "2",
            ..heavy
        },
        light,
    ]
}

#[test]
fn fair_sharing_loops_with_preemption_in_the_own_queue_only() {
    let found = search(true, &weighted("LowerPriority"), 6).examples();
    assert_eq!(found["light"].kind, LoopKind::FairSharing);
    assert_eq!((found["light"].preemptor, found["light"].target), (2, 0));
    assert_eq!(texts(&search(true, &weighted("Never"), 6)), [""; 0]);
    // Without two priorities nothing is preempted in the own queue.
    let one = LoopSearch {
        priorities: vec![100],
        ..search(true, &weighted("LowerPriority"), 6)
    };
    assert_eq!(texts(&one), [""; 0]);
}

/// Two ClusterQueues with the same quotas in two flavors, whose nodes have labels if `labels`.
fn two_flavors(labels: bool) -> LoopSearch {
    let queues = ["a", "b"].map(|name| Queue::new(name, 8, "LowerPriority", "Any"));
    let mut search = search(true, &queues, 0);
    search.configuration.objects.remove(1);
    for object in &mut search.configuration.objects {
        if object["kind"] == "ClusterQueue" {
            let flavors = &mut object["spec"]["resourceGroups"][0]["flavors"];
            let mut second = flavors[0].clone();
            second["name"] = "g".into();
            *flavors = json!([flavors[0], second]);
        }
    }
    let mut second = search.configuration.objects[0].clone();
    second["metadata"]["name"] = "g".into();
    search.configuration.objects.insert(1, second);
    if labels {
        for flavor in &mut search.configuration.objects[..2] {
            flavor["spec"] = json!({"nodeLabels": {"gpu": flavor["metadata"]["name"]}});
        }
    }
    search
}

#[test]
fn jobs_that_select_the_nodes_of_a_flavor_loop_in_it() {
    let found = texts(&two_flavors(true));
    assert_eq!(found.len(), 2, "{found:?}");
    let selects = "all with the nodeSelector of flavor f: the third preempts the first";
    assert!(
        found.iter().all(|text| text.ends_with(selects)),
        "{found:?}"
    );
    // Without labels a preempted job gets the other flavor.
    assert_eq!(texts(&two_flavors(false)), [""; 0]);
}

#[test]
fn trees_with_many_cluster_queues_are_not_searched() {
    let mut objects = search(true, &weighted("LowerPriority"), 6);
    let more = (0..40).map(|i| {
        let mut queue = Queue::new("", 0, "Never", "Never").object();
        queue["metadata"]["name"] = format!("q{i}").into();
        queue
    });
    let others = more.clone().map(|mut queue| {
        queue["spec"]["cohortName"] = "other".into();
        queue
    });
    objects.configuration.objects.extend(others);
    assert_eq!(objects.examples().len(), 1, "of the tree `shared`");
    objects.configuration.objects.extend(more.map(|mut queue| {
        let name = queue["metadata"]["name"].as_str().unwrap_or_default();
        queue["metadata"]["name"] = format!("{name}-shared").into();
        queue
    }));
    assert_eq!(texts(&objects), [""; 0]);
}

#[test]
fn partial_admission_loops_with_reclamation() {
    let queues = [
        Queue::new("lends", 4, "Never", "Any"),
        Queue::new("borrows", 4, "Never", "Never"),
    ];
    let without = search(false, &queues, 0);
    assert_eq!(texts(&without), [""; 0]);
    let with = LoopSearch {
        partial_admission: true,
        ..without
    };
    let found = with.examples();
    assert_eq!(found.keys().collect::<Vec<_>>(), ["lends"]);
    assert_eq!(
        texts(&with),
        [
            "lends: 5 cpu in borrows with priority 500, then 4 to 5 pods of 1 cpu in lends with priority 100: the second preempts the first"
        ]
    );
    assert_eq!(found["lends"].kind, LoopKind::PartialAdmission);
    assert_eq!((found["lends"].preemptor, found["lends"].target), (1, 0));
}

#[test]
fn reclamation_loops_with_preemption_in_the_own_queue_by_a_job_that_borrows() {
    let queues = |within, reclaim, strategy| {
        let borrows = Queue::new("borrows", 2, "Never", "Never");
        [
            Queue::new("owner", 4, within, reclaim),
            Queue {
                strategy,
                ..borrows
            },
        ]
    };
    let loops = search(false, &queues("LowerPriority", "Any", "StrictFIFO"), 0);
    let found = loops.examples();
    assert_eq!(found.keys().collect::<Vec<_>>(), ["owner"]);
    assert_eq!(found["owner"].kind, LoopKind::WithinClusterQueue);
    assert_eq!((found["owner"].preemptor, found["owner"].target), (2, 1));
    for (within, reclaim, strategy) in [
        ("Never", "Any", "StrictFIFO"),
        ("LowerPriority", "LowerPriority", "StrictFIFO"),
        ("LowerPriority", "Any", "BestEffortFIFO"),
    ] {
        let search = search(false, &queues(within, reclaim, strategy), 0);
        assert_eq!(texts(&search), [""; 0]);
    }
    // Without two priorities nothing is preempted in the own queue.
    let one = LoopSearch {
        priorities: vec![100],
        ..loops
    };
    assert_eq!(texts(&one), [""; 0]);
}
