//! Serves the embedded Kubernetes API with the controllers every cluster has, but without machines
//! and without Kueue, for conformance runs:
//! `cargo run --example apiserver -- --kubeconfig-out FILE [--port N]`.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Parser;
use k8s_openapi::api::core::v1::Node;
use kueue_lab_apiserver::{ApiServer, ServeOptions};
use kueue_lab_clock::Clock;
use kueue_lab_clock::Entropy;
use kueue_lab_controller_manager::{ControllerManagerConfig, workload_controllers};
use kueue_lab_controller_runtime::{Api, Context, Informer};

#[derive(Parser)]
struct Args {
    /// The path of the kubeconfig.
    #[arg(long)]
    kubeconfig_out: PathBuf,
    /// The port to listen on; 0 takes any that is free.
    #[arg(long, default_value_t = 0)]
    port: u16,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let (clock, entropy) = (Clock::real(), Entropy::from_os());
    let server = ApiServer::builder(clock.clone(), entropy.clone()).build();
    let options = ServeOptions {
        port: args.port,
        ..ServeOptions::default()
    };
    let serving = server.serve(options).await?;
    let context = Context::new(server.client(), clock, entropy);
    let config = ControllerManagerConfig::ALL;
    let pods = workload_controllers::pod_informer(&context);
    let nodes = Informer::builder(Api::<Node>::all(context.client.clone())).start(&context);
    let controllers = kueue_lab_controller_manager::start(&context, config, &pods, &nodes);
    if let Some(publisher) = controllers.root_ca_publisher {
        publisher.set_root_ca(serving.certificate_authority_pem());
    }
    serving
        .write_kubeconfig(&args.kubeconfig_out)
        .with_context(|| format!("writing {}", args.kubeconfig_out.display()))?;
    println!("ready {}", args.kubeconfig_out.display());
    tokio::signal::ctrl_c().await?;
    context.tasks.shutdown().await;
    serving.shutdown().await;
    Ok(())
}
