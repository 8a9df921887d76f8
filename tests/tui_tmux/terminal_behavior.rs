//! The terminal is restored on every exit; sizes change; colours can be off.

use std::sync::Arc;

use async_trait::async_trait;
use kueue_lab_apiserver::ApiServer;
use kueue_lab_clock::Clock;
use kueue_lab_clock::Entropy;
use kueue_lab_tui::backend::{
    Backend, Demo, DemoBackend, DemoStart, DemoStarted, OperationError, ScenarioProgress,
};
use kueue_lab_tui::{TuiConfig, TuiError, run};
use tokio::sync::watch;

use super::tmux_pane::{TmuxPane, available};
use super::{lab, presets, up};

#[test]
fn quitting_confirms_and_restores_the_terminal() {
    if !available() {
        return;
    }
    let terminal = lab(80, 24, &[]);
    assert!(terminal.in_alternate_screen());
    terminal.press(&["q"]);
    terminal.wait_for_text("stop the lab");
    terminal.press(&["n"]);
    terminal.wait_until("no question", |s| !s.contains("stop the lab"));
    terminal.press(&["q", "y"]);
    terminal.assert_exited("0");
}

#[test]
fn a_dumb_terminal_gets_no_ui() {
    if !available() {
        return;
    }
    let command = up(&presets(), "");
    let terminal = TmuxPane::open(100, 30, &command, &[("TERM", "dumb")]);
    terminal.wait_for_text("ready kubeconfig");
    assert!(!terminal.in_alternate_screen());
    terminal.signal("-TERM", "kueue-lab");
    terminal.assert_exited("0");
}

#[test]
fn a_signal_exits_cleanly() {
    if !available() {
        return;
    }
    let terminal = lab(80, 24, &[]);
    terminal.signal("-TERM", "kueue-lab");
    terminal.assert_exited("0");
}

/// The second signal comes while the shutdown still takes a minute.
#[test]
fn a_second_signal_ends_the_process_and_restores_the_terminal() {
    if !available() {
        return;
    }
    let command = up(&presets(), "--shutdown-delay-duration 60");
    let terminal = TmuxPane::open(80, 24, &command, &[]);
    terminal.wait_for_text("1 Queues");
    // Two different ones: a pending signal is not counted.
    terminal.signal("-INT", "kueue-lab");
    terminal.signal("-TERM", "kueue-lab");
    terminal.assert_exited("143");
}

#[test]
fn the_ui_opens_on_an_invalid_preset_and_applies_its_correction() {
    if !available() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("queues.yaml");
    let queue = |field: &str| {
        format!(
            "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata:\n  name: corrected\n\
             spec:\n  {field}: BestEffortFIFO\n"
        )
    };
    std::fs::write(&file, queue("queueingStratgy")).unwrap();
    let terminal = TmuxPane::open(120, 30, &up(folder.path(), ""), &[]);
    terminal.wait_for_text("queueingStratgy");
    std::fs::write(&file, queue("queueingStrategy")).unwrap();
    terminal.wait_until("the queue without an error", |screen| {
        screen.contains("corrected") && !screen.contains("queueingStratgy")
    });
    terminal.press(&["q", "y"]);
    terminal.assert_exited("0");
}

#[test]
fn the_shell_suspends_and_continues_the_ui() {
    if !available() {
        return;
    }
    for suspend in ["ctrl-z", "SIGTSTP"] {
        let shell = format!(
            "set -m; {}; echo \"stopped with $?\"; read line; fg",
            up(&presets(), "")
        );
        let terminal = TmuxPane::open(80, 24, &shell, &[]);
        let queues = |screen: &str| screen.contains("1 Queues") && screen.contains("0/9");
        terminal.wait_until("the queues", queues);
        match suspend {
            "ctrl-z" => terminal.press(&["C-z"]),
            _ => terminal.signal("-TSTP", "kueue-lab"),
        }
        terminal.wait_for_text("stopped with 1");
        assert!(!terminal.in_alternate_screen(), "{suspend}");
        terminal.press(&["Enter"]);
        terminal.wait_until("the queues again", queues);
        assert!(terminal.in_alternate_screen(), "{suspend}");
        terminal.press(&["q", "y"]);
        terminal.assert_exited("0");
    }
}

#[test]
fn every_terminal_size_is_redrawn() {
    if !available() {
        return;
    }
    let terminal = lab(200, 60, &[]);
    for (columns, rows) in [(80, 24), (120, 40), (40, 10), (20, 4), (200, 60)] {
        terminal.resize(columns, rows);
        terminal.wait_until("the last line in the last row", |screen| {
            let lines: Vec<&str> = screen.lines().collect();
            let full = lines.len() == usize::from(rows);
            full && lines.last().is_some_and(|l| l.contains("? help"))
        });
    }
    terminal.press(&["q", "y"]);
    terminal.assert_exited("0");
}

#[test]
fn no_color_disables_colors() {
    if !available() {
        return;
    }
    // Colors are SGR sequences 30 to 37, 40 to 47, 38 and 48.
    let colours = regex::Regex::new(r"\x1b\[(?:[0-9;]*;)?[34][0-8](?:;[0-9;]*)?m").unwrap();
    let terminal = lab(80, 24, &[]);
    assert!(colours.is_match(&terminal.coloured()));
    drop(terminal);
    let terminal = lab(80, 24, &[("NO_COLOR", "1")]);
    for view in ["1", "2", "3", "4", "5", "6", "?"] {
        terminal.press(&[view]);
        let shown = terminal.coloured();
        assert!(!colours.is_match(&shown), "{shown:?}");
    }
}

#[test]
fn a_locale_without_utf8_gets_ascii() {
    if !available() {
        return;
    }
    let terminal = lab(80, 24, &[("LC_ALL", "C")]);
    let screen = terminal.screen();
    assert!(screen.is_ascii(), "{screen}");
}

/// A demo that panics.
struct Panicking;

#[async_trait]
impl DemoBackend for Panicking {
    fn list(&self) -> Vec<Demo> {
        vec![Demo {
            name: "fall".to_owned(),
            summary: "falls".to_owned(),
            preset: None,
        }]
    }

    fn changes(&self) -> watch::Receiver<Arc<ScenarioProgress>> {
        watch::channel(Arc::default()).1
    }

    async fn start(&self, _: &DemoStart) -> Result<DemoStarted, OperationError> {
        panic!("injected panic")
    }
}

/// Not a test: the program that the next test runs in a terminal.
#[test]
#[ignore = "takes over the terminal and panics"]
fn child_that_panics() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let server = ApiServer::builder(Clock::real(), Entropy::seeded(1)).build();
        let backend = Backend {
            demos: Some(Arc::new(Panicking)),
            ..Backend::of_cluster(server.client())
        };
        let config = TuiConfig::new(backend, Clock::real());
        let ended = run(config).await;
        assert!(matches!(ended, Err(TuiError::Panicked)), "{ended:?}");
    });
}

#[test]
fn a_panic_restores_the_terminal_before_it_is_reported() {
    if !available() {
        return;
    }
    let own = std::env::current_exe().unwrap();
    let command = format!(
        "{} terminal_behavior::child_that_panics --exact --ignored --nocapture",
        own.display()
    );
    let terminal = TmuxPane::open(100, 40, &command, &[("RUST_BACKTRACE", "0")]);
    terminal.wait_for_text("1 Queues");
    terminal.press(&["D"]);
    let screen = terminal.assert_exited("0");
    assert!(screen.contains("injected panic"), "{screen}");
}
