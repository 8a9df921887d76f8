//! Opening and creating data directories.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::{DataDir, DataDirError};
use kueue_lab_apiserver::storage::{PendingObject, StorageLimits, Store};
use kueue_lab_clock::Clock;

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// Opens a directory and stores objects in it.
fn fill(path: &Path, objects: usize) -> u64 {
    let mut dir = DataDir::open(path).unwrap();
    let (state, persistence) = dir.take_content(&Clock::real()).unwrap();
    let store =
        Store::durable(Clock::real(), StorageLimits::default(), state, persistence).unwrap();
    let storage = store.new_resource_storage("/configmaps");
    for i in 0..objects {
        let object =
            serde_json::json!({"metadata": {"name": i.to_string()}, "data": "x".repeat(500)});
        let pending = PendingObject::new(object).unwrap();
        store.create(&storage, &i.to_string(), pending).unwrap();
    }
    store.close();
    store.durable_revision()
}

fn error(path: &Path) -> String {
    match DataDir::open(path) {
        Ok(_) => panic!("{} was opened", path.display()),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_new_directory_is_private_and_keeps_its_content() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("a/b");
    let revision = fill(&path, 3);
    assert_eq!(mode(&path), 0o700);
    for entry in std::fs::read_dir(&path).unwrap() {
        assert_eq!(mode(&entry.unwrap().path()), 0o600);
    }
    let mut dir = DataDir::open(&path).unwrap();
    assert!(!dir.is_new());
    let (state, _) = dir.take_content(&Clock::real()).unwrap();
    assert_eq!((state.revision, revision), (4, 4));
    assert_eq!(state.objects["/configmaps"].len(), 3);
    assert!(dir.last_time().is_some());
    dir.set_port(4711).unwrap();
    drop(dir);
    assert_eq!(DataDir::open(&path).unwrap().port(), 4711);
    assert!(!DataDir::is_imported(&path));
    DataDir::open(&path).unwrap().set_imported().unwrap();
    assert!(DataDir::is_imported(&path));
    assert_eq!(DataDir::open(&path).unwrap().port(), 4711);
    assert!(!DataDir::is_imported(&root.path().join("none")));
}

#[test]
fn credentials_are_the_same_after_a_start() {
    let root = tempfile::tempdir().unwrap();
    let first = serde_json::to_string(DataDir::open(root.path()).unwrap().credentials()).unwrap();
    let second = serde_json::to_string(DataDir::open(root.path()).unwrap().credentials()).unwrap();
    assert_eq!(first, second);
}

#[test]
fn a_second_user_is_rejected_with_the_process_of_the_first() {
    let root = tempfile::tempdir().unwrap();
    let held = DataDir::open(root.path()).unwrap();
    let rejected = error(root.path());
    assert!(
        rejected.contains(&format!("in use by the process {};", std::process::id())),
        "{rejected}"
    );
    drop(held);
    assert!(DataDir::open(root.path()).is_ok());
}

#[test]
fn a_newer_format_and_other_directories_are_rejected() {
    let root = tempfile::tempdir().unwrap();
    let newer = root.path().join("newer");
    drop(DataDir::open(&newer).unwrap());
    std::fs::write(
        newer.join("cluster.json"),
        r#"{"formatVersion": 2, "new": 1}"#,
    )
    .unwrap();
    let rejected = error(&newer);
    assert!(
        rejected.contains("has format 2, and this version reads formats up to 1"),
        "{rejected}"
    );
    let other = root.path().join("other");
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("thesis.tex"), "x").unwrap();
    assert!(error(&other).contains("it has thesis.tex and no cluster.json"));
    assert_eq!(std::fs::read_dir(&other).unwrap().count(), 1);
}

/// Each file missing, empty or altered: one error that names it, and no file changes.
#[test]
fn damaged_files_are_reported_and_kept() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("data");
    fill(&path, 40);
    for file in ["cluster.json", "credentials.json", "objects.redb"] {
        let file = path.join(file);
        let good = std::fs::read(&file).unwrap();
        let mut flipped = Vec::new();
        // The first bytes of all files matter; in the database also pages with objects.
        let marker = good.windows(50).rposition(|bytes| bytes == [b'x'; 50]);
        for at in [Some(3), marker] {
            let Some(at) = at else { continue };
            let mut damaged = good.clone();
            damaged[at] ^= 0x55;
            flipped.push(damaged);
        }
        let half = good[..good.len() / 2].to_vec();
        for damaged in [vec![], half].into_iter().chain(flipped) {
            std::fs::write(&file, &damaged).unwrap();
            let reported = match DataDir::open(&path) {
                Err(DataDirError::Damaged(files)) => {
                    assert_eq!(files.len(), 1, "{files:?}");
                    format!("{}: {}", files[0].path.display(), files[0].reason)
                }
                Err(other) => panic!("{other}"),
                Ok(_) => panic!("{} with {} bytes was opened", file.display(), damaged.len()),
            };
            assert!(reported.starts_with(&*file.to_string_lossy()), "{reported}");
            assert!(
                std::fs::read(&file).unwrap() == damaged,
                "{}",
                file.display()
            );
        }
        std::fs::write(&file, good).unwrap();
    }
    for file in ["cluster.json", "credentials.json", "objects.redb"] {
        let file = path.join(file);
        let good = std::fs::read(&file).unwrap();
        std::fs::remove_file(&file).unwrap();
        let reported = error(&path);
        let expected = format!("{}: the file is missing", file.display());
        assert!(reported.contains(&expected), "{reported}");
        assert!(!file.exists());
        std::fs::write(&file, good).unwrap();
    }
    assert!(DataDir::open(&path).is_ok());
}

/// All that is missing or damaged is reported at once, and nothing changes.
#[test]
fn every_missing_or_damaged_file_is_reported() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("data");
    fill(&path, 40);
    std::fs::remove_file(path.join("cluster.json")).unwrap();
    std::fs::write(path.join("credentials.json"), "{").unwrap();
    let objects = path.join("objects.redb");
    let mut damaged = std::fs::read(&objects).unwrap();
    damaged[3] ^= 0x55;
    std::fs::write(&objects, &damaged).unwrap();
    let Err(DataDirError::Damaged(files)) = DataDir::open(&path) else {
        panic!("it was opened");
    };
    let mut names: Vec<_> = files
        .iter()
        .map(|file| file.path.file_name().unwrap().to_str().unwrap())
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["cluster.json", "credentials.json", "objects.redb"]);
    assert!(std::fs::read(&objects).unwrap() == damaged);
    assert!(!path.join("cluster.json").exists());
    // A directory instead of a file.
    std::fs::remove_file(&objects).unwrap();
    std::fs::create_dir(&objects).unwrap();
    assert!(error(&path).contains("it is a directory"));
}

/// With the content that the error names, a lost `cluster.json` is replaced.
#[test]
fn a_missing_cluster_file_can_be_written_by_hand() {
    let root = tempfile::tempdir().unwrap();
    fill(root.path(), 3);
    let file = root.path().join("cluster.json");
    std::fs::remove_file(&file).unwrap();
    let before = std::fs::read(root.path().join("objects.redb")).unwrap();
    let reported = error(root.path());
    let (_, content) = reported.split_once("with the content ").unwrap();
    let (content, _) = content.split_once(';').unwrap();
    assert!(std::fs::read(root.path().join("objects.redb")).unwrap() == before);
    std::fs::write(&file, content).unwrap();
    let mut dir = DataDir::open(root.path()).unwrap();
    let (state, _) = dir.take_content(&Clock::real()).unwrap();
    assert_eq!(state.objects["/configmaps"].len(), 3);
}

/// A process that ends while it creates a directory leaves some of the files.
#[test]
fn an_interrupted_creation_is_completed() {
    let root = tempfile::tempdir().unwrap();
    for kept in [
        &["lock"][..],
        &["lock", "credentials.json", ".new-x"],
        &["lock", "credentials.json", "objects.redb", "reserve"],
    ] {
        let path = root.path().join(kept.len().to_string());
        drop(DataDir::open(&path).unwrap());
        std::fs::write(path.join(".new-x"), "x").unwrap();
        for entry in std::fs::read_dir(&path).unwrap() {
            let entry = entry.unwrap();
            if !kept.contains(&entry.file_name().to_str().unwrap()) {
                std::fs::remove_file(entry.path()).unwrap();
            }
        }
        let dir = DataDir::open(&path);
        assert!(dir.is_ok_and(|dir| dir.is_new()), "{kept:?}");
    }
}

#[test]
fn starts_that_do_not_succeed_are_counted() {
    let root = tempfile::tempdir().unwrap();
    fill(root.path(), 1);
    let failed = || {
        let dir = DataDir::open(root.path()).unwrap();
        let record = dir.record_start();
        drop(dir);
        record
    };
    assert_eq!(failed().failed(), 0);
    assert_eq!(failed().failed(), 1);
    let third = failed();
    assert_eq!(third.failed(), 2);
    // Its record keeps others out.
    assert!(error(root.path()).contains("in use"));
    third.succeeded();
    drop(third);
    assert_eq!(failed().failed(), 0);
}
