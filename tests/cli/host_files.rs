//! Files that are no regular ones: an error that names the file, and no endless read; pipes of the command line.

use std::io::Write;
use std::process::{Command, Stdio};

use super::work_dir::{UP_WITH_PRESET, WorkDir};

#[test]
fn devices_pipes_and_folders_are_refused() {
    let dir = WorkDir::new();
    let up = ["up", "--headless", "--preset", "none"];
    let refused = |option: &str, file: &str| dir.run_rejected(&[&up[..], &[option, file]].concat());
    let folder = dir.path("").display().to_string();
    for option in ["--config", "--nodes", "--from"] {
        let device = refused(option, "/dev/zero");
        assert!(
            device.contains("/dev/zero: it is a device; only regular files are read"),
            "{device}"
        );
        let of_folder = refused(option, &folder);
        assert!(
            of_folder.contains("it is a directory; name a file in it"),
            "{of_folder}"
        );
    }
    // A pipe in a folder of presets, without a writer.
    std::fs::create_dir_all(dir.path("presets/p")).unwrap();
    let pipe = dir.path("presets/p/queues.yaml");
    let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let of_pipe = dir.run_rejected(&UP_WITH_PRESET);
    assert!(
        of_pipe.contains("queues.yaml: it is a named pipe; only regular files are read"),
        "{of_pipe}"
    );
    let kubeconfig = dir.run_rejected(&["export", "--kubeconfig", "/dev/zero"]);
    assert!(kubeconfig.contains("it is a device"), "{kubeconfig}");
}

#[test]
fn a_pipe_of_the_command_line_is_read() {
    let dir = WorkDir::new();
    let arguments = [
        "up",
        "--headless",
        "--preset",
        "none",
        "--config",
        "/dev/stdin",
    ];
    let mut command = dir.command(&arguments);
    command.stdin(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"kind: Nothing\n").unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    let printed = String::from_utf8(output.stderr).unwrap();
    assert!(printed.contains("/dev/stdin:1:"), "{printed}");
}
