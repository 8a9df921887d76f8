//! WebSocket: the channels of `channel.k8s.io`, and tunnels of byte streams.

mod channels;
mod tunnel;

pub(crate) use channels::{
    ChannelCodec, ChannelMessage, ChannelReader, ChannelWriter, open_channels,
};
pub(crate) use tunnel::tunnel;
