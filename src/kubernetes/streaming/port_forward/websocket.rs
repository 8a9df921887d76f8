//! Port forwarding over WebSocket channels: a data and an error channel for each port of the query.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures::future::join_all;
use http::request::Parts;
use http::{Response, StatusCode};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Mutex, mpsc, watch};

use super::forwarder::{ClientSink, ClientStream, PortForwarder, forward};
use crate::handshake::{HandshakeError, websocket_handshake};
use crate::session::{FINISH_TIMEOUT, Session};
use crate::websocket::{ChannelCodec, ChannelMessage, ChannelReader, ChannelWriter, open_channels};

const V4: &str = "v4.channel.k8s.io";
const V4_BASE64: &str = "v4.base64.channel.k8s.io";
/// Pieces of data that wait in a channel.
const QUEUE: usize = 16;
/// Maximum number of ports; a channel number is one byte.
const PORTS: usize = 64;

/// Serves the ports of the query.
pub(super) fn serve(
    head: &Parts,
    session: Session,
    ports: &[String],
    forwarder: Arc<dyn PortForwarder>,
) -> Result<Response<()>, HandshakeError> {
    let ports = parse_ports(ports)
        .map_err(|message| HandshakeError::new(StatusCode::BAD_REQUEST, message))?;
    let (selected, response) = websocket_handshake(head, &[V4, V4_BASE64, ""])?;
    let codec = match selected {
        V4_BASE64 => ChannelCodec::Base64,
        _ => ChannelCodec::Raw,
    };
    session.spawn(move |connection| run(connection, codec, ports, forwarder));
    Ok(response)
}

fn parse_ports(values: &[String]) -> Result<Vec<u16>, String> {
    if values.is_empty() {
        return Err("query parameter \"port\" is required".into());
    }
    let mut ports = Vec::new();
    for value in values {
        if value.is_empty() {
            return Err("query parameter \"port\" cannot be empty".into());
        }
        for text in value.split(',') {
            match text.parse::<u16>() {
                Ok(0) => return Err(format!("port {value:?} must be > 0")),
                Ok(port) => ports.push(port),
                Err(_) => {
                    return Err(format!(
                        "unable to parse {value:?} as a port: strconv.ParseUint: parsing {text:?}: invalid syntax"
                    ));
                }
            }
        }
    }
    match ports.len() {
        ..=PORTS => Ok(ports),
        _ => Err(format!("at most {PORTS} ports can be forwarded")),
    }
}

async fn run<S>(
    connection: S,
    codec: ChannelCodec,
    ports: Vec<u16>,
    forwarder: Arc<dyn PortForwarder>,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    let (reader, writer) = open_channels(connection, codec, false).await;
    let writer = Mutex::new(writer);
    let (activity, active) = watch::channel(());
    let (senders, receivers): (Vec<_>, Vec<_>) = ports.iter().map(|_| mpsc::channel(QUEUE)).unzip();
    let serving = async {
        // The first message of each channel is the port.
        for (index, port) in ports.iter().enumerate() {
            let data = port.to_le_bytes();
            let channel = (index * 2) as u8;
            let mut writer = writer.lock().await;
            let _ = writer.write(channel, &data).await;
            let _ = writer.write(channel + 1, &data).await;
        }
        let forwards = ports.iter().zip(receivers).enumerate();
        let forwards = forwards.map(|(index, (port, mut receiver))| {
            let (writer, forwarder, activity) = (&writer, &forwarder, &activity);
            async move {
                let mut sink = ChannelSink {
                    writer,
                    channel: (index * 2) as u8,
                    activity,
                };
                let outcome = forward(forwarder, *port, &mut receiver, &mut sink).await;
                if let Err(error) = outcome {
                    sink.channel += 1;
                    sink.write(error.to_string().as_bytes()).await;
                }
            }
        });
        join_all(forwards).await;
        let _ = writer.lock().await.close().await;
        tokio::time::sleep(FINISH_TIMEOUT).await;
    };
    tokio::select! {
        () = serving => {}
        () = read_input(reader, senders, &activity) => {}
        () = crate::session::idle(active) => {}
    }
}

async fn read_input<S>(
    mut reader: ChannelReader<S>,
    senders: Vec<mpsc::Sender<Bytes>>,
    activity: &watch::Sender<()>,
) where
    S: AsyncRead + AsyncWrite + Unpin,
{
    while let Some(message) = reader.next().await {
        let _ = activity.send(());
        if let ChannelMessage::Data(channel, data) = message
            && channel % 2 == 0
            && let Some(sender) = senders.get(usize::from(channel / 2))
        {
            let _ = sender.send(data).await;
        }
    }
}

/// One channel of the connection.
struct ChannelSink<'a, S> {
    writer: &'a Mutex<ChannelWriter<S>>,
    channel: u8,
    activity: &'a watch::Sender<()>,
}

#[async_trait]
impl<S: AsyncRead + AsyncWrite + Unpin + Send> ClientSink for ChannelSink<'_, S> {
    async fn write(&mut self, data: &[u8]) -> bool {
        let _ = self.activity.send(());
        let written = self.writer.lock().await.write(self.channel, data).await;
        written.is_ok()
    }
}

#[async_trait]
impl ClientStream for mpsc::Receiver<Bytes> {
    async fn read(&mut self) -> Option<Bytes> {
        self.recv().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_parsed() {
        let parse = |values: &[&str]| {
            let values: Vec<String> = values.iter().map(|v| (*v).to_owned()).collect();
            parse_ports(&values)
        };
        assert_eq!(parse(&["80,443", "8080"]), Ok(vec![80, 443, 8080]));
        for wrong in [&[][..], &[""], &["0"], &["x"], &["65536"], &["80,"]] {
            assert!(parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
