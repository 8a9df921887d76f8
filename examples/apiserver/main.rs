//! Serves the embedded Kubernetes API alone, for conformance runs:
//! `cargo run --example apiserver -- --kubeconfig-out FILE [--port N]`.

mod namespaces;

use std::path::PathBuf;

use anyhow::Context;
use clap::Parser;
use kueue_lab::apiserver::{ApiServer, ServeOptions};
use kueue_lab::clock::Clock;
use kueue_lab::entropy::Entropy;

#[derive(Parser)]
struct Args {
    /// Where to write the kubeconfig.
    #[arg(long)]
    kubeconfig_out: PathBuf,
    /// The port to listen on; 0 takes any that is free.
    #[arg(long, default_value_t = 0)]
    port: u16,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let server = ApiServer::builder(Clock::real(), Entropy::from_os()).build();
    let options = ServeOptions {
        port: args.port,
        ..ServeOptions::default()
    };
    let serving = server.serve(options).await?;
    serving
        .write_kubeconfig(&args.kubeconfig_out)
        .with_context(|| format!("writing {}", args.kubeconfig_out.display()))?;
    tokio::spawn(namespaces::run(
        server.client(),
        serving.authority().to_string(),
    ));
    println!("ready {}", args.kubeconfig_out.display());
    tokio::signal::ctrl_c().await?;
    serving.shutdown().await;
    Ok(())
}
