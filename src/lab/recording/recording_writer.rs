//! [`RecordingWriter`]: writes a recording to a file.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use jiff::Timestamp;

use super::entry::{Change, Entry};
use super::file_format::{FRAME_SIZE, FrameEncoder, Line, MAGIC, RecordingHeader};
use super::recording_error::RecordingError;

/// Writes a recording to a file. [`flush`](Self::flush) ends a frame: what was written before survives the process.
pub struct RecordingWriter {
    file: File,
    encoder: FrameEncoder,
    text: Vec<u8>,
    last: Timestamp,
}

impl RecordingWriter {
    /// Creates the file, which its owner only can read, and writes the header.
    ///
    /// # Errors
    /// It exists or cannot be written.
    pub fn create(path: &Path, header: &RecordingHeader) -> Result<Self, RecordingError> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        let mut writer = Self {
            file: kueue_lab_host::open_with(&options, path)?,
            encoder: FrameEncoder::new(),
            text: Vec::new(),
            last: header.start,
        };
        writer.file.write_all(&MAGIC)?;
        let line = serde_json::to_vec(header);
        writer.text = line.map_err(std::io::Error::from)?;
        writer.flush()?;
        Ok(writer)
    }

    /// Adds an entry.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&mut self, entry: Entry) -> Result<(), RecordingError> {
        let passed = entry.time.duration_since(self.last).as_micros();
        self.last = self.last.max(entry.time);
        let mut line = Line {
            t: u64::try_from(passed).unwrap_or_default(),
            ..Line::default()
        };
        match entry.change {
            Change::Put { version, delta, .. } => {
                line.k = Some(version.id.kind);
                line.n = Some(version.id.key.to_string());
                line.d = Some(delta);
            }
            Change::Delete(id) => {
                line.k = Some(id.kind);
                line.n = Some(id.key.to_string());
            }
            Change::Clock { speed, is_paused } => {
                line.speed = Some(speed);
                line.paused = Some(is_paused);
            }
            Change::Gap { kind, reason } => {
                line.k = Some(kind);
                line.gap = Some(reason.as_deref().unwrap_or_default().to_owned());
            }
            Change::Time => {}
            Change::End => line.end = Some(true),
        }
        let encoded = serde_json::to_vec(&line).map_err(std::io::Error::from)?;
        if self.text.len() + encoded.len() > FRAME_SIZE {
            self.flush()?;
        }
        self.text.extend_from_slice(&encoded);
        self.text.push(b'\n');
        Ok(())
    }

    /// Writes the entries since the last flush to the file, as a frame.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn flush(&mut self) -> Result<(), RecordingError> {
        if !self.text.is_empty() {
            let frame = self.encoder.encode(&self.text)?;
            self.text.clear();
            self.file.write_all(&frame)?;
        }
        Ok(())
    }

    /// Flushes, and waits until the file is on the disk.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn finish(mut self) -> Result<(), RecordingError> {
        self.flush()?;
        Ok(self.file.sync_all()?)
    }
}
