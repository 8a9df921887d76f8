//! Reads of files: of regular files only, with a limit of their size and of the time.
//!
//! A file is opened without waiting for another process (`O_NONBLOCK`), and what it is is asked of the open
//! file, not of its path. The read runs on a thread of its own, as a file of a network file system may not
//! answer.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;

use super::file_kind::{FileKind, readable_kind};

/// The limit of the size of a file without another one, in bytes.
pub const FILE_LIMIT: u64 = 64 << 20;
/// The time in which a regular file is read.
const FILE_TIMEOUT: Duration = Duration::from_secs(30);
/// The time in which the writer of a pipe sends something.
const PIPE_TIMEOUT: Duration = Duration::from_secs(60);

/// The content of a regular file of at most `limit` bytes.
///
/// # Errors
/// It is no regular file, is larger, or cannot be read in time: a reason that follows the name of the file.
pub fn read(path: impl AsRef<Path>, limit: u64) -> io::Result<Vec<u8>> {
    read_in_time(path.as_ref(), limit, false)
}

/// As [`read`], of UTF-8.
///
/// # Errors
/// As [`read`], and for other bytes than UTF-8.
pub fn read_to_string(path: impl AsRef<Path>, limit: u64) -> io::Result<String> {
    text(read(path, limit)?)
}

/// The content of a file that the command line names: a regular file, or a pipe such as that of `<(command)`.
///
/// # Errors
/// As [`read`], and for a pipe that is silent for a minute.
pub fn read_argument(path: impl AsRef<Path>, limit: u64) -> io::Result<Vec<u8>> {
    read_in_time(path.as_ref(), limit, true)
}

/// As [`read_argument`], of UTF-8.
///
/// # Errors
/// As [`read_argument`], and for other bytes than UTF-8.
pub fn read_argument_to_string(path: impl AsRef<Path>, limit: u64) -> io::Result<String> {
    text(read_argument(path, limit)?)
}

/// The standard input, of at most `limit` bytes.
///
/// # Errors
/// It is larger, or cannot be read.
pub fn read_stdin(limit: u64) -> io::Result<Vec<u8>> {
    bounded(&mut io::stdin().lock(), limit)
}

fn text(bytes: Vec<u8>) -> io::Result<String> {
    let invalid = |_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8");
    String::from_utf8(bytes).map_err(invalid)
}

fn read_in_time(path: &Path, limit: u64, accepts_streams: bool) -> io::Result<Vec<u8>> {
    let (sender, receiver) = mpsc::sync_channel(1);
    let owned = path.to_owned();
    let read = move || {
        // The receiver is gone after the timeout.
        let _ = sender.send(read_opened(&owned, limit, accepts_streams, &sender));
    };
    std::thread::Builder::new()
        .name("read-file".to_owned())
        .spawn(read)?;
    let wait = || receiver.recv_timeout(FILE_TIMEOUT);
    match wait() {
        // A stream has its own timeout.
        Ok(Progress::Stream) => match receiver.recv() {
            Ok(Progress::Done(content)) => content,
            _ => Err(no_answer()),
        },
        Ok(Progress::Done(content)) => content,
        Err(_) => Err(no_answer()),
    }
}

/// What the reading thread reports.
enum Progress {
    /// The file is a pipe or a terminal.
    Stream,
    /// The content.
    Done(io::Result<Vec<u8>>),
}

fn no_answer() -> io::Error {
    let seconds = FILE_TIMEOUT.as_secs();
    let message = format!("it cannot be read within {seconds} s; check its file system");
    io::Error::new(io::ErrorKind::TimedOut, message)
}

fn read_opened(
    path: &Path,
    limit: u64,
    accepts_streams: bool,
    progress: &mpsc::SyncSender<Progress>,
) -> Progress {
    let content = || {
        let flags = i32::try_from((OFlags::NONBLOCK | OFlags::NOCTTY).bits()).unwrap_or_default();
        let mut file = OpenOptions::new()
            .read(true)
            .custom_flags(flags)
            .open(path)?;
        let metadata = file.metadata()?;
        match readable_kind(&file, &metadata, accepts_streams)? {
            FileKind::Regular if metadata.len() > limit => Err(too_large(limit)),
            FileKind::Regular => bounded(&mut file, limit),
            FileKind::Stream => {
                let _ = progress.send(Progress::Stream);
                bounded(&mut Stream(file), limit)
            }
        }
    };
    Progress::Done(content())
}

/// Reads to the end, but no more than `limit` bytes.
fn bounded(from: &mut dyn Read, limit: u64) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    from.take(limit.saturating_add(1))
        .read_to_end(&mut content)?;
    match u64::try_from(content.len()).is_ok_and(|size| size <= limit) {
        true => Ok(content),
        false => Err(too_large(limit)),
    }
}

fn too_large(limit: u64) -> io::Error {
    let message = match limit >> 20 {
        0 => format!("it has more than {limit} bytes, the limit; name a smaller file"),
        megabytes => format!("it has more than {megabytes} MiB, the limit; name a smaller file"),
    };
    io::Error::new(io::ErrorKind::FileTooLarge, message)
}

/// A pipe that is open without waiting.
struct Stream(File);

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            self.wait_for_data()?;
            match self.0.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => return read,
            }
        }
    }
}

impl Stream {
    fn wait_for_data(&self) -> io::Result<()> {
        let timeout = Timespec::try_from(PIPE_TIMEOUT).ok();
        loop {
            let mut polled = [PollFd::new(&self.0, PollFlags::IN)];
            match poll(&mut polled, timeout.as_ref()) {
                Ok(0) => {
                    let seconds = PIPE_TIMEOUT.as_secs();
                    let message = format!("nothing was written to the pipe for {seconds} s");
                    return Err(io::Error::new(io::ErrorKind::TimedOut, message));
                }
                Ok(_) => return Ok(()),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn reason(result: io::Result<Vec<u8>>) -> String {
        result.unwrap_err().to_string()
    }

    #[test]
    fn only_regular_files_of_a_limited_size_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "12345").unwrap();
        assert_eq!(read(&file, 5).unwrap(), b"12345");
        assert_eq!(
            reason(read(&file, 4)),
            "it has more than 4 bytes, the limit; name a smaller file"
        );
        assert_eq!(
            reason(read(folder.path(), 4)),
            "it is a directory; name a file in it"
        );
        for path in ["/dev/zero", "/dev/urandom"] {
            assert!(reason(read(path, FILE_LIMIT)).starts_with("it is a device; only regular"));
            assert!(reason(read_argument(path, FILE_LIMIT)).starts_with("it is a device"));
        }
        // Of files without a size the bytes are counted.
        assert!(reason(read("/proc/self/maps", 10)).starts_with("it has more than 10 bytes"));
        let missing = read(folder.path().join("none"), 4).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        std::fs::write(&file, [0xff]).unwrap();
        assert_eq!(
            read_to_string(&file, 5).unwrap_err().to_string(),
            "it is not UTF-8"
        );
    }

    #[test]
    fn a_pipe_is_read_if_the_command_line_names_it() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        assert!(reason(read(&pipe, 4)).starts_with("it is a named pipe; only regular files"));
        let writer = {
            let pipe = pipe.clone();
            std::thread::spawn(move || {
                let mut file = OpenOptions::new().write(true).open(pipe).unwrap();
                file.write_all(b"1234").unwrap();
            })
        };
        assert_eq!(read_argument(&pipe, 4).unwrap(), b"1234");
        writer.join().unwrap();
        assert_eq!(read_argument("/dev/null", 4).unwrap(), b"");
    }
}
