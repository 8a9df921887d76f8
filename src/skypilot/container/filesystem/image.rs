//! The files of an image.

use jiff::Timestamp;

use super::tree::{FileKind, StorageBudget, Tree};

/// The directories of a plain Linux image.
const IMAGE_DIRECTORIES: [&str; 27] = [
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
/// Devices, which redirections know by name.
const DEVICES: [&str; 7] = [
    "null", "zero", "random", "urandom", "stdin", "stdout", "stderr",
];

/// The tree of an image with these programs.
pub fn base_image(
    programs: impl IntoIterator<Item = &'static str>,
    budget: StorageBudget,
    now: Timestamp,
) -> Tree {
    let mut tree = Tree::new(budget, now);
    for directory in IMAGE_DIRECTORIES {
        let _ = tree.create_directories(directory, now);
    }
    for program in programs {
        let path = format!("/bin/{program}");
        let _ = tree.put(&path, FileKind::Program(program), 0o755, now);
    }
    for device in DEVICES {
        let path = format!("/dev/{device}");
        let _ = tree.put(&path, FileKind::File(Default::default()), 0o666, now);
    }
    let _ = tree.set_mode("/tmp", 0o1777);
    tree
}
