//! The answers about pending workloads on random states, compared with what then happens.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod apply_change;
mod check_answers;
mod engine_state;
mod lab_answers;
#[allow(dead_code, reason = "shared with tests/cluster_copies")]
#[path = "../cluster_copies/random_cluster.rs"]
mod random_cluster;
mod random_state;
mod state_objects;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use check_answers::{WrongAnswer, check_answers};
use engine_state::EngineState;
use random_state::{RandomState, random_state};
use state_objects::{cluster_queue, fixed_objects};

/// The number of random states.
const STATES: &str = "KUEUE_LAB_ANSWERS";
/// The seed of the first state; each further one is that of the next number.
const FIRST: &str = "KUEUE_LAB_ANSWERS_SEED";

/// Seeds of states that had wrong answers.
const REGRESSIONS: [u64; 7] = [302, 482, 825, 3_250, 3_730, 4_597, 6_344];

fn number(variable: &str, default: u64) -> u64 {
    let given = std::env::var(variable).ok();
    given.map_or(default, |given| given.parse().unwrap())
}

/// The state of a seed.
fn tree(seed: u64) -> impl ValueTree<Value = RandomState> {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let config = Config {
        failure_persistence: None,
        ..Config::default()
    };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(config, rng);
    random_state().new_tree(&mut runner).unwrap()
}

fn wrong_answer(state: &RandomState) -> Option<WrongAnswer> {
    let engine = EngineState::of(state)?;
    check_answers(&engine).err()
}

/// The smallest state found with a wrong answer of the same kind.
fn shrunk(
    mut tree: impl ValueTree<Value = RandomState>,
    mut wrong: WrongAnswer,
) -> (RandomState, WrongAnswer) {
    let mut smallest = tree.current();
    for _ in 0..400 {
        let advanced = match wrong_answer(&tree.current()).filter(|found| found.kind == wrong.kind)
        {
            Some(found) => {
                smallest = tree.current();
                wrong = found;
                tree.simplify()
            }
            None => tree.complicate(),
        };
        if !advanced {
            break;
        }
    }
    (smallest, wrong)
}

/// The state as YAML, and the steps.
fn described(state: &RandomState) -> String {
    let queues = state.queues.iter().enumerate();
    let queues = queues.map(|(index, queue)| cluster_queue(index, queue));
    let objects = fixed_objects(state).into_iter().chain(queues);
    let objects: Vec<String> = objects.map(|object| object.to_string()).collect();
    let steps: Vec<String> = state
        .steps
        .iter()
        .map(|step| format!("# {step:?}"))
        .collect();
    format!(
        "# fair sharing: {}, blockAdmission: {}\n{}\n{}",
        state.fair,
        state.pods_ready,
        objects.join("\n---\n"),
        steps.join("\n")
    )
}

/// What the engine says about pending workloads comes true: verdicts, missing amounts, preemption targets and
/// candidates, and the changes that admit.
#[test]
fn the_answers_of_the_engine_come_true() {
    let (first, states) = (number(FIRST, 1), number(STATES, 300));
    let mut seeds: Vec<u64> = (first..first + states).collect();
    if std::env::var_os(STATES).is_none() {
        seeds.extend(REGRESSIONS);
    }
    let next = AtomicUsize::new(0);
    let found: Mutex<Vec<(u64, WrongAnswer)>> = Mutex::new(Vec::new());
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(&seed) = seeds.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Some(wrong) = wrong_answer(&tree(seed).current()) {
                        found.lock().unwrap().push((seed, wrong));
                    }
                }
            });
        }
    });
    let mut found = found.into_inner().unwrap();
    found.sort_by_key(|(seed, _)| *seed);
    let mut kinds: Vec<&str> = Vec::new();
    for (seed, wrong) in &found {
        eprintln!("seed {seed}: {}: {}", wrong.kind, wrong.text);
    }
    for (seed, wrong) in &found {
        if kinds.contains(&wrong.kind) {
            continue;
        }
        kinds.push(wrong.kind);
        let (state, wrong) = shrunk(tree(*seed), wrong.clone());
        eprintln!(
            "\nseed {seed}, shrunk: {}: {}\n{}",
            wrong.kind,
            wrong.text,
            described(&state)
        );
    }
    assert!(
        found.is_empty(),
        "{} of {} states have a wrong answer",
        found.len(),
        seeds.len()
    );
}
