//! Recordings of upstream Kueue and Kubernetes in `tests/recordings`.

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::shared::repository;

/// The folder with the unpacked content of `tests/recordings/NAME.tar.xz`, a copy of a folder of
/// `../shared` that `scripts/pack-recordings.sh` writes. Tests read the packed copy even where `../shared`
/// exists, so that every clone runs the same cases; a test of this crate compares the two.
///
/// An archive is unpacked once, below the target directory, and safely by several processes at once.
///
/// # Panics
/// If the archive does not exist or cannot be unpacked.
pub fn recordings(name: &str) -> PathBuf {
    static UNPACKING: Mutex<()> = Mutex::new(());
    let _guard = UNPACKING.lock().unwrap_or_else(PoisonError::into_inner);
    let archive = repository().join(format!("tests/recordings/{name}.tar.xz"));
    unpacked(name, &archive).unwrap_or_else(|e| panic!("unpack {}: {e}", archive.display()))
}

fn unpacked(name: &str, archive: &Path) -> io::Result<PathBuf> {
    let packed = fs::read(archive)?;
    let mut hasher = DefaultHasher::new();
    packed.hash(&mut hasher);
    let parent = scratch_dir()?.join("recordings");
    let folder = parent.join(format!("{name}-{:016x}", hasher.finish()));
    if folder.is_dir() {
        return Ok(folder);
    }
    fs::create_dir_all(&parent)?;
    let unfinished = tempfile::tempdir_in(&parent)?;
    let mut content = Vec::new();
    lzma_rs::xz_decompress(&mut packed.as_slice(), &mut content)
        .map_err(|e| io::Error::other(format!("{e:?}")))?;
    tar::Archive::new(content.as_slice()).unpack(unfinished.path())?;
    // The folder appears complete or not at all. If another process was first, its copy is used.
    match fs::rename(unfinished.path().join(name), &folder) {
        Err(_) if folder.is_dir() => Ok(folder),
        result => result.map(|()| folder),
    }
}

/// The folder `tmp` of the target directory that contains the test binary, which is `CARGO_TARGET_TMPDIR` of
/// an integration test, or else the system's folder for temporary files.
fn scratch_dir() -> io::Result<PathBuf> {
    let binary = std::env::current_exe()?;
    let mut folders = binary.ancestors();
    let target = folders.find(|folder| File::open(folder.join("CACHEDIR.TAG")).is_ok());
    Ok(target.map_or_else(std::env::temp_dir, |target| target.join("tmp")))
}
