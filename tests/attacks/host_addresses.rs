//! EndpointSlices and Endpoints that name this machine, which `services/proxy` and webhooks would reach.

use kueue_lab_host::HostAddresses;
use serde_json::{Value, json};

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
