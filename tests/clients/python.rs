//! The Python clients, with `unittest`.

use std::path::{Path, PathBuf};
use std::process::Command;

use kueue_lab_testing::has_tool;

use crate::cluster::Cluster;
use crate::package_directory::{package_directory, printed, run, sources};

/// The Python of a virtual environment with the packages of `requirements`; `options` are those of pip.
pub(crate) fn python(requirements: &Path, options: &[&str]) -> Option<PathBuf> {
    if !has_tool("python3", &["-c", "import venv, ensurepip"]) {
        return None;
    }
    let versions = std::fs::read_to_string(requirements).unwrap();
    let directory = package_directory("python", &versions, |directory| {
        run(Command::new("python3").args(["-m", "venv"]).arg(directory))?;
        run(Command::new(directory.join("bin/python"))
            .args([
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
            ])
            .args(options)
            .arg("--requirement")
            .arg(requirements))
    })?;
    Some(directory.join("bin/python"))
}

fn unittest(module: &str) {
    let sources = sources("python");
    let Some(python) = python(&sources.join("requirements.txt"), &[]) else {
        return;
    };
    let cluster = Cluster::start();
    let output = Command::new(python)
        // Warnings of the clients about their own code, and no files beside the sources.
        .args(["-W", "ignore", "-B", "-m", "unittest", "-v", module])
        .current_dir(sources)
        .env("KUBECONFIG", cluster.kubeconfig())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", printed(&output));
}

#[test]
fn kubernetes() {
    unittest("test_kubernetes");
}

#[test]
fn kr8s() {
    unittest("test_kr8s");
}
