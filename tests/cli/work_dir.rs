//! A working directory, and labs that run in it.

use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

/// The arguments of a lab with the preset `p` of the folder `presets`.
pub(crate) const UP_WITH_PRESET: [&str; 6] = [
    "up",
    "--headless",
    "--presets-dir",
    "presets",
    "--preset",
    "p",
];

/// A working directory with state, presets and other files.
pub(crate) struct WorkDir {
    root: tempfile::TempDir,
}

impl WorkDir {
    pub(crate) fn new() -> Self {
        Self {
            root: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> String {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kueue-lab"));
        command
            .args(args)
            .current_dir(self.root.path())
            .env_clear()
            .env("HOME", self.root.path())
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// Runs a command that must exit with code 2; returns the error.
    pub(crate) fn run_rejected(&self, args: &[&str]) -> String {
        let output = self.run(args);
        let printed = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?} printed {printed}");
        assert_eq!(output.stdout, b"", "{args:?}");
        let complaint = printed.lines().find_map(|l| l.strip_prefix("error: "));
        complaint.unwrap_or_else(|| panic!("{printed}")).to_owned()
    }

    /// Runs `up` with an invalid preset; returns the error.
    pub(crate) fn run_with_invalid_preset(&self, text: &str) -> String {
        self.write("presets/p/q.yaml", text);
        self.run_rejected(&UP_WITH_PRESET)
    }
}

/// A lab that runs until it is dropped.
pub(crate) struct RunningLab {
    child: Child,
    pub(crate) kubeconfig: PathBuf,
}

impl RunningLab {
    pub(crate) fn start(command: Command) -> Self {
        Self::start_with_log(command, Stdio::null())
    }

    pub(crate) fn start_with_log(mut command: Command, log: Stdio) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap())
            .read_line(&mut line)
            .unwrap();
        let kubeconfig = line.trim_end().strip_prefix("ready ");
        let kubeconfig = PathBuf::from(kubeconfig.unwrap_or_else(|| panic!("{line:?}")));
        Self { child, kubeconfig }
    }

    /// A client with the kubeconfig.
    pub(crate) async fn client(&self) -> kube::Client {
        let file = kube::config::Kubeconfig::read_from(&self.kubeconfig).unwrap();
        let options = kube::config::KubeConfigOptions::default();
        let config = kube::Config::from_custom_kubeconfig(file, &options);
        kube::Client::try_from(config.await.unwrap()).unwrap()
    }

    pub(crate) fn signal(&self, signal: &str) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args([signal, &id]).status().unwrap();
        assert!(sent.success());
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    pub(crate) fn wait(mut self) -> (Option<i32>, String) {
        let status = self.child.wait().unwrap();
        let mut rest = String::new();
        let mut stdout = self.child.stdout.take().unwrap();
        stdout.read_to_string(&mut rest).unwrap();
        (status.code(), rest)
    }
}

impl Drop for RunningLab {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
