//! `base64`, `md5sum` and `sha256sum`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use md5::Md5;
use sha2::{Digest, Sha256};

use super::arguments::Arguments;
use super::context::{Context, Exit};

pub(super) async fn run(program: &str, context: &mut Context<'_>) -> Exit {
    let long = [("decode", 'd'), ("wrap", 'w')];
    let arguments = Arguments::parse(context.arguments, "w", &long);
    if program == "base64" {
        return base64(context, &arguments).await;
    }
    let paths = arguments.input_paths();
    let mut status = 0;
    for path in paths {
        match context.read(path).await {
            Ok(data) => {
                let hash = match program {
                    "md5sum" => hex(&Md5::digest(&data)),
                    _ => hex(&Sha256::digest(&data)),
                };
                context.line(format!("{hash}  {path}")).await?;
            }
            Err(error) => status = context.fail(1, format!("{path}: {error}")).await?,
        }
    }
    Ok(status)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

async fn base64(context: &Context<'_>, arguments: &Arguments<'_>) -> Exit {
    let (data, failed) = context.read_files(&arguments.operands).await?;
    if arguments.has('d') || arguments.has('D') {
        let text: Vec<u8> = data
            .into_iter()
            .filter(|b| !b.is_ascii_whitespace())
            .collect();
        return match STANDARD.decode(text) {
            Ok(decoded) => {
                context.write(decoded).await?;
                Ok(0)
            }
            Err(_) => context.fail(1, "invalid input").await,
        };
    }
    let encoded = STANDARD.encode(data);
    let width: usize = arguments
        .value('w')
        .and_then(|w| w.parse().ok())
        .unwrap_or(76);
    match width {
        0 => context.write(encoded).await?,
        width => {
            for line in encoded.as_bytes().chunks(width) {
                context.line(String::from_utf8_lossy(line)).await?;
            }
        }
    }
    Ok(i32::from(failed))
}
