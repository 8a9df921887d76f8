//! EndpointSlices and Endpoints that name this machine, which `services/proxy` and webhooks would reach.

use std::time::Duration;

use kube::Client;
use kueue_lab_clock::Clock;
use kueue_lab_clock::Entropy;
use kueue_lab_host::HostAddresses;
use kueue_lab_lab::{Lab, LabConfig};
use kueue_lab_nodes::NodePools;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::server_fixture::{error_status, send, serve_with};

const SLICES: &str = "/apis/discovery.k8s.io/v1/namespaces/test/endpointslices";
const ENDPOINTS: &str = "/api/v1/namespaces/test/endpoints";

fn slice(name: &str, address: &str, port: u16) -> Value {
    let family = if address.contains(':') {
        "IPv6"
    } else {
        "IPv4"
    };
    json!({
        "metadata": {"name": name, "labels": {"kubernetes.io/service-name": "s"}},
        "addressType": family,
        "ports": [{"name": "", "port": port}],
        "endpoints": [{"addresses": ["10.0.0.1"]}, {"addresses": [address]}],
    })
}

#[tokio::test]
async fn endpoints_do_not_name_this_machine() {
    let permitted = HostAddresses::with_ports([9443]);
    let served = serve_with(|builder| builder.host_addresses(permitted)).await;
    let rules = json!([{"apiGroups": ["", "discovery.k8s.io"], "resources": ["endpoints", "endpointslices"], "verbs": ["*"]}]);
    let user = served.account("net", rules).await;
    for (address, range) in [
        ("127.0.0.1", "the loopback range (127.0.0.0/8, ::1/128)"),
        ("::1", "the loopback range (127.0.0.0/8, ::1/128)"),
        (
            "169.254.169.254",
            "the link-local range (169.254.0.0/16, fe80::/10)",
        ),
    ] {
        let refused = error_status(send(&user, "POST", SLICES, slice("a", address, 22)).await);
        assert_eq!(refused.code, 422);
        let expected = format!(
            "EndpointSlice.discovery.k8s.io \"a\" is invalid: endpoints[1].addresses[0]: Invalid value: \"{address}\": may not be in {range}"
        );
        assert_eq!(refused.message, expected);
    }
    let endpoints = |port: u16| {
        json!({"metadata": {"name": "s"}, "subsets": [{
            "addresses": [{"ip": "127.0.0.1"}], "ports": [{"port": port}],
        }]})
    };
    let refused = error_status(send(&user, "POST", ENDPOINTS, endpoints(22)).await);
    let expected = "Endpoints \"s\" is invalid: subsets[0].addresses[0].ip: Invalid value: \"127.0.0.1\": may not be in the loopback range (127.0.0.0/8, ::1/128)";
    assert_eq!(refused.message, expected);
    // Nor by an update, nor as the address of a Pod that is not there.
    send(&user, "POST", SLICES, slice("b", "10.0.0.2", 22))
        .await
        .unwrap();
    let path = format!("{SLICES}/b");
    let mut update = slice("b", "127.0.0.1", 22);
    update["endpoints"][1]["targetRef"] = json!({"kind": "Pod", "name": "p", "namespace": "test"});
    let refused = error_status(send(&user, "PUT", &path, update).await);
    assert_eq!(refused.code, 422);

    // A port that the command line permits is that of a process of the user.
    send(&user, "POST", SLICES, slice("a", "127.0.0.1", 9443))
        .await
        .unwrap();
    send(&user, "POST", ENDPOINTS, endpoints(9443))
        .await
        .unwrap();
}

/// An HTTP server on loopback; returns its port.
async fn process() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = [0; 4096];
            let _ = stream.read(&mut request).await;
            let response =
                "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 7\r\n\r\nprocess";
            let _ = stream.write_all(response.as_bytes()).await;
        }
    });
    port
}

/// Repeats a request until it succeeds.
async fn until_answer(client: &Client, path: &str) -> String {
    for _ in 0..600 {
        let request = http::Request::get(path).body(Vec::new()).unwrap();
        if let Ok(answer) = client.request_text(request).await {
            return answer;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("no answer of {path}");
}

#[tokio::test]
async fn a_pod_in_the_network_of_a_node_that_is_this_machine_is_a_process_of_it() {
    let presets = tempfile::tempdir().unwrap();
    let pools = "- {name: host, count: 1, address: 127.0.0.1, resources: {cpu: 4, memory: 8Gi, pods: 10}}\n";
    let mut config = LabConfig::embedded(Clock::real(), Entropy::seeded(1), presets.path());
    config.components.nodes = NodePools::parse(pools).unwrap();
    let lab = Lab::start(config).await.unwrap();
    let (client, port) = (lab.client(), process().await);
    let pod = json!({
        "metadata": {"name": "p", "labels": {"app": "p"}},
        "spec": {"hostNetwork": true, "containers": [{"name": "c", "image": "manager", "ports": [{"containerPort": port}]}]},
    });
    let service = json!({
        "metadata": {"name": "s"},
        "spec": {"selector": {"app": "p"}, "ports": [{"port": 80, "targetPort": port}]},
    });
    let namespace = "/api/v1/namespaces/default";
    for (resource, object) in [("pods", pod), ("services", service)] {
        let path = format!("{namespace}/{resource}");
        let mut created = send(&client, "POST", &path, object.clone()).await;
        // The service account of the namespace is created by a controller.
        for _ in 0..100 {
            if created.is_ok() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
            created = send(&client, "POST", &path, object.clone()).await;
        }
        created.unwrap();
    }
    let proxied = format!("{namespace}/services/s:80/proxy/");
    assert_eq!(until_answer(&client, &proxied).await, "process");
    // The same address in an EndpointSlice of a client is not that of the Pod.
    let slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
    let refused = send(&client, "POST", slices, slice("a", "127.0.0.1", port)).await;
    assert_eq!(error_status(refused).code, 422);
    lab.stop().await;
}
