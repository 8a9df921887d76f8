//! The container engine of kind and k3d.

use std::net::IpAddr;
use std::time::Duration;

use super::program::Program;
use super::{HostAccess, LocalClusterError};

/// Timeout of a query.
const ANSWER: Duration = Duration::from_secs(30);

/// A running container engine.
pub(super) struct ContainerEngine {
    program: Program,
    /// Whether its containers run in a virtual machine where the host is `host.docker.internal`.
    is_desktop: bool,
}

impl ContainerEngine {
    /// Finds docker, or podman where `podman_will_do`.
    ///
    /// # Errors
    /// Neither is installed, or it does not run.
    pub(super) async fn find(podman_will_do: bool) -> Result<Self, LocalClusterError> {
        let docker = Program::find("docker");
        let podman = Program::find("podman").filter(|_| podman_will_do);
        let wants_podman = std::env::var_os("KIND_EXPERIMENTAL_PROVIDER")
            .is_some_and(|provider| provider == "podman");
        let mut down = None;
        if let Some(docker) = docker.filter(|_| !(wants_podman && podman.is_some())) {
            match Self::docker(docker).await {
                Ok(engine) => return Ok(engine),
                Err(error) => down = Some(error),
            }
        }
        match (podman, down) {
            (Some(podman), _) => Self::podman(podman).await,
            (None, Some(error)) => Err(error),
            (None, None) => Err(LocalClusterError::NoEngine {
                names: match podman_will_do {
                    true => "docker or podman",
                    false => "docker",
                },
            }),
        }
    }

    async fn docker(program: Program) -> Result<Self, LocalClusterError> {
        let args = ["info", "--format", "{{.OperatingSystem}}"];
        let output = program.run(&args, ANSWER, &|_| {}).await?;
        // Some versions exit with 0 although the daemon does not answer.
        if !output.success || output.stdout.trim().is_empty() {
            return Err(engine_down(&program, &output.error_line()));
        }
        Ok(Self {
            program,
            is_desktop: output.stdout.contains("Docker Desktop") || cfg!(target_os = "macos"),
        })
    }

    async fn podman(program: Program) -> Result<Self, LocalClusterError> {
        let args = ["info", "--format", "{{.Host.OS}}"];
        let output = program.run(&args, ANSWER, &|_| {}).await?;
        match output.success {
            true => Ok(Self {
                program,
                is_desktop: cfg!(target_os = "macos"),
            }),
            false => Err(engine_down(&program, &output.error_line())),
        }
    }

    /// Whether it is podman.
    pub(super) fn is_podman(&self) -> bool {
        self.program.name() == "podman"
    }

    /// The containers with a label, and whether each runs.
    pub(super) async fn containers(
        &self,
        label: &str,
    ) -> Result<Vec<(String, bool)>, LocalClusterError> {
        let filter = format!("label={label}");
        let args = [
            "ps",
            "--all",
            "--no-trunc",
            "--filter",
            &filter,
            "--format",
            "{{.ID}} {{.State}}",
        ];
        let out = self.program.stdout_of(&args, ANSWER).await?;
        let mut containers: Vec<_> = out
            .lines()
            .filter_map(|line| line.trim().split_once(' '))
            .map(|(id, state)| (id.to_owned(), state.trim() == "running"))
            .collect();
        containers.sort();
        Ok(containers)
    }

    /// Starts stopped containers.
    pub(super) async fn start(&self, ids: &[&str]) -> Result<(), LocalClusterError> {
        let args: Vec<&str> = std::iter::once("start")
            .chain(ids.iter().copied())
            .collect();
        self.program.stdout_of(&args, ANSWER * 4).await.map(drop)
    }

    /// How containers of a network reach the host.
    pub(super) async fn host_access(&self, network: &str) -> Result<HostAccess, LocalClusterError> {
        if self.is_desktop {
            return Ok(HostAccess::DockerDesktop);
        }
        let format = match self.is_podman() {
            true => "{{range .Subnets}}{{.Gateway}} {{end}}",
            false => "{{range .IPAM.Config}}{{.Gateway}} {{end}}",
        };
        let args = ["network", "inspect", network, "--format", format];
        let out = self.program.stdout_of(&args, ANSWER).await?;
        let gateways = || out.split_whitespace().filter_map(|g| g.parse().ok());
        let four = gateways().find(IpAddr::is_ipv4);
        match four.or_else(|| gateways().next()) {
            Some(gateway) => Ok(HostAccess::NetworkGateway(gateway)),
            None => Err(LocalClusterError::Failed {
                call: format!("{} network inspect {network}", self.program.name()),
                reason: "the network has no gateway".into(),
            }),
        }
    }
}

fn engine_down(program: &Program, error_line: &str) -> LocalClusterError {
    let name = program.name();
    let remedy = match (error_line.contains("permission denied"), name) {
        (true, _) => "add yourself to the group docker and log in again, or use sudo".to_owned(),
        (false, "podman") => "start it with podman machine start".to_owned(),
        (false, _) if cfg!(target_os = "macos") => "start Docker Desktop".to_owned(),
        (false, _) => "start it with systemctl start docker, or start Docker Desktop".to_owned(),
    };
    LocalClusterError::EngineDown {
        engine: name,
        reason: error_line.to_owned(),
        remedy,
    }
}
