//! [`read_recording`]: reads a recording from a file, with limits.

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use kueue_lab_controller_runtime::ObjectKey;

use super::entry::{Change, Entry};
use super::file_format::{
    DecodedFrame, FORMAT, FrameDecoder, Line, MAGIC, RecordingHeader, VERSION, damaged,
};
use super::history::{History, HistoryLimits};
use super::object_id::{ObjectId, ObjectVersion};
use super::object_table::ObjectTable;
use super::recording_error::RecordingError;

/// The largest file, in bytes.
const MAX_FILE: u64 = 512 << 20;
/// The most text of all frames, in bytes.
const MAX_TEXT: usize = 4 << 30;
/// The most memory that all versions together need, in bytes; the history keeps less.
const MAX_BYTES: usize = 16 << 30;
/// The most kinds.
const MAX_KINDS: usize = 1000;
/// The memory of the history of a file, in bytes.
const HISTORY: HistoryLimits = HistoryLimits { bytes: 1 << 30 };

/// A recording.
#[derive(Debug)]
pub struct Recording {
    /// The header.
    pub header: RecordingHeader,
    /// The course of the cluster.
    pub history: History,
    /// What the file lacks, one sentence; `None` if the recording has ended regularly.
    pub note: Option<String>,
}

/// Whether a file begins as a recording does.
pub fn is_recording(path: &Path) -> bool {
    let mut options = OpenOptions::new();
    let file = kueue_lab_host::open_with(options.read(true), path);
    let mut begin = [0; MAGIC.len()];
    let is_file = |file: &File| file.metadata().is_ok_and(|metadata| metadata.is_file());
    let file = file.ok().filter(is_file);
    file.is_some_and(|mut file| file.read_exact(&mut begin).is_ok()) && begin == MAGIC
}

/// Reads a recording. A file that is cut off is read to its last complete frame, and has a note.
///
/// # Errors
/// It cannot be read, is no recording, or is too large.
pub fn read_recording(path: &Path) -> Result<Recording, RecordingError> {
    let bytes = kueue_lab_host::read_argument(path, MAX_FILE)?;
    parse_recording(&bytes)
}

/// Reads a recording from the content of a file.
///
/// # Errors
/// As [`read_recording`].
pub(crate) fn parse_recording(bytes: &[u8]) -> Result<Recording, RecordingError> {
    let frames = bytes
        .strip_prefix(&MAGIC)
        .ok_or(RecordingError::NoRecording)?;
    let mut decoder = FrameDecoder::new();
    let Some(DecodedFrame { text, mut rest }) = decoder.decode(frames)? else {
        return Err(damaged("its header is cut off"));
    };
    let header = header(&text)?;
    let mut entries = EntryReader::new(&header);
    let mut total = text.len();
    let note = loop {
        if entries.has_ended {
            break match rest.is_empty() {
                true => None,
                false => Some(format!("{} bytes after its end are left out", rest.len())),
            };
        }
        let frame = match decoder.decode(rest) {
            Ok(Some(frame)) => {
                let read = entries.read(&frame.text);
                read.map(|()| (frame.text.len(), frame.rest))
            }
            Ok(None) => {
                break Some(match rest.len() {
                    0 => "it has no end: the recorder was killed, or still runs".to_owned(),
                    cut => format!(
                        "it is cut off: the last {cut} bytes are no complete frame, and are left out"
                    ),
                });
            }
            Err(error) => Err(error),
        };
        match frame {
            Ok((size, left)) => {
                rest = left;
                total += size;
            }
            Err(RecordingError::Damaged(why)) => {
                let left = rest.len();
                break Some(format!(
                    "it is damaged, and its last {left} bytes are left out: {why}"
                ));
            }
            Err(error) => return Err(error),
        }
        if total > MAX_TEXT {
            return Err(RecordingError::TooLarge(format!(
                "its entries have more than {} GiB",
                MAX_TEXT >> 30
            )));
        }
    };
    Ok(Recording {
        header,
        history: entries.history,
        note,
    })
}

/// The header; its version is checked first.
fn header(text: &[u8]) -> Result<RecordingHeader, RecordingError> {
    let value: serde_json::Value =
        serde_json::from_slice(text).map_err(|_| damaged("its header is no JSON"))?;
    if value["format"] != FORMAT {
        return Err(RecordingError::NoRecording);
    }
    match value["version"].as_u64() {
        Some(VERSION) => {}
        Some(other) => return Err(RecordingError::OtherVersion(other, VERSION)),
        None => return Err(damaged("its header has no version")),
    }
    let header: RecordingHeader = serde_json::from_value(value)
        .map_err(|error| RecordingError::Damaged(format!("its header: {error}")))?;
    match header.kinds.len() > MAX_KINDS {
        true => Err(RecordingError::TooLarge(format!(
            "it has more than {MAX_KINDS} kinds"
        ))),
        false => Ok(header),
    }
}

/// Reads entries into a history.
struct EntryReader {
    history: History,
    objects: ObjectTable,
    time: Timestamp,
    kinds: usize,
    bytes: usize,
    has_ended: bool,
}

impl EntryReader {
    fn new(header: &RecordingHeader) -> Self {
        let kinds = header.kinds.iter().cloned().collect();
        Self {
            history: History::new(kinds, header.start, HISTORY),
            objects: ObjectTable::default(),
            time: header.start,
            kinds: header.kinds.len(),
            bytes: 0,
            has_ended: false,
        }
    }

    /// Reads the text of a frame.
    fn read(&mut self, text: &[u8]) -> Result<(), RecordingError> {
        for line in text
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
        {
            let line: Line = serde_json::from_slice(line)
                .map_err(|error| RecordingError::Damaged(format!("an entry: {error}")))?;
            let entry = self.entry(line)?;
            self.history.push(&entry);
        }
        Ok(())
    }

    fn entry(&mut self, line: Line) -> Result<Entry, RecordingError> {
        let passed =
            i64::try_from(line.t).map_err(|_| damaged("an entry has an impossible time"))?;
        let time = self.time.checked_add(SignedDuration::from_micros(passed));
        self.time = time.map_err(|_| damaged("an entry has an impossible time"))?;
        let change = match line {
            Line {
                k: Some(kind),
                gap: Some(reason),
                ..
            } => Change::Gap {
                kind: self.kind(kind)?,
                reason: Some(reason.as_str().into()).filter(|_| !reason.is_empty()),
            },
            Line {
                k: Some(kind),
                n: Some(name),
                d,
                ..
            } => {
                let id = ObjectId {
                    kind: self.kind(kind)?,
                    key: Arc::new(key(&name)),
                };
                self.object(id, d)?
            }
            Line {
                speed: Some(speed),
                paused,
                ..
            } => Change::Clock {
                speed,
                is_paused: paused.unwrap_or_default(),
            },
            Line {
                end: Some(true), ..
            } => {
                self.has_ended = true;
                Change::End
            }
            Line {
                k: None,
                n: None,
                d: None,
                ..
            } => Change::Time,
            _ => return Err(damaged("an entry has a kind without an object")),
        };
        Ok(Entry {
            time: self.time,
            change,
        })
    }

    fn object(
        &mut self,
        id: ObjectId,
        delta: Option<serde_json::Value>,
    ) -> Result<Change, RecordingError> {
        let Some(delta) = delta else {
            return match self.objects.delete(&id) {
                true => Ok(Change::Delete(id)),
                false => Err(damaged("an object is deleted that does not exist")),
            };
        };
        let changed = self.objects.apply(&id, &delta)?;
        self.bytes += changed.bytes;
        if self.bytes > MAX_BYTES {
            return Err(RecordingError::TooLarge(format!(
                "its objects need more than {} GiB",
                MAX_BYTES >> 30
            )));
        }
        let version = Arc::new(ObjectVersion {
            id,
            time: self.time,
            value: changed.value,
        });
        Ok(Change::Put {
            version,
            delta,
            bytes: changed.bytes,
        })
    }

    fn kind(&self, kind: u16) -> Result<u16, RecordingError> {
        match usize::from(kind) < self.kinds {
            true => Ok(kind),
            false => Err(damaged("an entry has a kind that the header does not have")),
        }
    }
}

/// The key that was written as `namespace/name` or `name`.
fn key(name: &str) -> ObjectKey {
    match name.split_once('/') {
        Some((namespace, name)) => ObjectKey::new(namespace, name),
        None => ObjectKey::cluster(name),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::file_format::FrameEncoder;
    use crate::recorded_kind::RecordedKind;
    use crate::recording_writer::RecordingWriter;

    fn header_of(kinds: Vec<RecordedKind>) -> RecordingHeader {
        RecordingHeader {
            format: FORMAT.into(),
            version: VERSION,
            lab: "0.1.0".into(),
            start: Timestamp::from_second(1_767_225_600).unwrap(),
            cluster: "c".into(),
            speed: 1.0,
            kinds,
        }
    }

    /// A recording of some versions of some objects, and the length of its file after each of them.
    fn recorded() -> (Vec<u8>, Vec<usize>) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("r");
        let header = header_of(RecordedKind::all());
        let mut writer = RecordingWriter::create(&path, &header).unwrap();
        let mut objects = ObjectTable::default();
        let mut lengths = Vec::new();
        for step in 0..20_u32 {
            let id = ObjectId {
                kind: 3,
                key: Arc::new(ObjectKey::new("team", format!("w{}", step % 4))),
            };
            let time = header.start + SignedDuration::from_secs(i64::from(step));
            let value = json!({"metadata": {"name": id.key.name}, "step": step});
            let (delta, changed) = objects.put(&id, &value).unwrap();
            let version = Arc::new(ObjectVersion {
                id,
                time,
                value: changed.value,
            });
            let change = Change::Put {
                version,
                delta,
                bytes: changed.bytes,
            };
            writer.write(Entry { time, change }).unwrap();
            writer.flush().unwrap();
            lengths.push(std::fs::read(&path).unwrap().len());
        }
        let time = header.start + SignedDuration::from_secs(30);
        writer
            .write(Entry {
                time,
                change: Change::End,
            })
            .unwrap();
        writer.finish().unwrap();
        (std::fs::read(&path).unwrap(), lengths)
    }

    #[test]
    fn a_recording_is_read_as_it_was_written() {
        let (file, _) = recorded();
        let recording = parse_recording(&file).unwrap();
        assert_eq!(recording.note, None);
        let start = recording.header.start;
        for step in 0..20_i64 {
            let moment = recording
                .history
                .at(start + SignedDuration::from_secs(step));
            let name = format!("w{}", step % 4);
            let id = ObjectId {
                kind: 3,
                key: Arc::new(ObjectKey::new("team", name.clone())),
            };
            let version = moment.get(&id).unwrap();
            assert_eq!(
                version.value.to_json(),
                json!({"metadata": {"name": name}, "step": step})
            );
        }
        assert_eq!(
            recording.history.ends_at().duration_since(start).as_secs(),
            30
        );
    }

    #[test]
    fn a_file_that_is_cut_off_is_read_to_its_last_frame() {
        let (file, lengths) = recorded();
        for cut in lengths[0]..file.len() {
            let recording = parse_recording(&file[..cut]).unwrap();
            let steps = lengths.iter().filter(|length| **length <= cut).count();
            assert_eq!(recording.history.len(), steps, "{cut}");
            assert!(recording.note.is_some(), "{cut}");
        }
    }

    #[test]
    fn other_files_and_versions_are_refused() {
        assert!(matches!(
            parse_recording(b"apiVersion: v1\n"),
            Err(RecordingError::NoRecording)
        ));
        let mut header = header_of(Vec::new());
        header.version = 2;
        let mut file = MAGIC.to_vec();
        file.extend(
            FrameEncoder::new()
                .encode(&serde_json::to_vec(&header).unwrap())
                .unwrap(),
        );
        let error = parse_recording(&file).unwrap_err().to_string();
        assert!(
            error.contains("version 2") && error.contains("reads version 1"),
            "{error}"
        );
    }

    #[test]
    fn an_existing_file_is_not_overwritten_and_others_cannot_read_it() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("r");
        drop(RecordingWriter::create(&path, &header_of(Vec::new())).unwrap());
        assert!(RecordingWriter::create(&path, &header_of(Vec::new())).is_err());
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]
        #[test]
        fn any_bytes_are_read_or_refused(changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4), cut in any::<prop::sample::Index>()) {
            let (mut file, _) = recorded();
            for (at, byte) in changes {
                let at = at.index(file.len());
                file[at] = byte;
            }
            let _ = parse_recording(&file);
            let _ = parse_recording(&file[..cut.index(file.len())]);
        }

        #[test]
        fn any_entries_are_read_or_refused(lines in proptest::collection::vec((0..3_u64, proptest::option::of(0..3_u16), proptest::option::of("[ab](/[ab])?"), proptest::option::of(0..4_usize)), 0..20)) {
            let mut file = MAGIC.to_vec();
            let mut encoder = FrameEncoder::new();
            let header = header_of(RecordedKind::all()[..2].to_vec());
            file.extend(encoder.encode(&serde_json::to_vec(&header).unwrap()).unwrap());
            for (t, k, n, d) in lines {
                let d = d.map(|d| [json!([{"a": 1}]), json!({"a": [2]}), json!({"a": []}), json!(3)][d].clone());
                let line = Line { t, k, n, d, ..Line::default() };
                file.extend(encoder.encode(&serde_json::to_vec(&line).unwrap()).unwrap());
            }
            prop_assert!(parse_recording(&file).is_ok());
        }
    }
}
