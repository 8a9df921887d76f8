//! Sockets of this machine.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};

use tokio::net::{TcpListener, TcpSocket, TcpStream};

use super::HostAddresses;

/// Connections that wait to be accepted, at most; the operating system may have a lower limit.
const BACKLOG: u32 = 4096;

/// Listens at an address.
///
/// # Errors
/// The address is in use or not one of this machine.
pub fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Connects to an address that an object of a simulated cluster names.
///
/// # Errors
/// It is not permitted, which is as if nothing listened there, or nothing does.
pub async fn connect(addresses: &HostAddresses, address: SocketAddr) -> io::Result<TcpStream> {
    if !addresses.permits(address) && !addresses.is_node(address.ip()) {
        return Err(io::ErrorKind::ConnectionRefused.into());
    }
    TcpStream::connect(address).await
}

/// The address of this machine on the route to another one. Nothing is sent: a datagram socket that connects
/// only selects the route.
///
/// # Errors
/// There is no route.
pub fn local_address_towards(host: &str, port: u16) -> io::Result<IpAddr> {
    let socket = UdpSocket::bind("0.0.0.0:0").or_else(|_| UdpSocket::bind("[::]:0"))?;
    socket.connect((host, port))?;
    Ok(socket.local_addr()?.ip())
}
