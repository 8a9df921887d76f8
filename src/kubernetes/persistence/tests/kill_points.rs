//! Kills at random points: what was acknowledged is there after a start, what was rejected is not.

use std::sync::Arc;

use parking_lot::Mutex;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::json;

use super::faulty_disk::{Fault, FaultyDisk};
use super::write_model::{Key, Outcome, Write, WriteModel};
use crate::object_database::ObjectDatabase;
use kueue_lab_apiserver::storage::{
    CommitError, Object, PendingObject, PersistenceError, ResourceStorage, StorageLimits, Store,
};
use kueue_lab_clock::Clock;

const RESOURCES: [&str; 2] = ["/pods", "kueue.x-k8s.io/workloads"];
const KEYS: u64 = 6;
/// Clients that write at the same time.
const CLIENTS: u64 = 3;
const WRITES: usize = 8;
/// A disk is used for so many starts.
const STARTS: u64 = 25;

/// The number of kill points.
fn kill_points() -> u64 {
    let count = std::env::var("KUEUE_LAB_KILL_POINTS").ok();
    count.map_or(1000, |count| count.parse().unwrap())
}

#[derive(Debug, Default)]
struct Totals {
    kills: u64,
    acknowledged: usize,
    rejected: usize,
    unknown: usize,
}

#[test]
fn acknowledged_writes_survive_kills_at_random_points() {
    let mut totals = Totals::default();
    let mut seed = 0;
    while totals.kills < kill_points() {
        seed += 1;
        use_disk(seed, &mut totals);
    }
    // The test has seen all outcomes.
    assert!(
        totals.acknowledged > 1000.min(kill_points() as usize),
        "{totals:?}"
    );
    assert!(totals.rejected > 0 && totals.unknown > 0, "{totals:?}");
}

/// Starts on the same disk again and again.
fn use_disk(seed: u64, totals: &mut Totals) {
    let random = &mut ChaCha8Rng::seed_from_u64(seed);
    let disk = FaultyDisk::default();
    let model = Arc::new(Mutex::new(WriteModel::default()));
    for _ in 0..STARTS {
        // A kill may also come while the database is opened.
        let opened = ObjectDatabase::open(Box::new(disk.clone()));
        match opened {
            Ok((database, state, _)) => {
                model.lock().check(&state);
                plan_fault(&disk, random);
                let store = Store::durable(
                    Clock::real(),
                    StorageLimits::default(),
                    state,
                    Box::new(database),
                );
                write_until_killed(&store.unwrap(), &disk, &model, random);
            }
            Err(error) => assert!(disk.is_dead(), "seed {seed}: {error}"),
        }
        for write in model.lock().writes.values() {
            match write.outcome {
                Outcome::Acknowledged => totals.acknowledged += 1,
                Outcome::Rejected => totals.rejected += 1,
                Outcome::Unknown => totals.unknown += 1,
            }
        }
        totals.kills += u64::from(disk.is_dead());
        let power_loss = random.random();
        disk.restart(random, power_loss);
        if random.random_ratio(1, 4) {
            disk.fail_after(random.random_range(0..40), Fault::Kill);
        }
    }
    disk.restart(random, false);
    let (_, state, _) = ObjectDatabase::open(Box::new(disk)).unwrap();
    model.lock().check(&state);
}

fn plan_fault(disk: &FaultyDisk, random: &mut ChaCha8Rng) {
    let calls = random.random_range(0..120);
    match random.random_range(0..6) {
        0 => disk.fail_after(calls, Fault::Once),
        1 => {
            disk.set_capacity(Some(disk.size() + random.random_range(0..8192)));
            disk.set_reserve(random.random_range(0..2) << 20);
        }
        _ => disk.fail_after(calls, Fault::Kill),
    }
}

fn write_until_killed(
    store: &Store,
    disk: &FaultyDisk,
    model: &Arc<Mutex<WriteModel>>,
    random: &mut ChaCha8Rng,
) {
    let storages = RESOURCES.map(|resource| store.new_resource_storage(resource));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        let clients = (0..CLIENTS).map(|_| {
            let client = Client {
                store: store.clone(),
                storages: storages.clone(),
                disk: disk.clone(),
                model: model.clone(),
                random: ChaCha8Rng::seed_from_u64(random.random()),
            };
            client.run()
        });
        let running: tokio::task::JoinSet<()> = clients.collect();
        running.join_all().await;
    });
    store.close();
}

struct Client {
    store: Store,
    storages: [Arc<ResourceStorage>; 2],
    disk: FaultyDisk,
    model: Arc<Mutex<WriteModel>>,
    random: ChaCha8Rng,
}

impl Client {
    async fn run(mut self) {
        for _ in 0..WRITES {
            let storage = self.storages[self.random.random_range(0..2)].clone();
            let name = format!("default/o{}", self.random.random_range(0..KEYS));
            let (value, removes) = (self.random.random(), self.random.random_ratio(1, 4));
            let key: Key = (storage.resource().to_string(), name.clone());
            let (store, model) = (self.store.clone(), self.model.clone());
            let mut revision = None;
            let written = self.store.durably(async {
                let removes = removes && storage.get(&name).is_some();
                let object = commit(&store, &storage, &name, value, removes)?;
                let write = Write {
                    key,
                    value: (!removes).then_some(value),
                    outcome: Outcome::Unknown,
                };
                model.lock().writes.insert(object.revision(), write);
                revision = Some(object.revision());
                Ok::<_, CommitError>(())
            });
            let acknowledged: Result<_, PersistenceError> = written.await;
            let outcome = match acknowledged {
                Ok(_) => Outcome::Acknowledged,
                // A killed process sends no response, so the outcome is not known.
                Err(_) if self.disk.is_dead() => Outcome::Unknown,
                Err(_) => Outcome::Rejected,
            };
            if let Some(revision) = revision {
                model_outcome(&self.model, revision, outcome);
            }
            if let Some(object) = self.store.durable_object(&storage, &name) {
                assert!(object.revision() <= self.store.durable_revision());
            }
        }
    }
}

fn model_outcome(model: &Mutex<WriteModel>, revision: u64, outcome: Outcome) {
    let mut model = model.lock();
    model.writes.get_mut(&revision).unwrap().outcome = outcome;
}

fn commit(
    store: &Store,
    storage: &Arc<ResourceStorage>,
    key: &str,
    value: u64,
    removes: bool,
) -> Result<Arc<Object>, CommitError> {
    let filler = "x".repeat((value % 3000) as usize);
    let object =
        json!({"kind": "Thing", "metadata": {"name": key}, "value": value, "filler": filler});
    let pending = PendingObject::new(object).unwrap();
    match storage.get(key) {
        None => store.create(storage, key, pending),
        Some(present) if removes => store.remove(storage, key, present.revision(), pending),
        Some(present) => store.replace(storage, key, present.revision(), pending),
    }
}
