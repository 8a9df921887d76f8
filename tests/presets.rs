//! A presets folder on the embedded API: the ways in which editors save files, and invalid files.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use futures::future::BoxFuture;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use k8s_openapi::api::scheduling::v1::PriorityClass;
use kube::api::{DeleteParams, Patch, PatchParams};
use kube::{Api, Client};
use kueue_lab_apiserver::ApiServer;
use kueue_lab_clock::Clock;
use kueue_lab_clock::Entropy;
use kueue_lab_presets::{
    ApplyOptions, BaseConfiguration, PresetSettings, Presets, PresetsConfig, PresetsState,
    ReviewError, ReviewedSave, SaveReview, SavedPreset, StartError, SyncStatus,
};
use serde_json::json;

struct PresetsFixture {
    root: tempfile::TempDir,
    client: Client,
}

impl PresetsFixture {
    fn new(files: &[(&str, &str)]) -> Self {
        let server = ApiServer::builder(Clock::real(), Entropy::seeded(1)).build();
        let fixture = Self {
            root: tempfile::tempdir().unwrap(),
            client: server.client(),
        };
        std::fs::create_dir(fixture.folder()).unwrap();
        for (file, text) in files {
            fixture.write(file, text);
        }
        fixture
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

    fn config(&self, active: Option<&str>) -> PresetsConfig {
        PresetsConfig {
            folder: self.folder(),
            active: active.map(str::to_owned),
            active_must_be_valid: true,
            watch: true,
            lists_all: true,
            base: BaseConfiguration::default(),
            lab: None,
            review: None,
            applied_settings: PresetSettings::default(),
            adapt: None,
            apply: ApplyOptions::default(),
            snapshot: None,
        }
    }

    async fn try_start(&self, active: Option<&str>) -> Result<Presets, StartError> {
        self.start_with(self.config(active)).await
    }

    async fn start_with(&self, config: PresetsConfig) -> Result<Presets, StartError> {
        Presets::start(self.client.clone(), Clock::real(), config).await
    }

    async fn start(&self, active: &str) -> Presets {
        self.try_start(Some(active)).await.unwrap()
    }

    fn classes(&self) -> Api<PriorityClass> {
        Api::all(self.client.clone())
    }

    /// The value of a PriorityClass, or `None` if it does not exist.
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
        .unwrap_or_else(|_| panic!("timed out waiting for {what}: {:?}", presets.state()))
}

fn class(name: &str, value: i32) -> String {
    format!(
        "---\napiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata:\n  name: {name}\nvalue: {value}\n"
    )
}

#[tokio::test]
async fn a_change_is_applied_and_immutable_objects_are_recreated() {
    let fixture = PresetsFixture::new(&[("p/a.yaml", &class("gold", 1))]);
    let presets = fixture.start("p").await;
    assert_eq!(fixture.value("gold").await, Some(1));
    let mut slowest = Duration::ZERO;
    for value in 2..12 {
        let started = Instant::now();
        fixture.write("p/a.yaml", &class("gold", value));
        let revision = u64::try_from(value).unwrap();
        until(&presets, "applied", |s| s.revision == revision).await;
        slowest = slowest.max(started.elapsed());
        // PriorityClass.value is immutable: the object is recreated.
        assert_eq!(fixture.value("gold").await, Some(value));
    }
    println!("slowest of 10 saves: {slowest:?}");
    presets.shutdown().await;
}

#[tokio::test]
async fn an_invalid_preset_is_applied_when_it_is_corrected() {
    let fixture = PresetsFixture::new(&[("p/a.yaml", "kind: PriorityClass\n")]);
    let config = PresetsConfig {
        active_must_be_valid: false,
        ..fixture.config(Some("p"))
    };
    let presets = fixture.start_with(config).await.unwrap();
    let state = presets.state();
    assert_eq!(
        (state.sync_status, state.revision),
        (SyncStatus::NotApplied, 0)
    );
    assert!(!state.errors.is_empty());
    fixture.write("p/a.yaml", &class("gold", 3));
    let state = until(&presets, "applied", |s| s.revision == 1).await;
    assert!(state.errors.is_empty());
    assert_eq!(fixture.value("gold").await, Some(3));
}

#[tokio::test]
async fn a_folder_of_files_is_one_preset() {
    let fixture = PresetsFixture::new(&[
        ("gold.yaml", &class("gold", 1)),
        ("kustomization.yaml", "resources: [gold.yaml]\n"),
    ]);
    let [name] = &kueue_lab_presets::list(&fixture.folder()).unwrap()[..] else {
        panic!("one preset");
    };
    let presets = fixture.start(name).await;
    assert_eq!(fixture.value("gold").await, Some(1));
    fixture.write("gold.yaml", &class("gold", 2));
    until(&presets, "applied", |s| s.revision == 2).await;
    assert_eq!(fixture.value("gold").await, Some(2));
}

#[tokio::test]
async fn a_renamed_temporary_file_is_applied() {
    let fixture = PresetsFixture::new(&[("p/a.yaml", &class("gold", 1))]);
    let presets = fixture.start("p").await;
    for value in [2, 3] {
        fixture.write("p/.a.yaml.swp", &class("gold", value));
        std::fs::rename(fixture.path("p/.a.yaml.swp"), fixture.path("p/a.yaml")).unwrap();
        let revision = u64::try_from(value).unwrap();
        until(&presets, "applied", |s| s.revision == revision).await;
        assert_eq!(fixture.value("gold").await, Some(value));
    }
}

#[tokio::test]
async fn a_burst_of_changes_results_in_the_last() {
    let fixture = PresetsFixture::new(&[("p/a.yaml", &class("gold", 0))]);
    let presets = fixture.start("p").await;
    for value in 1..=100 {
        fixture.write("p/a.yaml", &class("gold", value));
        fixture.write("p/b.yaml", &class("silver", value));
    }
    tokio::time::timeout(Duration::from_secs(60), async {
        while fixture.value("gold").await != Some(100) || fixture.value("silver").await != Some(100)
        {
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
    let fixture = PresetsFixture::new(&[("p/a.yaml", &good), ("p/b.yaml", &class("bronze", 1))]);
    let presets = fixture.start("p").await;
    let file = fixture.path("p/a.yaml").display().to_string();
    for (text, at, expected) in [
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
        fixture.write("p/a.yaml", &text);
        let state = until(&presets, &format!("rejected: {text}"), |s| {
            s.sync_status == SyncStatus::LastGood
                && s.errors.iter().any(|e| e.to_string().contains(expected))
        })
        .await;
        let printed = state.errors[0].to_string();
        assert!(
            printed.starts_with(&format!("{file}:{at}: ")),
            "{printed}\n{text}"
        );
        for name in ["gold", "silver", "bronze"] {
            assert_eq!(fixture.value(name).await, Some(1), "{printed}");
        }
        // The corrected file is applied again; one value differs so that a change is visible.
        fixture.write("p/a.yaml", &format!("{good}{}", class("x", 1)));
        until(&presets, "corrected", |s| {
            s.sync_status == SyncStatus::Synced && s.errors.is_empty()
        })
        .await;
        fixture.write("p/a.yaml", &good);
        until(&presets, "as before", |s| s.objects == 3).await;
    }
}

#[tokio::test]
async fn added_and_removed_files_create_and_prune_objects() {
    let fixture = PresetsFixture::new(&[("p/a.yaml", &class("gold", 1))]);
    let presets = fixture.start("p").await;
    fixture.write("p/b.yaml", &class("silver", 1));
    let state = until(&presets, "added", |s| s.objects == 2).await;
    assert_eq!(state.presets[0].files, ["a.yaml", "b.yaml"]);
    assert_eq!(fixture.value("silver").await, Some(1));
    std::fs::remove_file(fixture.path("p/b.yaml")).unwrap();
    let state = until(&presets, "removed", |s| s.objects == 1).await;
    assert_eq!(state.summary, "1 removed, 1 unchanged");
    assert_eq!(fixture.value("silver").await, None);
    // A folder without files is more likely being moved than empty on purpose.
    std::fs::remove_file(fixture.path("p/a.yaml")).unwrap();
    let state = until(&presets, "kept", |s| s.sync_status == SyncStatus::LastGood).await;
    assert!(
        state.errors[0].message.contains("holds no YAML file"),
        "{:?}",
        state.errors
    );
    assert_eq!(fixture.value("gold").await, Some(1));
}

/// Holds saves with the text `refuse`.
struct FakeReview {
    holds: bool,
}

#[async_trait]
impl SaveReview for FakeReview {
    fn holds_saves(&self) -> bool {
        self.holds
    }

    async fn begin(
        &self,
        _: &Client,
        saved: SavedPreset,
    ) -> Result<BoxFuture<'static, Result<ReviewedSave, ReviewError>>, ReviewError> {
        let text = std::fs::read_to_string(saved.folder.join(saved.name).join("a.yaml")).unwrap();
        let hold_reason = text.contains("refuse").then(|| "it evicts".to_owned());
        let plan = format!("the plan of {}", text.lines().next().unwrap());
        Ok(Box::pin(
            async move { Ok(ReviewedSave { plan, hold_reason }) },
        ))
    }
}

#[tokio::test]
async fn a_save_with_a_hold_reason_is_held_until_the_preset_is_applied() {
    let fixture = PresetsFixture::new(&[("p/a.yaml", &class("gold", 1))]);
    let config = PresetsConfig {
        review: Some(Arc::new(FakeReview { holds: true })),
        ..fixture.config(Some("p"))
    };
    let presets = fixture.start_with(config).await.unwrap();
    let refused = |value| format!("# refuse {value}\n{}", class("gold", value));
    fixture.write("p/a.yaml", &refused(2));
    let state = until(&presets, "held", |s| s.sync_status == SyncStatus::Held).await;
    assert_eq!(state.plan, "the plan of # refuse 2");
    assert_eq!(state.errors[0].message, "it evicts");
    assert_eq!(fixture.value("gold").await, Some(1));
    presets.switch("p").await.unwrap();
    let state = presets.state();
    assert_eq!(
        (state.sync_status, state.errors.len()),
        (SyncStatus::Synced, 0)
    );
    assert_eq!(fixture.value("gold").await, Some(2));
    // Without a hold reason, or after the save is undone, nothing waits.
    fixture.write("p/a.yaml", &refused(3));
    until(&presets, "held", |s| s.sync_status == SyncStatus::Held).await;
    fixture.write("p/a.yaml", &class("gold", 4));
    until(&presets, "applied", |s| s.sync_status == SyncStatus::Synced).await;
    assert_eq!(fixture.value("gold").await, Some(4));
}

#[tokio::test]
async fn the_plan_of_a_save_is_in_the_state() {
    let fixture = PresetsFixture::new(&[("p/a.yaml", &class("gold", 1))]);
    let config = PresetsConfig {
        review: Some(Arc::new(FakeReview { holds: false })),
        ..fixture.config(Some("p"))
    };
    let presets = fixture.start_with(config).await.unwrap();
    assert_eq!(presets.state().plan, "");
    fixture.write("p/a.yaml", &format!("# refuse\n{}", class("gold", 2)));
    let state = until(&presets, "planned", |s| {
        s.revision == 2 && !s.plan.is_empty()
    })
    .await;
    assert_eq!(state.plan, "the plan of # refuse");
    assert_eq!(fixture.value("gold").await, Some(2));
}

#[tokio::test]
async fn a_replaced_folder_is_watched() {
    let fixture = PresetsFixture::new(&[("p/a.yaml", &class("gold", 1))]);
    let presets = fixture.start("p").await;
    std::fs::rename(fixture.folder(), fixture.root.path().join("old")).unwrap();
    until(&presets, "kept", |s| s.sync_status == SyncStatus::LastGood).await;
    fixture.write("p/a.yaml", &class("gold", 2));
    until(&presets, "replaced", |s| {
        s.sync_status == SyncStatus::Synced
    })
    .await;
    assert_eq!(fixture.value("gold").await, Some(2));
    fixture.write("p/a.yaml", &class("gold", 3));
    until(&presets, "edited after that", |s| s.revision == 3).await;
}

#[tokio::test]
async fn the_target_of_a_symbolic_link_is_watched() {
    let fixture = PresetsFixture::new(&[]);
    let elsewhere = fixture.root.path().join("elsewhere.yaml");
    std::fs::write(&elsewhere, class("gold", 1)).unwrap();
    std::fs::create_dir(fixture.path("p")).unwrap();
    std::os::unix::fs::symlink(&elsewhere, fixture.path("p/a.yaml")).unwrap();
    let presets = fixture.start("p").await;
    std::fs::write(&elsewhere, class("gold", 2)).unwrap();
    until(&presets, "edited", |s| s.revision == 2).await;
    assert_eq!(fixture.value("gold").await, Some(2));
}

#[tokio::test]
async fn switching_prunes_objects_of_the_old_preset() {
    let fixture = PresetsFixture::new(&[
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
    let presets = fixture.start("one").await;
    let uid = || async { fixture.classes().get("gold").await.unwrap().metadata.uid };
    let before = uid().await;
    presets.switch("two").await.unwrap();
    let state = presets.state();
    assert_eq!((state.active.as_deref(), state.objects), (Some("two"), 2));
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
        (fixture.value("silver").await, fixture.value("bronze").await),
        (None, Some(1))
    );
    assert_eq!(
        before,
        uid().await,
        "an object of both presets is not recreated"
    );
    let rejected = presets.switch("wrong").await.unwrap_err();
    assert!(
        rejected[0]
            .to_string()
            .contains("apiVersion: Required value"),
        "{rejected:?}"
    );
    let missing = presets.switch("nowhere").await.unwrap_err();
    assert!(
        missing[0]
            .message
            .ends_with("the presets are one, two, wrong"),
        "{missing:?}"
    );
    assert_eq!(presets.state().active.as_deref(), Some("two"));
    // The new preset's files are watched now.
    fixture.write("two/a.yaml", &class("bronze", 7));
    until(&presets, "edited", |s| s.objects == 1).await;
    assert_eq!(
        (fixture.value("gold").await, fixture.value("bronze").await),
        (None, Some(7))
    );
}

#[tokio::test]
async fn without_an_active_preset_nothing_is_applied_until_a_switch() {
    let fixture = PresetsFixture::new(&[("one/a.yaml", &class("gold", 1))]);
    let presets = fixture.try_start(None).await.unwrap();
    let names = |state: &PresetsState| -> Vec<String> {
        state.presets.iter().map(|p| p.name.clone()).collect()
    };
    let state = presets.state();
    assert_eq!((state.active.as_deref(), state.revision), (None, 0));
    assert_eq!(names(&state), ["one"]);
    assert_eq!(state.sync_status, SyncStatus::NotApplied);
    presets.reload().await;
    assert_eq!(fixture.value("gold").await, None);
    fixture.write("two/a.yaml", &class("silver", 2));
    until(&presets, "listed", |s| names(s) == ["one", "two"]).await;
    presets.switch("missing").await.unwrap_err();
    assert_eq!(presets.state().active, None);

    presets.switch("two").await.unwrap();
    assert_eq!(presets.state().active.as_deref(), Some("two"));
    assert_eq!(fixture.value("silver").await, Some(2));
    // The files of the preset are watched from now on.
    fixture.write("two/a.yaml", &class("bronze", 3));
    until(&presets, "edited", |s| s.revision == 2).await;
    assert_eq!(
        (fixture.value("silver").await, fixture.value("bronze").await),
        (None, Some(3))
    );
}

#[tokio::test]
async fn unmanaged_objects_are_neither_overwritten_nor_removed() {
    let fixture = PresetsFixture::new(&[("p/a.yaml", &class("mine", 1))]);
    let theirs: PriorityClass =
        serde_json::from_value(json!({"metadata": {"name": "theirs"}, "value": 9})).unwrap();
    fixture
        .classes()
        .create(&Default::default(), &theirs)
        .await
        .unwrap();
    let presets = fixture.start("p").await;
    fixture.write("p/b.yaml", &class("theirs", 1));
    let state = until(&presets, "rejected", |s| {
        s.sync_status == SyncStatus::LastGood
    })
    .await;
    assert!(
        state.errors[0].to_string().contains("PriorityClass/theirs"),
        "{:?}",
        state.errors
    );
    assert_eq!(fixture.value("theirs").await, Some(9));
    std::fs::remove_file(fixture.path("p/b.yaml")).unwrap();
    until(&presets, "corrected", |s| {
        s.sync_status == SyncStatus::Synced
    })
    .await;
    assert_eq!(fixture.value("theirs").await, Some(9));
}

#[tokio::test]
async fn a_namespace_and_its_objects_are_created_together() {
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m, namespace: team}\n";
    let space = "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: team}\n";
    let fixture = PresetsFixture::new(&[("p/a.yaml", &format!("{map}{space}"))]);
    let presets = fixture.start("p").await;
    let maps: Api<ConfigMap> = Api::namespaced(fixture.client.clone(), "team");
    assert!(maps.get_opt("m").await.unwrap().is_some());
    fixture.write("p/a.yaml", &class("gold", 1));
    until(&presets, "gone", |s| s.objects == 1).await;
    let spaces: Api<Namespace> = Api::all(fixture.client.clone());
    let left = spaces.get_opt("team").await.unwrap();
    assert!(left.is_none_or(|n| n.metadata.deletion_timestamp.is_some()));
}

#[tokio::test]
async fn a_manual_change_is_kept_until_the_file_changes() {
    let fixture = PresetsFixture::new(&[("p/a.yaml", &class("gold", 1))]);
    let presets = fixture.start("p").await;
    let by_hand = Patch::Merge(json!({"description": "by hand"}));
    fixture
        .classes()
        .patch("gold", &PatchParams::default(), &by_hand)
        .await
        .unwrap();
    fixture.write("p/b.yaml", &class("silver", 1));
    until(&presets, "added", |s| s.objects == 2).await;
    let gold = fixture.classes().get("gold").await.unwrap();
    assert_eq!(gold.description.as_deref(), Some("by hand"));
    fixture.write(
        "p/a.yaml",
        &format!("{}description: from the file\n", class("gold", 1)),
    );
    until(&presets, "edited", |s| s.revision == 3).await;
    let gold = fixture.classes().get("gold").await.unwrap();
    assert_eq!(gold.description.as_deref(), Some("from the file"));
}

#[tokio::test]
async fn a_restarted_lab_prunes_removed_objects() {
    let fixture = PresetsFixture::new(&[
        ("p/a.yaml", &class("gold", 1)),
        ("p/b.yaml", &class("silver", 1)),
    ]);
    fixture.start("p").await.shutdown().await;
    std::fs::remove_file(fixture.path("p/b.yaml")).unwrap();
    let presets = fixture.start("p").await;
    assert_eq!(
        (fixture.value("gold").await, fixture.value("silver").await),
        (Some(1), None)
    );
    assert_eq!(presets.state().objects, 1);
}

#[tokio::test]
async fn a_manually_deleted_object_is_recreated_when_its_file_changes() {
    let fixture = PresetsFixture::new(&[("p/a.yaml", &class("gold", 1))]);
    let presets = fixture.start("p").await;
    fixture
        .classes()
        .delete("gold", &DeleteParams::default())
        .await
        .unwrap();
    fixture.write("p/a.yaml", &class("gold", 2));
    until(&presets, "made again", |s| s.revision == 2).await;
    assert_eq!(fixture.value("gold").await, Some(2));
}

#[tokio::test]
async fn a_lab_does_not_start_on_a_missing_or_invalid_preset() {
    let fixture = PresetsFixture::new(&[("p/a.yaml", "kind: X\n")]);
    let printed = |e: StartError| e.to_string();
    let wrong = printed(fixture.try_start(Some("p")).await.err().unwrap());
    assert!(
        wrong.contains("p/a.yaml:1:1: X: apiVersion: Required value"),
        "{wrong}"
    );
    let missing = printed(fixture.try_start(Some("q")).await.err().unwrap());
    assert!(
        missing.starts_with("there is no preset \"q\" in "),
        "{missing}"
    );
    assert!(Path::new(&fixture.folder()).is_dir());
}

#[tokio::test]
async fn an_object_in_use_is_applied_when_it_is_deleted() {
    let fixture = PresetsFixture::new(&[
        ("p/a.yaml", &class("gold", 1)),
        ("p/b.yaml", &class("iron", 1)),
    ]);
    let presets = fixture.start("p").await;
    let set_finalizers = async |names: serde_json::Value| {
        let patch = Patch::Merge(json!({"metadata": {"finalizers": names}}));
        let classes = fixture.classes();
        let params = PatchParams::default();
        classes.patch("gold", &params, &patch).await.unwrap();
    };
    set_finalizers(json!(["kueue.x-k8s.io/resource-in-use"])).await;
    std::fs::remove_file(fixture.path("p/a.yaml")).unwrap();
    until(&presets, "the file is gone", |s| s.revision == 2).await;
    fixture.write("p/a.yaml", &class("gold", 1));
    let state = until(&presets, "an error", |s| !s.errors.is_empty()).await;
    let remedy = state.errors[0].remedy.as_deref().unwrap();
    assert!(remedy.contains("applied again when"), "{remedy}");
    set_finalizers(json!(null)).await;
    until(&presets, "it is applied without a save", |s| {
        s.errors.is_empty() && s.sync_status == SyncStatus::Synced
    })
    .await;
    assert_eq!(fixture.value("gold").await, Some(1));
}
