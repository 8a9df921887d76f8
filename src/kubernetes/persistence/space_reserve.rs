//! Space of the file system that is kept for deletions: a file without content, which is shortened when a
//! deletion finds no space.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{FallocateFlags, fallocate};

/// The name of the file.
pub(crate) const FILE: &str = "reserve";
/// The reserved space, in bytes. A deletion writes the pages between the root of the database and its record,
/// some 10 of 4 KiB; the pages of earlier transactions are used again.
pub(crate) const SIZE: u64 = 2 << 20;
/// The space that is given back at once, in bytes.
const STEP: u64 = 128 << 10;

/// The reserved space of a data directory.
#[derive(Debug)]
pub(crate) struct SpaceReserve {
    path: PathBuf,
    /// The size of the file.
    reserved: AtomicU64,
}

impl SpaceReserve {
    /// The reserve of a data directory, as an earlier process has left it.
    pub(crate) fn new(dir: &Path) -> Self {
        let path = dir.join(FILE);
        let found = std::fs::symlink_metadata(&path).ok();
        let size = found
            .filter(std::fs::Metadata::is_file)
            .map_or(0, |m| m.len());
        Self {
            path,
            reserved: AtomicU64::new(size),
        }
    }

    /// The bytes that are missing.
    pub(crate) fn missing(&self) -> u64 {
        SIZE.saturating_sub(self.reserved())
    }

    /// The reserved bytes.
    pub(crate) fn reserved(&self) -> u64 {
        self.reserved.load(Ordering::Relaxed)
    }

    /// Reserves the missing space.
    pub(crate) fn fill(&self) {
        let reserved = self.reserved();
        let filled = self.file().and_then(|file| {
            allocate(&file, reserved, SIZE - reserved.min(SIZE)).inspect_err(|_| {
                // What is there remains reserved.
                let _ = file.set_len(reserved);
            })
        });
        match filled {
            Ok(()) => self.reserved.store(SIZE.max(reserved), Ordering::Relaxed),
            Err(error) => tracing::debug!("cannot reserve {}: {error}", self.path.display()),
        }
    }

    /// Gives space back to the file system; returns whether there was some.
    pub(crate) fn release(&self) -> bool {
        let reserved = self.reserved();
        let rest = reserved.saturating_sub(STEP);
        if rest == reserved {
            return false;
        }
        self.reserved.store(rest, Ordering::Relaxed);
        let released = self.file().and_then(|file| file.set_len(rest));
        released.is_ok()
    }

    fn file(&self) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(0o600);
        kueue_lab_host::open_with(&options, &self.path)
    }
}

/// Allocates blocks: a file with holes takes no space.
fn allocate(file: &File, offset: u64, length: u64) -> io::Result<()> {
    if length == 0 {
        return Ok(());
    }
    match fallocate(file, FallocateFlags::empty(), offset, length) {
        Ok(()) => Ok(()),
        Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => {
            file.set_len(offset)?;
            let mut file = file;
            io::Seek::seek(&mut file, io::SeekFrom::Start(offset))?;
            let zeros = vec![0; 64 << 10];
            let mut left = length;
            while left > 0 {
                let part = usize::try_from(left)
                    .unwrap_or(zeros.len())
                    .min(zeros.len());
                file.write_all(&zeros[..part])?;
                left -= part as u64;
            }
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    /// The bytes that a file takes on the disk.
    fn allocated(dir: &Path) -> u64 {
        std::fs::metadata(dir.join(FILE)).unwrap().blocks() * 512
    }

    #[test]
    fn space_is_taken_from_the_disk_and_given_back_in_steps() {
        let dir = tempfile::tempdir().unwrap();
        let reserve = SpaceReserve::new(dir.path());
        assert!(!reserve.release());
        reserve.fill();
        assert_eq!((reserve.missing(), allocated(dir.path())), (0, SIZE));
        assert!(reserve.release());
        assert_eq!(reserve.missing(), STEP);
        assert_eq!(allocated(dir.path()), SIZE - STEP);
        // A later process finds what is left.
        let reserve = SpaceReserve::new(dir.path());
        let released = std::iter::repeat_with(|| reserve.release()).take_while(|r| *r);
        assert_eq!(released.count() as u64, SIZE / STEP - 1);
        assert_eq!(allocated(dir.path()), 0);
        reserve.fill();
        assert_eq!(allocated(dir.path()), SIZE);
    }
}
