//! A presets folder on the embedded API: every way people save files, and every way files are wrong.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use k8s_openapi::api::scheduling::v1::PriorityClass;
use kube::api::{DeleteParams, Patch, PatchParams};
use kube::{Api, Client};
use kueue_lab_api::config::FeatureGates;
use kueue_lab_apiserver::ApiServer;
use kueue_lab_clock::Clock;
use kueue_lab_entropy::Entropy;
use kueue_lab_presets::{Presets, PresetsConfig, PresetsState, StartError, SyncStatus};
use serde_json::json;

struct PresetsFixture {
    root: tempfile::TempDir,
    client: Client,
}

impl PresetsFixture {
    fn new(files: &[(&str, &str)]) -> Self {
        let server = ApiServer::builder(Clock::real(), Entropy::seeded(1)).build();
        let world = Self {
            root: tempfile::tempdir().unwrap(),
            client: server.client(),
        };
        std::fs::create_dir(world.folder()).unwrap();
        for (file, text) in files {
            world.write(file, text);
        }
        world
    }

    fn folder(&self) -> PathBuf {
        self.root.path().join("presets")
    }

    fn path(&self, file: &str) -> PathBuf {
        self.folder().join(file)
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.path(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    async fn try_start(&self, active: &str) -> Result<Presets, StartError> {
        let config = PresetsConfig {
            folder: self.folder(),
            active: active.into(),
            watch: true,
            gates: FeatureGates::default(),
        };
        Presets::start(self.client.clone(), Clock::real(), config).await
    }

    async fn start(&self, active: &str) -> Presets {
        self.try_start(active).await.unwrap()
    }

    fn classes(&self) -> Api<PriorityClass> {
        Api::all(self.client.clone())
    }

    /// The value of a priority class, or `None` where there is none.
    async fn value(&self, name: &str) -> Option<i32> {
        self.classes().get_opt(name).await.unwrap()?.value
    }
}

async fn until(
    presets: &Presets,
    what: &str,
    wanted: impl Fn(&PresetsState) -> bool,
) -> Arc<PresetsState> {
    let mut changes = presets.changes();
    let reached = async { changes.wait_for(|s| wanted(s)).await.unwrap().clone() };
    let limit = Duration::from_secs(60);
    tokio::time::timeout(limit, reached)
        .await
        .unwrap_or_else(|_| panic!("never {what}: {:?}", presets.state()))
}

fn class(name: &str, value: i32) -> String {
    format!(
        "---\napiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata:\n  name: {name}\nvalue: {value}\n"
    )
}

#[tokio::test]
async fn a_save_is_applied_and_immutable_objects_are_recreated() {
    let world = PresetsFixture::new(&[("p/a.yaml", &class("gold", 1))]);
    let presets = world.start("p").await;
    assert_eq!(world.value("gold").await, Some(1));
    let mut slowest = Duration::ZERO;
    for value in 2..12 {
        let begun = Instant::now();
        world.write("p/a.yaml", &class("gold", value));
        let revision = u64::try_from(value).unwrap();
        until(&presets, "applied", |s| s.revision == revision).await;
        slowest = slowest.max(begun.elapsed());
        // PriorityClass.value cannot change: the object is made anew.
        assert_eq!(world.value("gold").await, Some(value));
    }
    println!("slowest of 10 saves: {slowest:?}");
    presets.shutdown().await;
}

#[tokio::test]
async fn editors_that_rename_a_temporary_file_are_followed() {
    let world = PresetsFixture::new(&[("p/a.yaml", &class("gold", 1))]);
    let presets = world.start("p").await;
    for value in [2, 3] {
        world.write("p/.a.yaml.swp", &class("gold", value));
        std::fs::rename(world.path("p/.a.yaml.swp"), world.path("p/a.yaml")).unwrap();
        let revision = u64::try_from(value).unwrap();
        until(&presets, "applied", |s| s.revision == revision).await;
        assert_eq!(world.value("gold").await, Some(value));
    }
}

#[tokio::test]
async fn a_burst_of_saves_ends_at_the_last() {
    let world = PresetsFixture::new(&[("p/a.yaml", &class("gold", 0))]);
    let presets = world.start("p").await;
    for value in 1..=100 {
        world.write("p/a.yaml", &class("gold", value));
        world.write("p/b.yaml", &class("silver", value));
    }
    tokio::time::timeout(Duration::from_secs(60), async {
        while world.value("gold").await != Some(100) || world.value("silver").await != Some(100) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await
    .unwrap();
    let revisions = presets.state().revision;
    assert!(revisions < 100, "{revisions} revisions for one burst");
}

#[tokio::test]
async fn an_invalid_file_changes_nothing_and_is_reported_with_its_position() {
    let good = format!("{}{}", class("gold", 1), class("silver", 1));
    let world = PresetsFixture::new(&[("p/a.yaml", &good), ("p/b.yaml", &class("bronze", 1))]);
    let presets = world.start("p").await;
    let file = world.path("p/a.yaml").display().to_string();
    for (text, at, says) in [
        ("a: [\n".to_owned(), "1:4", "unclosed bracket"),
        (
            class("gold", 5).replace("kind: PriorityClass", "kind: PriorityClas"),
            "3:1",
            "did you mean \"PriorityClass\"?",
        ),
        (
            class("gold", 5).replace("value:", "valeu:"),
            "6:1",
            "unknown field \"valeu\"",
        ),
        (
            class("gold", 5).replace("metadata:\n  name: gold", "metadata: {}"),
            "4:1",
            "metadata.name",
        ),
        (
            class("gold", 5).replace("value: 5", "value: lots"),
            "6:1",
            "",
        ),
        (
            format!("{}{}", class("gold", 5), class("gold", 6)),
            "11:3",
            "defined twice",
        ),
        (class("gold", 2_000_000_000), "6:1", "value"),
        (
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: nowhere}\n".into(),
            "3:21",
            "there is no namespace \"nowhere\"",
        ),
    ] {
        world.write("p/a.yaml", &text);
        let state = until(&presets, &format!("refused: {text}"), |s| {
            s.sync_status == SyncStatus::LastGood
                && s.errors.iter().any(|e| e.to_string().contains(says))
        })
        .await;
        let said = state.errors[0].to_string();
        assert!(
            said.starts_with(&format!("{file}:{at}: ")),
            "{said}\n{text}"
        );
        for name in ["gold", "silver", "bronze"] {
            assert_eq!(world.value(name).await, Some(1), "{said}");
        }
        // Saved right again, it is in force again; one value differs so that something is applied.
        world.write("p/a.yaml", &format!("{good}{}", class("x", 1)));
        until(&presets, "mended", |s| {
            s.sync_status == SyncStatus::Synced && s.errors.is_empty()
        })
        .await;
        world.write("p/a.yaml", &good);
        until(&presets, "as before", |s| s.objects == 3).await;
    }
}

#[tokio::test]
async fn added_and_removed_files_add_and_prune_their_objects() {
    let world = PresetsFixture::new(&[("p/a.yaml", &class("gold", 1))]);
    let presets = world.start("p").await;
    world.write("p/b.yaml", &class("silver", 1));
    until(&presets, "added", |s| s.objects == 2).await;
    assert_eq!(world.value("silver").await, Some(1));
    std::fs::remove_file(world.path("p/b.yaml")).unwrap();
    let state = until(&presets, "removed", |s| s.objects == 1).await;
    assert_eq!(state.summary, "1 removed, 1 unchanged");
    assert_eq!(world.value("silver").await, None);
    // Without any file the folder is more likely on the move than meant to be empty.
    std::fs::remove_file(world.path("p/a.yaml")).unwrap();
    let state = until(&presets, "kept", |s| s.sync_status == SyncStatus::LastGood).await;
    assert!(
        state.errors[0].message.contains("holds no YAML file"),
        "{:?}",
        state.errors
    );
    assert_eq!(world.value("gold").await, Some(1));
}

#[tokio::test]
async fn a_folder_that_is_replaced_is_followed() {
    let world = PresetsFixture::new(&[("p/a.yaml", &class("gold", 1))]);
    let presets = world.start("p").await;
    std::fs::rename(world.folder(), world.root.path().join("old")).unwrap();
    until(&presets, "kept", |s| s.sync_status == SyncStatus::LastGood).await;
    world.write("p/a.yaml", &class("gold", 2));
    until(&presets, "replaced", |s| {
        s.sync_status == SyncStatus::Synced
    })
    .await;
    assert_eq!(world.value("gold").await, Some(2));
    world.write("p/a.yaml", &class("gold", 3));
    until(&presets, "edited after that", |s| s.revision == 3).await;
}

#[tokio::test]
async fn a_link_is_followed_to_where_the_file_is() {
    let world = PresetsFixture::new(&[]);
    let elsewhere = world.root.path().join("elsewhere.yaml");
    std::fs::write(&elsewhere, class("gold", 1)).unwrap();
    std::fs::create_dir(world.path("p")).unwrap();
    std::os::unix::fs::symlink(&elsewhere, world.path("p/a.yaml")).unwrap();
    let presets = world.start("p").await;
    std::fs::write(&elsewhere, class("gold", 2)).unwrap();
    until(&presets, "edited", |s| s.revision == 2).await;
    assert_eq!(world.value("gold").await, Some(2));
}

#[tokio::test]
async fn switching_prunes_objects_of_the_old_preset() {
    let world = PresetsFixture::new(&[
        (
            "one/a.yaml",
            &format!("# The first.\n{}{}", class("gold", 1), class("silver", 1)),
        ),
        (
            "two/a.yaml",
            &format!("# The second.\n{}{}", class("gold", 1), class("bronze", 1)),
        ),
        ("wrong/a.yaml", "kind: X\n"),
    ]);
    let presets = world.start("one").await;
    let uid = || async { world.classes().get("gold").await.unwrap().metadata.uid };
    let before = uid().await;
    presets.switch("two").await.unwrap();
    let state = presets.state();
    assert_eq!((state.active.as_str(), state.objects), ("two", 2));
    let abouts: Vec<_> = state
        .presets
        .iter()
        .map(|p| (p.name.as_str(), p.description.as_str()))
        .collect();
    assert_eq!(
        abouts,
        [("one", "The first."), ("two", "The second."), ("wrong", "")]
    );
    assert_eq!(
        (world.value("silver").await, world.value("bronze").await),
        (None, Some(1))
    );
    assert_eq!(before, uid().await, "what both have stays the same object");
    let refused = presets.switch("wrong").await.unwrap_err();
    assert!(
        refused[0]
            .to_string()
            .contains("apiVersion: Required value"),
        "{refused:?}"
    );
    let missing = presets.switch("nowhere").await.unwrap_err();
    assert!(
        missing[0].message.ends_with("there are one, two, wrong"),
        "{missing:?}"
    );
    assert_eq!(presets.state().active, "two");
    // The new one's files are followed now.
    world.write("two/a.yaml", &class("bronze", 7));
    until(&presets, "edited", |s| s.objects == 1).await;
    assert_eq!(
        (world.value("gold").await, world.value("bronze").await),
        (None, Some(7))
    );
}

#[tokio::test]
async fn unmanaged_objects_are_neither_overwritten_nor_removed() {
    let world = PresetsFixture::new(&[("p/a.yaml", &class("mine", 1))]);
    let theirs: PriorityClass =
        serde_json::from_value(json!({"metadata": {"name": "theirs"}, "value": 9})).unwrap();
    world
        .classes()
        .create(&Default::default(), &theirs)
        .await
        .unwrap();
    let presets = world.start("p").await;
    world.write("p/b.yaml", &class("theirs", 1));
    let state = until(&presets, "refused", |s| {
        s.sync_status == SyncStatus::LastGood
    })
    .await;
    assert!(
        state.errors[0].to_string().contains("PriorityClass/theirs"),
        "{:?}",
        state.errors
    );
    assert_eq!(world.value("theirs").await, Some(9));
    std::fs::remove_file(world.path("p/b.yaml")).unwrap();
    until(&presets, "mended", |s| s.sync_status == SyncStatus::Synced).await;
    assert_eq!(world.value("theirs").await, Some(9));
}

#[tokio::test]
async fn a_namespace_and_what_is_in_it_come_together() {
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m, namespace: team}\n";
    let space = "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: team}\n";
    let world = PresetsFixture::new(&[("p/a.yaml", &format!("{map}{space}"))]);
    let presets = world.start("p").await;
    let maps: Api<ConfigMap> = Api::namespaced(world.client.clone(), "team");
    assert!(maps.get_opt("m").await.unwrap().is_some());
    world.write("p/a.yaml", &class("gold", 1));
    until(&presets, "gone", |s| s.objects == 1).await;
    let spaces: Api<Namespace> = Api::all(world.client.clone());
    let left = spaces.get_opt("team").await.unwrap();
    assert!(left.is_none_or(|n| n.metadata.deletion_timestamp.is_some()));
}

#[tokio::test]
async fn an_edit_by_hand_is_kept_until_the_file_says_otherwise() {
    let world = PresetsFixture::new(&[("p/a.yaml", &class("gold", 1))]);
    let presets = world.start("p").await;
    let by_hand = Patch::Merge(json!({"description": "by hand"}));
    world
        .classes()
        .patch("gold", &PatchParams::default(), &by_hand)
        .await
        .unwrap();
    world.write("p/b.yaml", &class("silver", 1));
    until(&presets, "added", |s| s.objects == 2).await;
    let gold = world.classes().get("gold").await.unwrap();
    assert_eq!(gold.description.as_deref(), Some("by hand"));
    world.write(
        "p/a.yaml",
        &format!("{}description: from the file\n", class("gold", 1)),
    );
    until(&presets, "edited", |s| s.revision == 3).await;
    let gold = world.classes().get("gold").await.unwrap();
    assert_eq!(gold.description.as_deref(), Some("from the file"));
}

#[tokio::test]
async fn a_restarted_lab_prunes_what_left_the_files() {
    let world = PresetsFixture::new(&[
        ("p/a.yaml", &class("gold", 1)),
        ("p/b.yaml", &class("silver", 1)),
    ]);
    world.start("p").await.shutdown().await;
    std::fs::remove_file(world.path("p/b.yaml")).unwrap();
    let presets = world.start("p").await;
    assert_eq!(
        (world.value("gold").await, world.value("silver").await),
        (Some(1), None)
    );
    assert_eq!(presets.state().objects, 1);
}

#[tokio::test]
async fn an_object_deleted_by_hand_comes_back_with_the_next_change_of_its_file() {
    let world = PresetsFixture::new(&[("p/a.yaml", &class("gold", 1))]);
    let presets = world.start("p").await;
    world
        .classes()
        .delete("gold", &DeleteParams::default())
        .await
        .unwrap();
    world.write("p/a.yaml", &class("gold", 2));
    until(&presets, "made again", |s| s.revision == 2).await;
    assert_eq!(world.value("gold").await, Some(2));
}

#[tokio::test]
async fn a_lab_does_not_start_on_a_missing_or_invalid_preset() {
    let world = PresetsFixture::new(&[("p/a.yaml", "kind: X\n")]);
    let said = |e: StartError| e.to_string();
    let wrong = said(world.try_start("p").await.err().unwrap());
    assert!(
        wrong.contains("p/a.yaml:1:1: X: apiVersion: Required value"),
        "{wrong}"
    );
    let missing = said(world.try_start("q").await.err().unwrap());
    assert!(
        missing.starts_with("there is no preset \"q\" in "),
        "{missing}"
    );
    assert!(Path::new(&world.folder()).is_dir());
}
