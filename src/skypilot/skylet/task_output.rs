//! The output of a task's processes in the log of its job.

use bytes::Bytes;
use kueue_lab_container::Container;
use tokio::sync::mpsc;

/// Maximum length of a line, in bytes; longer ones are divided.
const LINE: usize = 1 << 20;

/// Where the output of a process is written.
pub(crate) struct TaskOutput {
    /// The driver's output, in which lines have a prefix.
    pub(crate) driver: mpsc::Sender<String>,
    /// The name of the process, such as `train, pid=70`.
    pub(crate) name: String,
}

impl TaskOutput {
    /// Copies output to the log file of the node and to the driver.
    pub(crate) async fn copy(
        &self,
        mut output: mpsc::Receiver<Bytes>,
        container: &Container,
        log_path: &str,
    ) {
        let mut line = Vec::new();
        while let Some(data) = output.recv().await {
            // The log ends when there is no space left; the job continues.
            let _ = container.write_file(log_path, &data, true);
            for byte in data {
                line.push(byte);
                if byte == b'\n' || line.len() >= LINE {
                    self.write(&mut line).await;
                }
            }
        }
        if !line.is_empty() {
            self.write(&mut line).await;
        }
    }

    async fn write(&self, line: &mut Vec<u8>) {
        let text = String::from_utf8_lossy(line);
        let text = text.strip_suffix('\n').unwrap_or(&text);
        let text = format!("\x1b[36m({})\x1b[0m {text}\n", self.name);
        line.clear();
        let _ = self.driver.send(text).await;
    }
}
