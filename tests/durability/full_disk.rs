//! A data directory on a file system without free space.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::lab_process::WorkDir;
use crate::requests::{client, create, get, send, status};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// A small file system in memory, mounted until it is dropped.
struct SmallFileSystem(PathBuf);

impl SmallFileSystem {
    /// `None` where mounting is not permitted.
    fn mount(path: PathBuf) -> Option<Self> {
        std::fs::create_dir(&path).unwrap();
        let mut mount = Command::new("mount");
        mount
            .args(["-t", "tmpfs", "-o", "size=24m", "tmpfs"])
            .arg(&path);
        let mounted = mount.output().is_ok_and(|output| output.status.success());
        mounted.then(|| Self(path))
    }

    /// Fills it to the last byte.
    fn fill(&self) {
        let mut file = File::create(self.0.join("filler")).unwrap();
        for size in [64 << 10, 512] {
            while file.write_all(&vec![1; size]).is_ok() {}
        }
    }

    fn free(&self) {
        std::fs::remove_file(self.0.join("filler")).unwrap();
    }
}

impl Drop for SmallFileSystem {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).output();
    }
}

async fn delete(client: &kube::Client, names: std::ops::Range<usize>) {
    for number in names {
        let path = format!("{MAPS}/m{number}");
        send(client, "DELETE", &path, &Value::Null).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_are_deleted_without_free_space() {
    let dir = WorkDir::new();
    let Some(disk) = SmallFileSystem::mount(dir.path().join("disk")) else {
        eprintln!("skipped: mounting a file system is not permitted");
        return;
    };
    let data = dir.path().join("disk/data");
    let data = data.to_str().unwrap();
    let up = ["up", "--headless", "--preset", "none", "--data-dir", data];
    let lab = dir.start(&up).await;
    let first = client(&lab).await;
    for number in 0..60 {
        let map =
            json!({"metadata": {"name": format!("m{number}")}, "data": {"x": "y".repeat(2000)}});
        create(&first, MAPS, &map).await;
    }
    disk.fill();
    delete(&first, 0..20).await;
    let refused = create_refused(&first).await;
    assert_eq!(
        (refused.code, &*refused.reason),
        (507, "InsufficientStorage")
    );
    lab.kill();

    // Everything that starts would write; without controllers nothing is written.
    let output = dir.run(&up).await;
    let printed = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success(), "{printed}");
    assert!(
        printed.contains("is full") && printed.contains("--without-controllers"),
        "{printed}"
    );
    let lab = dir
        .start(&["up", "--data-dir", data, "--without-controllers"])
        .await;
    let second = client(&lab).await;
    delete(&second, 20..40).await;
    assert_eq!(lab.stop().await, Some(0));

    disk.free();
    let lab = dir.start(&up).await;
    let after = client(&lab).await;
    let left = get(&after, MAPS).await;
    let left = left["items"].as_array().unwrap().iter();
    let left = left.filter(|map| map["metadata"]["name"].as_str().unwrap().starts_with('m'));
    assert_eq!(left.count(), 20);
    // The space is reserved again.
    let reserve = std::fs::metadata(Path::new(data).join("reserve")).unwrap();
    assert_eq!(reserve.len(), 2 << 20);
}

async fn create_refused(client: &kube::Client) -> kube::core::Status {
    let map = json!({"metadata": {"name": "large"}, "data": {"x": "y".repeat(500_000)}});
    status(send(client, "POST", MAPS, &map).await)
}
