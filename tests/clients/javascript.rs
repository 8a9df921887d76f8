//! The JavaScript client, with `node --test`.

use std::process::Command;

use kueue_lab_testing::has_tool;

use crate::cluster::Cluster;
use crate::package_directory::{package_directory, printed, run, sources};

#[test]
fn client_node() {
    if !has_tool("node", &["--version"]) || !has_tool("npm", &["--version"]) {
        return;
    }
    let sources = sources("javascript");
    let lock = std::fs::read_to_string(sources.join("package-lock.json")).unwrap();
    let directory = package_directory("javascript", &lock, |directory| {
        for name in ["package.json", "package-lock.json"] {
            let copied = std::fs::copy(sources.join(name), directory.join(name));
            copied.map_err(|e| format!("{name}: {e}"))?;
        }
        run(Command::new("npm")
            .args(["ci", "--silent", "--no-audit", "--no-fund"])
            .current_dir(directory))
    });
    let Some(directory) = directory else { return };
    // Node finds packages beside the file that imports them.
    let test = "client_node.test.mjs";
    std::fs::copy(sources.join(test), directory.join(test)).unwrap();
    let cluster = Cluster::start();
    let output = Command::new("node")
        .args(["--test", "--test-reporter=spec", test])
        .current_dir(&directory)
        .env("KUBECONFIG", cluster.kubeconfig())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", printed(&output));
}
