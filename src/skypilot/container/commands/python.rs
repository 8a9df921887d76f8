//! `python -c`: one-liners of `time.sleep`, `print` and `exit`. Other programs succeed without output.

use kueue_lab_container_program::duration;

use super::context::{Context, Exit};

pub(super) async fn python(context: &mut Context<'_>) -> Exit {
    let at = context.arguments.iter().position(|word| word == "-c");
    let Some(text) = at.and_then(|at| context.arguments.get(at + 1)) else {
        return Ok(0);
    };
    for statement in text.split([';', '\n']) {
        let argument = |call: &str| {
            let after = &statement[statement.find(call)? + call.len()..];
            Some(after[..after.rfind(')')?].trim())
        };
        if let Some(time) = argument("sleep(") {
            super::environment::sleep(context, duration(time).unwrap_or_default()).await;
        } else if let Some(text) = argument("print(") {
            context.line(text.trim_matches(['\'', '"'])).await?;
        } else if let Some(code) = argument("exit(") {
            return Ok(code.parse().unwrap_or(1));
        }
    }
    Ok(0)
}
