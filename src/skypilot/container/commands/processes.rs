//! `ps`, `kill`, `uptime`, `free` and `sleep`.

use std::time::Duration;

use super::arguments::Arguments;
use super::context::{Context, Exit};

pub(super) async fn run(program: &str, context: &mut Context<'_>) -> Exit {
    match program {
        "ps" => ps(context).await,
        "kill" => kill(context).await,
        "free" => {
            context
                .line("              total        used        free      shared  buff/cache   available")
                .await?;
            context
                .line("Mem:       16384000     1024000    12288000           0     3072000    15360000")
                .await?;
            Ok(0)
        }
        _ => {
            let process = context.container().system().main_process();
            let minutes = context.now().duration_since(process.started).as_secs() / 60;
            let time = context.now().strftime("%H:%M:%S");
            let text =
                format!(" {time} up {minutes} min,  0 users,  load average: 0.00, 0.00, 0.00");
            context.line(text).await?;
            Ok(0)
        }
    }
}

async fn ps(context: &mut Context<'_>) -> Exit {
    let process = context.container().system().main_process();
    let main = match process.command.is_empty() {
        true => "/init".to_owned(),
        false => process.command.join(" "),
    };
    let own = std::iter::once(context.name.as_str());
    let own: Vec<&str> = own
        .chain(context.arguments.iter().map(String::as_str))
        .collect();
    let own = own.join(" ");
    let pid = context.shell.pid();
    let first = context.arguments.first().map_or("", String::as_str);
    let wide = first.contains('u') && !first.starts_with('-');
    let full = first.contains('f');
    let started = process.started.strftime("%H:%M");
    let title = match (wide, full) {
        (true, _) => "USER         PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND",
        (_, true) => "UID          PID    PPID  C STIME TTY          TIME CMD",
        _ => "PID   USER     TIME  COMMAND",
    };
    context.line(title).await?;
    for (pid, parent, command) in [(1, 0, &main), (pid, 0, &own)] {
        let text = match (wide, full) {
            (true, _) => format!(
                "root {pid:>11}  0.0  0.0   4360  3200 ?        Ss   {started}   0:00 {command}"
            ),
            (_, true) => {
                format!("root {pid:>11} {parent:>7}  0 {started} ?        00:00:00 {command}")
            }
            _ => format!("{pid:>5} root      0:00 {command}"),
        };
        context.line(text).await?;
    }
    Ok(0)
}

/// The number of a signal by name or number.
fn signal(text: &str) -> Option<i32> {
    let name = text.strip_prefix("SIG").unwrap_or(text);
    Some(match name {
        "HUP" => 1,
        "INT" => 2,
        "QUIT" => 3,
        "KILL" => 9,
        "USR1" => 10,
        "USR2" => 12,
        "TERM" => 15,
        number => number.parse().ok()?,
    })
}

async fn kill(context: &mut Context<'_>) -> Exit {
    let (mut number, mut status) = (15, 0);
    let mut rest = context.arguments.iter();
    while let Some(argument) = rest.next() {
        if let Some(option) = argument.strip_prefix('-') {
            let name = match option {
                "s" | "n" => rest.next().map_or("", String::as_str),
                name => name,
            };
            match signal(name) {
                Some(signal) => number = signal,
                None => return context.fail(1, format!("bad signal name '{name}'")).await,
            }
            continue;
        }
        match argument.parse::<u32>() {
            Ok(1) => context.container().system().signal(number),
            Ok(pid) => {
                let message = format!("can't kill pid {pid}: No such process");
                status = context.fail(1, message).await?;
            }
            Err(_) => {
                status = context
                    .fail(1, format!("invalid number '{argument}'"))
                    .await?
            }
        }
    }
    Ok(status)
}

/// `sleep`
pub(super) async fn sleep(context: &mut Context<'_>) -> Exit {
    let arguments = Arguments::parse(context.arguments, "", &[]);
    if arguments.operands.is_empty() {
        return context.fail(1, "missing operand").await;
    }
    let mut total = Duration::ZERO;
    for text in arguments.operands {
        match text {
            "infinity" | "inf" => std::future::pending::<()>().await,
            text => match kueue_lab_container_program::duration(text) {
                Some(time) => total = total.saturating_add(time),
                None => {
                    let message = format!("invalid time interval '{text}'");
                    return context.fail(1, message).await;
                }
            },
        }
    }
    super::environment::sleep(context, total).await;
    Ok(0)
}
