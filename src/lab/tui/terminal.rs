//! The terminal: setup, drawing, and restoring it on every exit.
//!
//! A thread writes the frames, so that a slow terminal does not block the UI; a newer frame replaces
//! one that is not written yet. Only differences from the previous frame are written.

use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use crossterm::cursor::{Hide, MoveTo, Show};
use crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
};
use crossterm::terminal::{
    BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate, EnterAlternateScreen,
    LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use crossterm::{execute, queue};
use parking_lot::{Condvar, Mutex};
use ratatui::backend::{Backend, CrosstermBackend};
use ratatui::buffer::Buffer;

use crate::screen::Cursor;

/// Whether the terminal is set up for the UI. A process has one terminal.
static TERMINAL_ACQUIRED: AtomicBool = AtomicBool::new(false);
/// Whether anything panicked since the setup.
static PANICKED: AtomicBool = AtomicBool::new(false);

/// The terminal, set up for the UI.
#[derive(Debug)]
pub(crate) struct Screen {
    shared: Arc<Shared>,
    writer: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    queue: Mutex<WriteQueue>,
    wakeup: Condvar,
    disconnected: AtomicBool,
}

/// The output to write.
#[derive(Debug, Default)]
struct WriteQueue {
    frame: Option<(Buffer, Cursor)>,
    clipboard: Option<String>,
    closed: bool,
}

impl Screen {
    /// Sets up the terminal.
    ///
    /// # Errors
    /// Standard input or output is not a terminal, or the setup fails.
    pub(crate) fn open(mouse: bool) -> io::Result<Self> {
        if !io::stdout().is_terminal() || !io::stdin().is_terminal() {
            return Err(io::Error::new(
                io::ErrorKind::NotConnected,
                "standard input and output are not a terminal",
            ));
        }
        install_panic_hook();
        enable_raw_mode()?;
        TERMINAL_ACQUIRED.store(true, Ordering::SeqCst);
        let shared = Arc::new(Shared::default());
        // From here on dropping the screen restores the terminal.
        let mut screen = Self {
            shared: Arc::clone(&shared),
            writer: None,
        };
        execute!(
            io::stdout(),
            EnterAlternateScreen,
            EnableBracketedPaste,
            Hide
        )?;
        if mouse {
            execute!(io::stdout(), EnableMouseCapture)?;
        }
        let writer = std::thread::Builder::new().name("screen".to_owned());
        screen.writer = Some(writer.spawn(move || write_frames(&shared))?);
        Ok(screen)
    }

    /// Queues a frame; it is written after the previous one.
    pub(crate) fn show(&self, frame: Buffer, cursor: Cursor) {
        self.shared.queue.lock().frame = Some((frame, cursor));
        self.shared.wakeup.notify_one();
    }

    /// Puts text on the clipboard of the terminal (OSC 52).
    pub(crate) fn copy(&self, text: String) {
        self.shared.queue.lock().clipboard = Some(text);
        self.shared.wakeup.notify_one();
    }

    /// Whether the terminal is gone.
    pub(crate) fn is_disconnected(&self) -> bool {
        self.shared.disconnected.load(Ordering::SeqCst)
    }

    /// Whether anything in the process panicked since the setup.
    pub(crate) fn panicked() -> bool {
        PANICKED.load(Ordering::SeqCst)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.shared.queue.lock().closed = true;
        self.shared.wakeup.notify_one();
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
        restore_terminal();
    }
}

/// Restores the terminal of the UI, for a process that ends without the UI; further calls do nothing.
pub fn restore_terminal() {
    if TERMINAL_ACQUIRED.swap(false, Ordering::SeqCst) {
        // First, as a terminal that takes no output blocks what follows.
        let _ = disable_raw_mode();
        let mut out = io::stdout().lock();
        let _ = execute!(
            out,
            EndSynchronizedUpdate,
            DisableMouseCapture,
            DisableBracketedPaste,
            LeaveAlternateScreen,
            Show
        );
    }
}

/// Installs a panic hook that restores the terminal before the report is printed.
fn install_panic_hook() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if TERMINAL_ACQUIRED.load(Ordering::SeqCst) {
                PANICKED.store(true, Ordering::SeqCst);
                restore_terminal();
            }
            before(info);
        }));
    });
}

/// Writes queued output until the queue is closed.
fn write_frames(shared: &Shared) {
    let mut painter = Painter::default();
    loop {
        let (frame, copied) = {
            let mut queue = shared.queue.lock();
            while queue.frame.is_none() && queue.clipboard.is_none() && !queue.closed {
                shared.wakeup.wait(&mut queue);
            }
            if queue.closed {
                return;
            }
            (queue.frame.take(), queue.clipboard.take())
        };
        let mut bytes = Vec::new();
        if let Some(text) = copied {
            bytes.extend(osc52_sequence(&text));
        }
        if let Some((frame, cursor)) = frame {
            bytes.extend(painter.paint(frame, cursor).unwrap_or_default());
        }
        if !bytes.is_empty() && !write_out(&bytes) {
            shared.disconnected.store(true, Ordering::SeqCst);
            return;
        }
    }
}

/// Writes to the terminal while it is set up; returns whether that succeeded.
fn write_out(bytes: &[u8]) -> bool {
    let mut out = io::stdout().lock();
    if !TERMINAL_ACQUIRED.load(Ordering::SeqCst) {
        return true;
    }
    out.write_all(bytes).and_then(|()| out.flush()).is_ok()
}

/// The escape sequence that puts text on the clipboard.
fn osc52_sequence(text: &str) -> Vec<u8> {
    use base64::Engine;
    let coded = base64::engine::general_purpose::STANDARD.encode(text);
    format!("\x1b]52;c;{coded}\x07").into_bytes()
}

/// Encodes frames as differences from the previous frame.
#[derive(Debug, Default)]
struct Painter {
    shown: Option<Buffer>,
    cursor: Cursor,
}

impl Painter {
    fn paint(&mut self, frame: Buffer, cursor: Cursor) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let before = match self.shown.take() {
            Some(before) if before.area == frame.area => before,
            _ => {
                queue!(bytes, Clear(ClearType::All))?;
                Buffer::empty(frame.area)
            }
        };
        let changes = before.diff(&frame);
        let moved = cursor != self.cursor;
        if !changes.is_empty() || moved || !bytes.is_empty() {
            let mut out = Vec::new();
            queue!(out, BeginSynchronizedUpdate)?;
            out.append(&mut bytes);
            if !changes.is_empty() {
                CrosstermBackend::new(&mut out).draw(changes.into_iter())?;
            }
            match cursor {
                Some((x, y)) => queue!(out, MoveTo(x, y), Show)?,
                None if moved => queue!(out, Hide)?,
                None => {}
            }
            queue!(out, EndSynchronizedUpdate)?;
            bytes = out;
        }
        self.cursor = cursor;
        self.shown = Some(frame);
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use ratatui::layout::Rect;
    use ratatui::style::Style;

    use super::*;

    fn frame(text: &str) -> Buffer {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 20, 2));
        buffer.set_string(0, 0, text, Style::new());
        buffer
    }

    #[test]
    fn an_equal_frame_writes_nothing() {
        let mut painter = Painter::default();
        assert!(!painter.paint(frame("hello"), None).unwrap().is_empty());
        assert_eq!(painter.paint(frame("hello"), None).unwrap(), b"");
        let bytes = painter.paint(frame("hallo"), None).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.contains('a') && !text.contains("ll"), "{text:?}");
    }

    #[test]
    fn the_cursor_shows_only_where_text_is_typed() {
        let mut painter = Painter::default();
        painter.paint(frame("x"), None).unwrap();
        let shown = painter.paint(frame("x"), Some((3, 1))).unwrap();
        assert!(String::from_utf8(shown).unwrap().contains("\u{1b}[?25h"));
        let hidden = painter.paint(frame("x"), None).unwrap();
        assert!(String::from_utf8(hidden).unwrap().contains("\u{1b}[?25l"));
    }

    #[test]
    fn the_clipboard_gets_text_in_base64() {
        assert_eq!(osc52_sequence("job-1"), b"\x1b]52;c;am9iLTE=\x07");
    }
}
