//! The command line.

use super::super::context::{Context, Exit};
use super::interpreter::{Flow, Interpreter};
use super::parser::parse;
use super::token::unescaped;
use super::value::Value;

/// `awk [-F SEPARATOR] [-v NAME=VALUE] [-f FILE | PROGRAM] [FILE...]`
pub(crate) async fn awk(context: &mut Context<'_>) -> Exit {
    let (mut variables, mut program) = (Vec::new(), None);
    let mut operands = Vec::new();
    let mut rest = context.arguments.iter();
    while let Some(argument) = rest.next() {
        let option = argument
            .get(..2)
            .filter(|o| matches!(*o, "-F" | "-v" | "-f"));
        let Some(option) = option.filter(|_| program.is_none() || operands.is_empty()) else {
            match argument.as_str() {
                "--" => {}
                option if option.starts_with('-') && option.len() > 1 && operands.is_empty() => {
                    return context.fail(2, format!("unknown option {option}")).await;
                }
                operand => operands.push(operand),
            }
            if program.is_none() {
                program = operands.pop().map(str::to_owned);
            }
            continue;
        };
        let attached = &argument[2..];
        let value = match attached {
            "" => rest.next().map(String::as_str),
            attached => Some(attached),
        };
        let Some(value) = value else {
            return context
                .fail(2, format!("option {option} needs a value"))
                .await;
        };
        match (option, value.split_once('=')) {
            ("-F", _) => {
                let separator = if value == "t" { "\t" } else { value };
                variables.push(("FS".to_owned(), unescaped(separator)));
            }
            ("-v", Some((name, value))) => variables.push((name.into(), unescaped(value))),
            ("-v", None) => {
                return context.fail(2, format!("{value} is no assignment")).await;
            }
            _ => match context.read_file(value) {
                Ok(text) => program = Some(String::from_utf8_lossy(&text).into_owned()),
                Err(error) => return context.fail(2, format!("{value}: {error}")).await,
            },
        }
    }
    let Some(program) = program else {
        let usage = "usage: awk [-F fs] [-v var=value] [prog | -f progfile] [file ...]";
        return context.fail(2, usage).await;
    };
    let program = match parse(&program) {
        Ok(program) => program,
        Err(error) => return context.fail(2, error.to_string()).await,
    };
    let mut interpreter = Interpreter::new(&program);
    for (name, value) in variables {
        interpreter.set(&name, Value::Input(value));
    }
    let mut failed = false;
    let mut flow = interpreter.begin();
    let reads = !program.rules.is_empty() || !program.end.is_empty();
    if flow.is_ok() && reads {
        let mut files: Vec<&str> = Vec::new();
        for operand in &operands {
            match operand.split_once('=').filter(|(name, _)| is_name(name)) {
                Some((name, value)) => interpreter.set(name, Value::Input(unescaped(value))),
                None => files.push(operand),
            }
        }
        if files.is_empty() {
            files.push("-");
        }
        for file in files {
            let data = match context.read(file).await {
                Ok(data) => data,
                Err(error) => {
                    context.fail(2, format!("{file}: {error}")).await?;
                    failed = true;
                    continue;
                }
            };
            let name = if file == "-" { "" } else { file };
            flow = interpreter.file(name, &String::from_utf8_lossy(&data));
            if flow.is_err() {
                break;
            }
        }
    }
    if matches!(flow, Ok(()) | Err(Flow::Exit)) {
        let exited = flow.is_err();
        flow = match interpreter.end() {
            // `exit` in `END` ends the program.
            Ok(()) if exited => Ok(()),
            other => other,
        };
    }
    let size = interpreter.out.len() + interpreter.errors.len();
    if !context.has_memory(size) {
        return Ok(137);
    }
    context.write(&interpreter.out).await?;
    if !interpreter.errors.is_empty() {
        context.streams.stderr.write(&interpreter.errors).await?;
    }
    match flow {
        Err(Flow::Error(error)) => context.fail(2, error).await,
        _ if failed => Ok(2),
        _ => Ok(interpreter.exit_code),
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
