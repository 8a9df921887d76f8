//! `rsync --server`: the remote side of an rsync session.

use bytes::Bytes;
use jiff::Timestamp;
use kueue_lab_rsync::{FileError, FileStatus, FileType, Files, ServerOptions, serve};
use tokio::sync::mpsc;

use super::context::{Context, Exit};
use crate::filesystem::{Errno, FILE_SIZE, FileKind, FileSystem, Metadata};

/// The files of a container, seen from a working directory.
struct ContainerFiles<'a> {
    files: &'a FileSystem,
    directory: &'a str,
    now: Timestamp,
}

fn file_error(error: Errno) -> FileError {
    error.into()
}

impl Files for ContainerFiles<'_> {
    fn max_size(&self) -> usize {
        FILE_SIZE
    }

    fn status(&self, path: &str) -> Option<FileStatus> {
        let entry = self.files.lstat(self.directory, path).ok()?;
        Some(FileStatus {
            mode: entry.mode,
            size: entry.size() as u64,
            modified: entry.modified.as_second(),
            kind: match entry.kind {
                FileKind::Directory => FileType::Directory,
                FileKind::File(_) | FileKind::Program(_) => FileType::File,
                FileKind::Link(target) => FileType::Link(target),
            },
        })
    }

    fn read(&self, path: &str) -> Result<Bytes, FileError> {
        self.files.read(self.directory, path).map_err(file_error)
    }

    fn list(&self, path: &str) -> Result<Vec<String>, FileError> {
        let entries = self.files.list(self.directory, path).map_err(file_error)?;
        Ok(entries
            .into_iter()
            .map(|(name, _): (String, Metadata)| name)
            .collect())
    }

    fn write(
        &self,
        path: &str,
        data: Bytes,
        mode: Option<u32>,
        modified: Option<i64>,
    ) -> Result<(), FileError> {
        let Self {
            files,
            directory,
            now,
        } = self;
        // A link is replaced, not followed.
        let is_link = |entry: Metadata| matches!(entry.kind, FileKind::Link(_));
        if files.lstat(directory, path).is_ok_and(is_link) {
            files.remove(directory, path).map_err(file_error)?;
        }
        files
            .write(directory, path, data, *now)
            .map_err(file_error)?;
        if let Some(mode) = mode {
            files.set_mode(directory, path, mode).map_err(file_error)?;
        }
        if let Some(at) = modified.and_then(|at| Timestamp::from_second(at).ok()) {
            files
                .set_modified(directory, path, at)
                .map_err(file_error)?;
        }
        Ok(())
    }

    fn create_directory(&self, path: &str, mode: Option<u32>) -> Result<(), FileError> {
        let created = self.files.create_directory(self.directory, path, self.now);
        created.map_err(file_error)?;
        match mode {
            Some(mode) => self.files.set_mode(self.directory, path, mode),
            None => Ok(()),
        }
        .map_err(file_error)
    }

    fn create_link(&self, path: &str, target: &str) -> Result<(), FileError> {
        if self.status(path).is_some() {
            self.files
                .remove(self.directory, path)
                .map_err(file_error)?;
        }
        let link = FileKind::Link(target.to_owned());
        let put = self.files.put(self.directory, path, link, 0o777, self.now);
        put.map_err(file_error)
    }
}

/// `rsync --server ...`
pub(super) async fn rsync(context: &mut Context<'_>) -> Exit {
    let options = match ServerOptions::parse(context.arguments) {
        Ok(options) => options,
        Err(error) => return context.fail(error.code, error.message).await,
    };
    let files = ContainerFiles {
        files: context.files(),
        directory: context.directory(),
        now: context.now(),
    };
    let (to_server, input) = mpsc::channel(4);
    let (output, mut from_server) = mpsc::channel::<Bytes>(4);
    let stdin = context.streams.stdin.clone();
    let reading = async {
        while let Some(data) = stdin.read().await {
            if to_server.send(data).await.is_err() {
                break;
            }
        }
        drop(to_server);
        std::future::pending::<()>().await;
    };
    let writing = async {
        while let Some(data) = from_server.recv().await {
            context.write(data).await?;
        }
        Ok(())
    };
    let served = async { tokio::join!(serve(&options, &files, input, output), writing) };
    let (served, written) = tokio::select! {
        served = served => served,
        () = reading => return Ok(12),
    };
    written?;
    match served {
        Ok(code) => Ok(code),
        Err(error) => context.fail(error.code, error.message).await,
    }
}
