//! Files of this machine are opened, its addresses connected to and its programs run in the crate `host` only,
//! which has the limits and the permissions. This test lists the other places, and a new one fails it.

use std::collections::BTreeSet;

use crate::program_sources::program_sources;

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
    let mut found = BTreeSet::new();
    for (name, code) in program_sources("src") {
        if OTHERS.iter().any(|other| name.starts_with(other)) {
            continue;
        }
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
