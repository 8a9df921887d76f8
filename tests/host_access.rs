//! Files of this machine are opened, its addresses connected to and its programs run in the crate `host` only,
//! which has the limits and the permissions. This test lists the other places, and a new one fails it.

#![allow(clippy::unwrap_used, reason = "a test that fails reports its position")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// What opens a file, a socket or a program.
const CALLS: &[&str] = &[
    "fs::read(",
    "fs::read_to_string(",
    "fs::write(",
    "fs::copy(",
    "fs::hard_link(",
    "tokio::fs",
    "File::open(",
    "File::create(",
    "File::create_new(",
    "File::options(",
    ".open(",
    "NamedTempFile",
    ".tempfile_in(",
    "TcpStream::connect",
    "TcpListener::bind",
    "UdpSocket::bind",
    "UnixStream::",
    "UnixListener::",
    "UnixDatagram::",
    "TcpSocket::",
    "Command::new(",
    "Client::try_from(",
    "Client::try_default",
    "ClientBuilder::",
    "Config::infer",
    "Config::incluster",
    "Config::from_kubeconfig",
    "Config::from_custom_kubeconfig",
    "Kubeconfig::read",
    "Kubeconfig::from_env",
    "HttpConnector",
    "reqwest",
];

/// The places outside of the crate `host`, each with the reason.
const PLACES: &[(&str, &str, &str)] = &[
    (
        "src/kubernetes/apiserver/http/kubeconfig.rs",
        "NamedTempFile",
        "a new file beside the kubeconfig that the command line names",
    ),
    (
        "src/lab/cluster/in_cluster.rs",
        "Config::incluster",
        "the files of the ServiceAccount in the container of the process",
    ),
    (
        "src/lab/cluster/kubeconfig_context.rs",
        "Config::from_custom_kubeconfig",
        "a kubeconfig of the user, whose files are included before",
    ),
    (
        "src/lab/cluster/local/kubeconfig.rs",
        "NamedTempFile",
        "a new file beside the kubeconfig of the user",
    ),
    (
        "src/lab/cluster/local/lifecycle.rs",
        "NamedTempFile",
        "a new file in the state folder",
    ),
    (
        "src/lab/cluster/remote.rs",
        "NamedTempFile",
        "a new file beside the kubeconfig that the command line names",
    ),
    (
        "src/kueue/controller/worker_clients.rs",
        "Config::from_custom_kubeconfig",
        "a kubeconfig from which references to files and programs are removed",
    ),
    (
        "src/kubernetes/persistence/private_file.rs",
        "NamedTempFile",
        "the type of a new file in the data directory",
    ),
    (
        "src/kubernetes/persistence/private_file.rs",
        ".tempfile_in(",
        "a new file in the data directory",
    ),
    (
        "src/lab/presets/builtin.rs",
        "NamedTempFile",
        "a new file in the folder of presets",
    ),
];

/// The crate of this machine, and one for tests only.
const OTHERS: &[&str] = &["src/base/host/", "src/base/testing/"];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true if path.ends_with("tests") => {}
            true => sources(&path, found),
            false if path.extension().is_some_and(|e| e == "rs") => found.push(path),
            false => {}
        }
    }
}

/// The text without comments and without the test module at its end.
fn code(text: &str) -> String {
    let tests = text.find("#[cfg(test)]\nmod tests {");
    let text = &text[..tests.unwrap_or(text.len())];
    let lines = text.lines().map(|line| line.trim_start());
    let lines = lines.filter(|line| !line.starts_with("//"));
    // A call may begin on the line after its receiver.
    lines.collect::<Vec<_>>().join("\n").replace("\n.", ".")
}

/// The files and folders of the modules that are compiled for tests only.
fn test_modules(file: &Path, text: &str) -> Vec<PathBuf> {
    let stem = file.file_stem().unwrap().to_str().unwrap();
    let folder = match stem {
        "mod" | "lib" | "main" => file.parent().unwrap().to_owned(),
        _ => file.with_extension(""),
    };
    let mut modules = Vec::new();
    let mut is_test = false;
    for line in text.lines().map(str::trim) {
        if is_test && let Some(name) = line.split("mod ").nth(1).and_then(|m| m.strip_suffix(';')) {
            modules.extend([folder.join(name).with_extension("rs"), folder.join(name)]);
        }
        is_test = line == "#[cfg(test)]";
    }
    modules
}

/// Whether the text has a call, not one of a longer name.
fn calls(code: &str, call: &str) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(call).any(|(at, _)| {
        let before = code[..at].chars().next_back();
        call.starts_with('.') || !before.is_some_and(is_name)
    })
}

#[test]
fn the_machine_is_reached_in_one_crate() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    sources(&root.join("src"), &mut files);
    let texts: Vec<(PathBuf, String)> = files
        .into_iter()
        .map(|file| (file.clone(), std::fs::read_to_string(file).unwrap()))
        .collect();
    let tests = texts
        .iter()
        .flat_map(|(file, text)| test_modules(file, text));
    let tests: Vec<PathBuf> = tests.collect();
    let mut found = BTreeSet::new();
    for (file, text) in &texts {
        let name = file.strip_prefix(root).unwrap().display().to_string();
        let is_test = tests.iter().any(|test| file.starts_with(test));
        if is_test || OTHERS.iter().any(|other| name.starts_with(other)) {
            continue;
        }
        let code = code(text);
        // Only files with these types open files with a method.
        let opens = code.contains("OpenOptions");
        for call in CALLS {
            if calls(&code, call) && (*call != ".open(" || opens) {
                found.insert((name.clone(), (*call).to_owned()));
            }
        }
    }
    let known: BTreeSet<(String, String)> = PLACES
        .iter()
        .map(|(file, call, _)| ((*file).to_owned(), (*call).to_owned()))
        .collect();
    let new: Vec<_> = found.difference(&known).collect();
    assert!(
        new.is_empty(),
        "open files, sockets and programs with the crate kueue-lab-host, or list the place in {} with the reason: {new:#?}",
        file!()
    );
    let gone: Vec<_> = known.difference(&found).collect();
    assert!(gone.is_empty(), "remove from the list: {gone:#?}");
}
