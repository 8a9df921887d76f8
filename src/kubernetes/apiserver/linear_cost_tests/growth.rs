//! The growth of the cost of a request with the size of its object.

use bytes::Bytes;
use http_body_util::BodyExt;
use kube::Client;
use serde_json::Value;

/// Sizes of a list, each eight times the one before.
const SIZES: [usize; 3] = [32, 256, 2048];
/// The growth of the cost from the first to the second size that is measured again with the larger sizes,
/// and the growth there that fails. Linear work is 8, quadratic work is up to 64.
const SUSPICIOUS: u64 = 11;
const SUPERLINEAR: u64 = 20;
/// A cost below which its growth is noise, in nanoseconds.
const NOISE: u64 = 1_000_000;

/// A request that can be sent again: it changes nothing.
pub(super) struct Request {
    /// What it is.
    pub(super) name: &'static str,
    pub(super) method: &'static str,
    pub(super) uri: String,
    pub(super) content_type: &'static str,
    pub(super) body: Bytes,
}

/// Sends a request; the answer in JSON.
pub(super) async fn send(client: &Client, request: &Request) -> (http::StatusCode, Value) {
    let builder = http::Request::builder()
        .method(request.method)
        .uri(&request.uri)
        .header("content-type", request.content_type);
    let body = kube::client::Body::from(request.body.clone());
    let response = client.send(builder.body(body).unwrap()).await.unwrap();
    let status = response.status();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    (status, serde_json::from_slice(&bytes).unwrap_or_default())
}

/// The nanoseconds that this thread ran.
fn thread_time() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split(' ').next().unwrap().parse().unwrap()
}

/// The cost of each request, the lowest of a number of runs.
async fn costs(client: &Client, requests: &[&Request], runs: usize) -> Vec<u64> {
    let mut lowest = vec![u64::MAX; requests.len()];
    for _ in 0..runs {
        for (request, lowest) in requests.iter().zip(&mut lowest) {
            let before = thread_time();
            send(client, request).await;
            *lowest = (*lowest).min(thread_time() - before).max(NOISE);
        }
    }
    lowest
}

/// The requests whose cost grows faster than the list. `prepare` makes the requests for a length of the list.
pub(super) async fn superlinear(
    client: &Client,
    mut prepare: impl AsyncFnMut(usize) -> Vec<Request>,
) -> Vec<String> {
    let [small, middle, large] = SIZES;
    let requests = prepare(middle).await;
    let first = costs(client, &requests.iter().collect::<Vec<_>>(), 1).await;
    let mut suspicious: Vec<usize> = (0..requests.len()).collect();
    suspicious.retain(|index| first[*index] > SUSPICIOUS * NOISE);
    // Most growths that are suspicious are noise, which another measurement does not have.
    for (runs, sizes) in [(1, [small, middle]), (3, [small, middle])] {
        let growths = growths(client, &mut prepare, &suspicious, sizes, runs).await;
        let kept = growths.into_iter().zip(suspicious);
        let kept = kept.filter(|((_, small, large), _)| *large > SUSPICIOUS * *small);
        suspicious = kept.map(|(_, index)| index).collect();
        if suspicious.is_empty() {
            return Vec::new();
        }
    }
    let growths = growths(client, &mut prepare, &suspicious, [middle, large], 2).await;
    let growths = growths.into_iter();
    let found = growths.filter(|(_, small, large)| *large > SUPERLINEAR * *small);
    found
        .map(|(name, small, large)| {
            format!("{name}: {} times, {} ms", large / small, large / 1_000_000)
        })
        .collect()
}

/// The name of each chosen request, and its costs for two lengths of the list.
async fn growths(
    client: &Client,
    prepare: &mut impl AsyncFnMut(usize) -> Vec<Request>,
    chosen: &[usize],
    sizes: [usize; 2],
    runs: usize,
) -> Vec<(&'static str, u64, u64)> {
    if chosen.is_empty() {
        return Vec::new();
    }
    let mut measured = Vec::new();
    for size in sizes {
        let requests = prepare(size).await;
        let requests: Vec<&Request> = chosen.iter().map(|index| &requests[*index]).collect();
        let names: Vec<&str> = requests.iter().map(|request| request.name).collect();
        measured.push((names, costs(client, &requests, runs).await));
    }
    let [(names, small), (_, large)] = <[_; 2]>::try_from(measured).unwrap();
    names
        .into_iter()
        .zip(small.into_iter().zip(large))
        .map(|(name, (small, large))| (name, small, large))
        .collect()
}
