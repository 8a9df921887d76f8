//! Reads the commands of containers: what they print, how long they sleep, how they exit. It knows
//! the words that scripts in job examples are made of and takes every other command for one that
//! succeeds at once.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Container, Pod};
use kube::ResourceExt;

use super::program::Step;

/// Variables of a container.
pub(super) type Environment = BTreeMap<String, String>;

/// A duration as commands and annotations write it: `30`, `1.5`, `10s`, `500ms`, `2m`, `1h30m`.
pub(super) fn duration(text: &str) -> Option<Duration> {
    let mut rest = text.trim();
    if let Ok(seconds) = rest.parse::<f64>() {
        return seconds_to_duration(seconds);
    }
    let mut total = 0.0;
    while !rest.is_empty() {
        let digits = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(rest.len());
        let number: f64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let letters = rest
            .find(|c: char| c.is_ascii_digit() || c == '.')
            .unwrap_or(rest.len());
        let unit = match &rest[..letters] {
            "ms" => 0.001,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            "d" => 86_400.0,
            _ => return None,
        };
        rest = &rest[letters..];
        total += number * unit;
    }
    seconds_to_duration(total)
}

fn seconds_to_duration(seconds: f64) -> Option<Duration> {
    // No lab runs longer than a century.
    (seconds.is_finite() && seconds >= 0.0).then(|| Duration::from_secs_f64(seconds.min(3.2e9)))
}

/// The variables a container sees, as far as they stand in its pod.
pub(super) fn environment(container: &Container, pod: &Pod) -> Environment {
    let mut known = Environment::from([("HOSTNAME".to_string(), pod.name_any())]);
    for variable in container.env.iter().flatten() {
        let value = match &variable.value_from {
            None => variable.value.clone(),
            Some(source) => source
                .field_ref
                .as_ref()
                .and_then(|field| pod_field(pod, &field.field_path)),
        };
        if let Some(value) = value {
            known.insert(variable.name.clone(), value);
        }
    }
    known
}

fn pod_field(pod: &Pod, path: &str) -> Option<String> {
    let keyed = |prefix: &str| path.strip_prefix(prefix)?.strip_suffix("']");
    if let Some(key) = keyed("metadata.annotations['") {
        return pod.annotations().get(key).cloned();
    }
    if let Some(key) = keyed("metadata.labels['") {
        return pod.labels().get(key).cloned();
    }
    match path {
        "metadata.name" => Some(pod.name_any()),
        "metadata.namespace" => pod.namespace(),
        "metadata.uid" => pod.uid(),
        "spec.nodeName" => pod.spec.as_ref()?.node_name.clone(),
        _ => None,
    }
}

/// What a command does; none when it says nothing about that.
pub(super) fn steps(words: &[&str], environment: &Environment) -> Option<Vec<Step>> {
    let program = words.first()?;
    let name = program.rsplit('/').next().unwrap_or_default();
    match name {
        "sh" | "bash" | "ash" | "dash" | "zsh" => {
            let script = script(words)?;
            Some(run(script, environment))
        }
        "python" | "python3" => {
            let at = words.iter().position(|w| *w == "-c")?;
            Some(python(words.get(at + 1)?))
        }
        "sleep" | "echo" | "true" | "false" | "printf" | "date" | "hostname" | "env"
        | "printenv" => {
            let mut steps = Vec::new();
            let words: Vec<String> = words.iter().map(|w| w.to_string()).collect();
            simple(&words, environment, &mut steps);
            Some(steps)
        }
        _ => None,
    }
}

/// The script of `sh -c SCRIPT`, with options before it and a lone `--`.
fn script<'a>(words: &[&'a str]) -> Option<&'a str> {
    let flag = words
        .iter()
        .position(|w| w.starts_with('-') && !w.starts_with("--") && w.ends_with('c'))?;
    words[flag + 1..].iter().find(|w| **w != "--").copied()
}

fn run(script: &str, environment: &Environment) -> Vec<Step> {
    let mut steps = Vec::new();
    for command in commands(script) {
        let words = split(&command, environment);
        if let Some(Step::Exit(_) | Step::Hang) = steps.last() {
            break;
        }
        simple(&words, environment, &mut steps);
    }
    steps
}

/// Commands of a script, at the separators outside quotes.
fn commands(script: &str) -> Vec<String> {
    let mut commands = vec![String::new()];
    let mut quote = None;
    let mut letters = script.chars().peekable();
    while let Some(c) = letters.next() {
        let current = commands.last_mut();
        match (quote, c) {
            (Some(q), _) if c == q => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            (None, ';' | '\n' | '&' | '|') => {
                commands.push(String::new());
                continue;
            }
            (None, '\\') if letters.peek() == Some(&'\n') => {
                letters.next();
                continue;
            }
            _ => {}
        }
        if let Some(current) = current {
            current.push(c);
        }
    }
    commands.retain(|c| !c.trim().is_empty());
    commands
}

/// Words of a command, quotes taken off and variables put in.
fn split(command: &str, environment: &Environment) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut letters = command.chars().peekable();
    while let Some(c) = letters.next() {
        match (quote, c) {
            (Some(q), _) if c == q => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (None, '#') if word.is_none() => break,
            (None | Some('"'), '$') => {
                let mut name = String::new();
                let braced = letters.next_if_eq(&'{').is_some();
                while let Some(c) = letters.next_if(|c| c.is_alphanumeric() || *c == '_') {
                    name.push(c);
                }
                if braced {
                    letters.next_if_eq(&'}');
                }
                let value = environment.get(&name).map(String::as_str);
                word.get_or_insert_default()
                    .push_str(value.unwrap_or_default());
            }
            (None | Some('"'), '\\') => word.get_or_insert_default().extend(letters.next()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// One command without control flow.
fn simple(words: &[String], environment: &Environment, steps: &mut Vec<Step>) {
    let mut words = words.iter().map(String::as_str);
    let mut first = words.next().unwrap_or_default();
    while matches!(
        first,
        "exec" | "then" | "do" | "else" | "time" | "nohup" | "{" | "("
    ) {
        first = words.next().unwrap_or_default();
    }
    let arguments: Vec<&str> = words.take_while(|w| !w.starts_with('>')).collect();
    match first.rsplit('/').next().unwrap_or_default() {
        "sleep" => {
            let mut total = Duration::ZERO;
            for argument in arguments {
                if argument == "infinity" || argument == "inf" {
                    return steps.push(Step::Hang);
                }
                total += duration(argument.trim_end_matches(')')).unwrap_or_default();
            }
            steps.push(Step::Wait(total));
        }
        "echo" => {
            let text = arguments.iter().skip_while(|a| matches!(**a, "-n" | "-e"));
            let text = text.copied().collect::<Vec<_>>().join(" ");
            steps.push(Step::Print(text));
        }
        "printf" => {
            let text = arguments.first().copied().unwrap_or_default();
            let text = text.replace("\\n", "\n");
            steps.extend(text.lines().map(|l| Step::Print(l.to_string())));
        }
        "hostname" => steps.push(Step::Print(
            environment.get("HOSTNAME").cloned().unwrap_or_default(),
        )),
        "env" | "printenv" if arguments.is_empty() => {
            let all = environment.iter().map(|(k, v)| format!("{k}={v}"));
            steps.extend(all.map(Step::Print));
        }
        "false" => steps.push(Step::Exit(1)),
        "exit" => {
            let code = arguments.first().and_then(|a| a.parse().ok());
            steps.push(Step::Exit(code.unwrap_or(0)));
        }
        _ => {}
    }
}

/// What a line of Python does, as far as it prints, sleeps and exits.
fn python(text: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    for statement in text.split([';', '\n']) {
        let argument = |call: &str| {
            let after = &statement[statement.find(call)? + call.len()..];
            Some(after[..after.rfind(')')?].trim())
        };
        if let Some(time) = argument("sleep(") {
            steps.push(Step::Wait(duration(time).unwrap_or_default()));
        } else if let Some(text) = argument("print(") {
            let text = text.trim_matches(['\'', '"']);
            steps.push(Step::Print(text.to_string()));
        } else if let Some(code) = argument("exit(") {
            steps.push(Step::Exit(code.parse().unwrap_or(1)));
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        for (text, expected) in [
            ("30", Some(30_000)),
            ("1.5", Some(1_500)),
            ("10s", Some(10_000)),
            ("1h30m", Some(5_400_000)),
            ("250ms", Some(250)),
            ("soon", None),
            ("-3", None),
            ("5 apples", None),
        ] {
            let expected = expected.map(Duration::from_millis);
            assert_eq!(duration(text), expected, "{text}");
        }
    }

    #[test]
    fn scripts_print_wait_and_exit() {
        let environment = Environment::from([("INDEX".into(), "3".into())]);
        let script = "set -e\necho \"worker ${INDEX} of 'n'\"; sleep 2 && echo 'a;b $INDEX' > /x\nexit 7; echo never";
        assert_eq!(
            steps(&["/bin/sh", "-ec", script], &environment).unwrap(),
            [
                Step::Print("worker 3 of 'n'".into()),
                Step::Wait(Duration::from_secs(2)),
                Step::Print("a;b $INDEX".into()),
                Step::Exit(7),
            ]
        );
        assert_eq!(
            steps(
                &["python3", "-c", "import time; print('hi'); time.sleep(4)"],
                &environment
            )
            .unwrap(),
            [Step::Print("hi".into()), Step::Wait(Duration::from_secs(4))]
        );
    }
}
