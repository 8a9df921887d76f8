//! Bodies that are small and expensive to decode.

use serde_json::json;

use super::server_fixture::{error_status, serve};

const CONFIG_MAPS: &str = "/api/v1/namespaces/test/configmaps";

#[tokio::test(flavor = "multi_thread")]
async fn deeply_nested_bodies_are_refused_when_their_depth_is_seen() {
    let served = serve().await;
    let rules = json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}]);
    let client = served.account("author", rules).await;
    let rejection = async |method: &str, path: &str, media_type: &str, body: String| {
        let request = http::Request::builder().method(method).uri(path);
        let request = request.header("content-type", media_type);
        let response = client.request_text(request.body(body.into_bytes()).unwrap());
        error_status(response.await)
    };
    let named = format!("{CONFIG_MAPS}/m?fieldManager=x");
    for (opening, depth) in [("[", 400_000), ("{a: ", 100_000), ("- ", 100_000)] {
        let body = opening.repeat(depth);
        let yaml = rejection("POST", CONFIG_MAPS, "application/yaml", body.clone()).await;
        assert_eq!(yaml.code, 400, "{opening}");
        assert!(
            yaml.message.contains("exceeded max depth"),
            "{opening}: {}",
            yaml.message
        );
        let apply = rejection(
            "PATCH",
            &named,
            "application/apply-patch+yaml",
            body.clone(),
        )
        .await;
        assert_eq!(apply.code, 400, "{opening}");
        assert!(
            apply.message.contains("exceeded max depth"),
            "{opening}: {}",
            apply.message
        );
        let options = rejection("DELETE", &named, "application/yaml", body).await;
        assert_eq!(options.code, 400, "{opening}");
    }
    let json = rejection("POST", CONFIG_MAPS, "application/json", "[".repeat(400_000)).await;
    assert_eq!(json.code, 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn aliases_and_many_values_are_refused() {
    let served = serve().await;
    let rules = json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}]);
    let client = served.account("author", rules).await;
    let rejection = async |media_type: &str, body: String| {
        let request = http::Request::post(CONFIG_MAPS).header("content-type", media_type);
        let response = client.request_text(request.body(body.into_bytes()).unwrap());
        error_status(response.await)
    };
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let aliases = vec![format!("*a{}", level - 1); 9].join(", ");
        bomb.push_str(&format!("a{level}: &a{level} [{aliases}]\n"));
    }
    assert_eq!(rejection("application/yaml", bomb).await.code, 400);
    let values = format!("{{\"data\": [{}0]}}", "0,".repeat(1_000_000));
    let refused = rejection("application/json", values).await;
    assert!(refused.message.contains("values"), "{}", refused.message);
}
