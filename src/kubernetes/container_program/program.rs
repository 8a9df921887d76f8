//! A simulated program: its output, duration and exit code.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// The duration of a program that does not say how long it runs.
pub const DEFAULT_DURATION: Duration = Duration::from_secs(30);
/// Maximum number of steps; a longer program runs forever.
const STEPS: usize = 100_000;

/// The bytes of output that the programs of this process keep together. The output of a program
/// above it is not kept.
pub const MAX_RETAINED: usize = 64 << 20;
/// The retained output of all programs, in bytes.
static RETAINED: AtomicUsize = AtomicUsize::new(0);

/// One step of a program.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Prints a line.
    Print(String),
    /// Waits.
    Wait(Duration),
    /// Runs forever.
    Hang,
    /// Repeats these steps.
    Loop(Vec<Step>),
    /// Exits with this code.
    Exit(i32),
}

/// The steps of a program from start to exit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Program {
    steps: Arc<[Step]>,
    _output: Option<Arc<RetainedOutput>>,
}

/// Output that counts for [`MAX_RETAINED`] until it is dropped, in bytes.
#[derive(Debug, PartialEq)]
struct RetainedOutput(usize);

impl RetainedOutput {
    /// `None` if there is no space for it.
    fn new(bytes: usize) -> Option<Self> {
        let add = |all: usize| Some(all + bytes).filter(|all| *all <= MAX_RETAINED);
        RETAINED
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, add)
            .is_ok()
            .then(|| Self(bytes))
    }
}

impl Drop for RetainedOutput {
    fn drop(&mut self) {
        RETAINED.fetch_sub(self.0, Ordering::Relaxed);
    }
}

/// The steps that print nothing.
fn without_output(steps: Vec<Step>) -> Vec<Step> {
    let quiet = steps.into_iter().filter_map(|step| match step {
        Step::Print(_) => None,
        Step::Loop(body) => Some(Step::Loop(without_output(body))),
        step => Some(step),
    });
    quiet.collect()
}

/// The size of the lines of steps, in bytes.
fn output_size(steps: &[Step]) -> usize {
    let sizes = steps.iter().map(|step| match step {
        Step::Print(line) => line.len() + size_of::<Step>(),
        Step::Loop(body) => output_size(body),
        _ => 0,
    });
    sizes.sum()
}

/// An event of a program, with its time after the start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProgramEvent<'a> {
    /// It printed a line.
    Line(Duration, &'a str),
    /// It exited with this code.
    Exit(Duration, i32),
}

impl Program {
    /// A program of these steps; it exits with 0 after the last. Without space for its output it
    /// prints one line that says so.
    pub fn new(mut steps: Vec<Step>) -> Self {
        let size = output_size(&steps);
        let mut output = None;
        if size > 0 {
            output = RetainedOutput::new(size).map(Arc::new);
            if output.is_none() {
                steps = without_output(steps);
                let text = format!(
                    "kueue-lab: the output of this container is not kept: that of all containers has \
                     the limit container-output-bytes ({MAX_RETAINED}); delete other pods \
                     (kueue-lab up --limits)"
                );
                steps.insert(0, Step::Print(text));
            }
        }
        Self {
            steps: steps.into(),
            _output: output,
        }
    }

    /// The steps.
    pub fn into_steps(self) -> Vec<Step> {
        self.steps.to_vec()
    }

    /// The same output with another duration or exit code.
    #[must_use]
    pub fn overridden(self, time: Option<Duration>, code: Option<i32>) -> Self {
        let own = self.end();
        let until = time.or(own.map(|(at, _)| at)).unwrap_or(DEFAULT_DURATION);
        let code = code.or(own.map(|(_, code)| code)).unwrap_or(0);
        let mut steps = Vec::new();
        let mut at = Duration::ZERO;
        for event in self.events().take(STEPS) {
            match event {
                ProgramEvent::Line(then, line) if then <= until => {
                    steps.push(Step::Wait(then - at));
                    steps.push(Step::Print(line.to_string()));
                    at = then;
                }
                _ => break,
            }
        }
        steps.push(Step::Wait(until - at));
        steps.push(Step::Exit(code));
        Self::new(steps)
    }

    /// When and how the program exits; `None` if it never does.
    pub fn end(&self) -> Option<(Duration, i32)> {
        self.events().find_map(|event| match event {
            ProgramEvent::Exit(at, code) => Some((at, code)),
            ProgramEvent::Line(..) => None,
        })
    }

    /// The events of the program, in order.
    pub fn events(&self) -> ProgramEvents<'_> {
        ProgramEvents {
            stack: vec![(&self.steps, 0, false)],
            at: Duration::ZERO,
            budget: STEPS,
        }
    }
}

/// Iterator over the events of a program.
pub struct ProgramEvents<'a> {
    stack: Vec<(&'a [Step], usize, bool)>,
    at: Duration,
    budget: usize,
}

impl<'a> Iterator for ProgramEvents<'a> {
    type Item = ProgramEvent<'a>;

    fn next(&mut self) -> Option<ProgramEvent<'a>> {
        loop {
            self.budget = self.budget.checked_sub(1)?;
            let (steps, next, endless) = self.stack.last_mut()?;
            let Some(step) = steps.get(*next) else {
                if *endless {
                    *next = 0;
                    continue;
                }
                self.stack.clear();
                return Some(ProgramEvent::Exit(self.at, 0));
            };
            *next += 1;
            match step {
                Step::Print(line) => return Some(ProgramEvent::Line(self.at, line)),
                Step::Wait(time) => self.at = self.at.saturating_add(*time),
                Step::Hang => self.stack.clear(),
                Step::Loop(body) => self.stack.push((body, 0, true)),
                Step::Exit(code) => {
                    self.stack.clear();
                    return Some(ProgramEvent::Exit(self.at, *code));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_of_all_programs_has_a_limit() {
        let program = |size: usize| {
            let steps = vec![Step::Print("x".repeat(size)), Step::Wait(DEFAULT_DURATION)];
            Program::new(steps)
        };
        let first = program(MAX_RETAINED / 2);
        let second = program(MAX_RETAINED * 3 / 4);
        assert_eq!(second.end(), first.end());
        let Some(ProgramEvent::Line(_, line)) = second.events().next() else {
            panic!("{second:?}");
        };
        assert!(line.contains("container-output-bytes"), "{line}");
        drop(first);
        let third = program(MAX_RETAINED * 3 / 4);
        assert!(
            matches!(third.events().next(), Some(ProgramEvent::Line(_, line)) if line.len() > MAX_RETAINED / 2)
        );
    }

    #[test]
    fn an_endless_loop_uses_constant_memory() {
        let program = Program::new(vec![Step::Loop(vec![
            Step::Print("tick".into()),
            Step::Wait(Duration::from_secs(1)),
        ])]);
        assert_eq!(program.end(), None);
        let third = program.events().nth(2);
        assert_eq!(
            third,
            Some(ProgramEvent::Line(Duration::from_secs(2), "tick"))
        );
    }
}
