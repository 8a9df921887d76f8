use super::*;

fn single_resources(text: &str) -> TaskResources {
    let mut task = Task::parse(text).unwrap();
    assert_eq!(task.resources.len(), 1);
    task.resources.remove(0)
}

#[test]
fn priority_demo_task() {
    let task = Task::parse(
        "name: job1\nresources:\n  cpus: 6\n  cloud: kubernetes\n  labels:\n    kueue.x-k8s.io/queue-name: user-queue\n    kueue.x-k8s.io/priority-class: low-priority\nenvs: {A: \"1\", B: }\nrun: |\n  echo hello; sleep 600\n",
    )
    .unwrap();
    assert_eq!((task.name.as_deref(), task.num_nodes), (Some("job1"), 1));
    assert_eq!(task.resources[0].cpus, Some(6.0));
    assert_eq!(
        task.resources[0].labels["kueue.x-k8s.io/priority-class"],
        "low-priority"
    );
    assert_eq!(task.run.as_deref(), Some("echo hello; sleep 600\n"));
}

#[test]
fn amounts_in_every_spelling() {
    let resources = single_resources(
        "resources: {cpus: 6+, memory: 16GB+, disk_size: 1TB, accelerators: H100:8}",
    );
    assert_eq!(resources.cpus, Some(6.0));
    assert_eq!(resources.memory, Some(Memory::Gigabytes(16.0)));
    assert_eq!(resources.disk_size, Some(1024));
    let gpu = resources.accelerator.unwrap();
    assert_eq!((gpu.name.as_str(), gpu.count), ("H100", 8));
    assert_eq!(
        single_resources("resources: {memory: 4x}").memory,
        Some(Memory::PerCpu(4.0))
    );
    assert_eq!(
        single_resources("resources: {accelerators: {A100: 0.5}}")
            .accelerator
            .unwrap()
            .count,
        1
    );
    let typed = single_resources("resources: {instance_type: 4CPU--16GB--H100:2}");
    assert_eq!(
        (typed.cpus, typed.accelerator.unwrap().count),
        (Some(4.0), 2)
    );
}

#[test]
fn alternatives_keep_their_order_and_inherit() {
    let task = Task::parse(
        "resources:\n  cpus: 4\n  labels: {a: b}\n  any_of:\n  - accelerators: [H100:1, A100:1]\n  - {accelerators: L4, cpus: 2, labels: {c: d}}\n",
    )
    .unwrap();
    let names: Vec<_> = task
        .resources
        .iter()
        .map(|a| a.accelerator.clone().unwrap().name)
        .collect();
    assert_eq!(names, ["H100", "A100", "L4"]);
    assert_eq!(task.resources[0].cpus, Some(4.0));
    assert_eq!(
        (task.resources[2].cpus, task.resources[2].labels.len()),
        (Some(2.0), 2)
    );
    assert_eq!(
        Task::parse("resources: {accelerators: {A100:8, H100:8}}")
            .unwrap()
            .resources
            .len(),
        2
    );
}

#[test]
fn recovery_settings() {
    assert_eq!(
        single_resources("resources: {job_recovery: failover}")
            .recovery
            .strategy,
        RecoveryStrategy::Failover
    );
    let recovery = single_resources(
        "resources: {job_recovery: {max_restarts_on_errors: 3, recover_on_exit_codes: [33, 34]}}",
    )
    .recovery;
    assert_eq!(recovery.max_restarts_on_errors, 3);
    assert_eq!(recovery.recover_on_exit_codes, [33, 34]);
    assert_eq!(recovery.strategy, RecoveryStrategy::EagerNextRegion);
}

#[test]
fn errors_have_a_position() {
    for (text, expected) in [
        (
            "nmae: a\n",
            r#"1:1: unknown field "nmae"; did you mean "name"?"#,
        ),
        (
            "resources:\n  cpu: 6\n",
            r#"2:3: unknown field "cpu"; did you mean "cpus"?"#,
        ),
        (
            "resources:\n  cpus: many\n",
            r#"2:9: cpus is a number above 0, or one with a + after it; found "many""#,
        ),
        (
            "resources:\n  cpus: -1\n",
            r#"2:9: cpus is a number above 0"#,
        ),
        (
            "resources:\n  memory: 6Gb/s\n",
            "2:11: memory is a number of GB above 0",
        ),
        (
            "resources:\n  cloud: aws\n",
            "2:10: the lab has no aws, only kubernetes; write infra: k8s",
        ),
        (
            "resources:\n  priority: 5000\n",
            "2:13: priority orders jobs in SkyPilot's own queue",
        ),
        (
            "resources:\n  labels:\n    a: 1\n",
            "3:8: expected a string, found the number 1; put quotes around it",
        ),
        (
            "resources:\n  accelerators: H100:x\n",
            r#"2:17: an accelerator is NAME or NAME:COUNT; found "H100:x""#,
        ),
        (
            "resources:\n  accelerators: 8\n",
            "2:17: accelerators are NAME:COUNT, a list",
        ),
        (
            "resources:\n  job_recovery: EAGER\n",
            "2:17: unknown recovery strategy",
        ),
        (
            "num_nodes: 0\n",
            "1:12: num_nodes must be from 1 to 1024, not 0",
        ),
        (
            "num_nodes: two\n",
            r#"1:12: expected a whole number, not negative, found the string "two""#,
        ),
        (
            "name: a\nvolumes: {/x: y}\n",
            r#"2:1: the lab does not emulate "volumes"; remove it"#,
        ),
        (
            "envs: {1A: x}\n",
            "1:8: \"1A\" is not a valid name of an environment variable",
        ),
        ("envs: {A: 1}\n", "1:11: the value of A must be a string"),
        (
            "config: {kubernetes: {kueue: {queue: a}}}\n",
            "1:31: unknown field \"queue\"",
        ),
        (
            "name: a\n---\nname: b\n",
            "3:1: a file of several tasks is a pipeline",
        ),
        ("", "1:1: the file has no task"),
        ("- a\n", "1:1: expected a mapping, found a list"),
        (
            "resources: {any_of: [{any_of: []}]}\n",
            "1:22: alternatives cannot be nested",
        ),
    ] {
        let found = Task::parse(text).expect_err(text).to_string();
        assert!(
            found.starts_with(expected),
            "{text:?}\n  {found}\n  {expected}"
        );
    }
}
