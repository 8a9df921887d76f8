//! What `test` sees in a script whose container is not there.

use super::interpreter::Shell;
use super::test_expression::{TestFile, TestSubject};

/// The directories of a plain Linux image.
pub const IMAGE_DIRECTORIES: [&str; 27] = [
    "/bin",
    "/dev",
    "/etc",
    "/home",
    "/lib",
    "/media",
    "/mnt",
    "/opt",
    "/proc",
    "/proc/1",
    "/proc/self",
    "/root",
    "/run",
    "/sbin",
    "/srv",
    "/sys",
    "/tmp",
    "/usr",
    "/usr/bin",
    "/usr/lib",
    "/usr/local",
    "/usr/local/bin",
    "/usr/sbin",
    "/var",
    "/var/log",
    "/var/run",
    "/var/tmp",
];
/// Files that each container has.
const FILES: [&str; 2] = ["/etc/hosts", "/bin/sh"];

impl TestSubject for Shell {
    fn file(&self, path: &str) -> Option<TestFile> {
        let path = match path.trim_end_matches('/') {
            "" if path.starts_with('/') => "/",
            path => path,
        };
        let is_directory = path == "/" || IMAGE_DIRECTORIES.contains(&path);
        let is_written = self.files.contains(path);
        (is_directory || is_written || FILES.contains(&path)).then_some(TestFile {
            is_directory,
            has_content: true,
            is_executable: is_directory || path == "/bin/sh",
        })
    }

    fn is_link(&self, _: &str) -> bool {
        false
    }

    fn is_newer(&self, path: &str, than: &str) -> bool {
        self.file(path).is_some() && self.file(than).is_none()
    }

    fn is_same_file(&self, path: &str, other: &str) -> bool {
        self.file(path).is_some() && path == other
    }

    fn is_set(&self, name: &str) -> bool {
        self.known_value(name).is_some()
    }

    fn has_terminal(&self) -> bool {
        false
    }
}
