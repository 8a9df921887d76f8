//! The files that the start-up script of a pod creates on SkyPilot's images.

use jiff::Timestamp;
use kueue_lab_container::filesystem::FileSystem;

/// The programs, which the image must have.
pub fn program_names() -> [&'static str; 3] {
    ["python3", "python", "uv"]
}

/// Files with their content and permissions.
const FILES: [(&str, &str, u32); 9] = [
    ("/tmp/apt-ssh-setup.log", "", 0o644),
    ("/tmp/apt_ssh_setup_complete", "", 0o644),
    ("/tmp/runtime-setup.log", "", 0o644),
    ("/tmp/ray_skypilot_installation_complete", "", 0o644),
    ("/tmp/env-setup.log", "", 0o644),
    ("/root/.bashrc", "", 0o644),
    (
        "/root/skypilot-runtime/bin/activate",
        "export VIRTUAL_ENV=/root/skypilot-runtime\nexport PATH=/root/skypilot-runtime/bin:$PATH\n",
        0o644,
    ),
    // Ray's script, which Python runs by its path.
    ("/root/skypilot-runtime/bin/ray", "#!/bin/python3\n", 0o755),
    (
        "/root/.local/bin/uv",
        "#!/bin/sh\nexec /bin/uv \"$@\"\n",
        0o755,
    ),
];
const DIRECTORIES: [&str; 5] = [
    "/root/.sky/.runtime_files",
    "/root/.sky/sky_app",
    "/root/sky_workdir",
    "/root/sky_logs",
    "/etc/ssh",
];

/// Creates the files in a new container.
pub fn install(files: &FileSystem, now: Timestamp) {
    for (path, text, mode) in FILES {
        files.provide(path, text, mode, now);
    }
    for directory in DIRECTORIES {
        files.provide_directory(directory, now);
    }
    let paths = [
        ("/root/.sky/python_path", "/bin/python3\n"),
        ("/root/.sky/ray_path", "/root/skypilot-runtime/bin/ray\n"),
    ];
    for (path, text) in paths {
        files.provide(path, text, 0o644, now);
    }
}
