//! Executes compound commands.

use kueue_lab_shell::{arithmetic, pattern, test_expression};

use super::state::{Flow, Shell};
use crate::streams::Streams;
use kueue_lab_shell::syntax::{Compound, List};

impl Shell {
    pub(super) async fn run_compound(&mut self, compound: &Compound, streams: &Streams) -> Flow {
        match compound {
            Compound::Group(list) => self.run_list(list, streams).await,
            Compound::Subshell(list) => {
                let mut subshell = self.subshell();
                subshell.run_list(list, streams).await;
                self.status = subshell.status;
                Flow::Next
            }
            Compound::If {
                branches,
                otherwise,
            } => {
                for (test, body) in branches {
                    let flow = self.run_condition(test, streams).await;
                    if flow != Flow::Next {
                        return flow;
                    }
                    if self.status == 0 {
                        return self.run_list(body, streams).await;
                    }
                }
                self.status = 0;
                match otherwise {
                    Some(body) => self.run_list(body, streams).await,
                    None => Flow::Next,
                }
            }
            Compound::While {
                condition,
                until,
                body,
            } => self.run_while(condition, *until, body, streams).await,
            Compound::For { name, words, body } => {
                let expanded_items;
                let values = match words {
                    None => self.positional.clone(),
                    Some(words) => match self.expand_words(words, streams).await {
                        Ok(expanded) => {
                            expanded_items = expanded;
                            expanded_items.words.clone()
                        }
                        Err(error) => return self.expansion_failed(&error, streams).await,
                    },
                };
                self.status = 0;
                for value in values {
                    self.set(name, value);
                    let flow = self.run_list(body, streams).await;
                    if let Some(flow) = after_iteration(flow) {
                        return flow;
                    }
                }
                Flow::Next
            }
            Compound::ArithmeticFor { expressions, body } => {
                let [initial, test, step] = expressions;
                let mut texts = Vec::new();
                for expression in [initial, test, step] {
                    texts.push(
                        self.expand_text(expression, streams)
                            .await
                            .unwrap_or_default(),
                    );
                }
                arithmetic(self, &texts[0]);
                while texts[1].trim().is_empty() || arithmetic(self, &texts[1]) != 0 {
                    if !self.process.step().await {
                        self.status = 137;
                        return Flow::Exit;
                    }
                    let flow = self.run_list(body, streams).await;
                    if let Some(flow) = after_iteration(flow) {
                        return flow;
                    }
                    arithmetic(self, &texts[2]);
                }
                Flow::Next
            }
            Compound::Case { word, arms } => {
                let text = match self.expand_text(word, streams).await {
                    Ok(text) => text,
                    Err(error) => return self.expansion_failed(&error, streams).await,
                };
                self.status = 0;
                for arm in arms {
                    for word in &arm.patterns {
                        let found = match self.expand_pattern(word, streams).await {
                            Ok(pattern) => pattern::matches(&pattern, &text),
                            Err(error) => return self.expansion_failed(&error, streams).await,
                        };
                        if found {
                            return self.run_list(&arm.body, streams).await;
                        }
                    }
                }
                Flow::Next
            }
            Compound::Arithmetic(expression) => {
                let text = match self.expand_text(expression, streams).await {
                    Ok(text) => text,
                    Err(error) => return self.expansion_failed(&error, streams).await,
                };
                self.status = i32::from(arithmetic(self, &text) == 0);
                Flow::Next
            }
            Compound::Condition(words) => {
                let mut texts = Vec::new();
                for word in words {
                    match self.expand_pattern(word, streams).await {
                        Ok(text) => texts.push(text),
                        Err(error) => return self.expansion_failed(&error, streams).await,
                    }
                }
                self.status = test_expression::condition(self, &texts);
                Flow::Next
            }
        }
    }

    /// Executes a condition, whose failure does not exit the shell.
    async fn run_condition(&mut self, list: &List, streams: &Streams) -> Flow {
        let tested = std::mem::replace(&mut self.tested, true);
        let flow = self.run_list(list, streams).await;
        self.tested = tested;
        flow
    }

    async fn run_while(
        &mut self,
        condition: &List,
        until: bool,
        body: &List,
        streams: &Streams,
    ) -> Flow {
        let mut status = 0;
        let (mut round, mut mark) = (0, 0);
        loop {
            if self.is_endless(round, &mut mark) {
                std::future::pending::<()>().await;
            }
            // A loop that reads lines ends with them.
            let lines_read = self.lines_read;
            if !self.process.step().await {
                self.status = 137;
                return Flow::Exit;
            }
            let flow = self.run_condition(condition, streams).await;
            if let Some(flow) = after_iteration(flow) {
                return flow;
            }
            if (self.status == 0) == until {
                self.status = status;
                return Flow::Next;
            }
            let flow = self.run_list(body, streams).await;
            if let Some(flow) = after_iteration(flow) {
                return flow;
            }
            status = self.status;
            round += u32::from(self.lines_read == lines_read);
        }
    }
}

/// How a loop continues after an iteration; `None` if with the next one.
fn after_iteration(flow: Flow) -> Option<Flow> {
    match flow {
        Flow::Next | Flow::Continue(..=1) => None,
        Flow::Break(..=1) => Some(Flow::Next),
        Flow::Break(count) => Some(Flow::Break(count - 1)),
        Flow::Continue(count) => Some(Flow::Continue(count - 1)),
        Flow::Return | Flow::Exit => Some(flow),
    }
}
