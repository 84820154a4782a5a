//! A client that does as little as it can: one connection, one request at a time, bytes counted and thrown away.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::Outcome;

pub struct Load {
    pub path: String,
    pub size: usize,
    pub connections: usize,
    pub each: Duration,
}

/// What one server did.
pub struct Measured {
    /// Of each request after the warm-up, in microseconds, sorted.
    latencies: Vec<u32>,
    took: Duration,
    /// With the warm-up, as the processor time is.
    pub total: usize,
    pub cpu: Duration,
}

impl Measured {
    pub fn rate(&self) -> f64 {
        self.latencies.len() as f64 / self.took.as_secs_f64()
    }

    pub fn percentile(&self, percent: usize) -> u32 {
        let index = self.latencies.len() * percent / 100;
        self.latencies.get(index.min(self.latencies.len().saturating_sub(1))).copied().unwrap_or_default()
    }
}

impl Load {
    pub fn run(&self, address: SocketAddr) -> Outcome<Measured> {
        tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(self.clients(address))
    }

    async fn clients(&self, address: SocketAddr) -> Outcome<Measured> {
        let warm = Instant::now() + self.each / 10;
        let clients = (0..self.connections).map(|_| self.client(address, warm, warm + self.each));
        let done = futures::future::try_join_all(clients).await?;
        let total = done.iter().map(|(total, _)| total).sum();
        let mut latencies: Vec<u32> = done.into_iter().flat_map(|(_, latencies)| latencies).collect();
        latencies.sort_unstable();
        Ok(Measured { latencies, took: self.each, total, cpu: Duration::ZERO })
    }

    async fn client(&self, address: SocketAddr, warm: Instant, end: Instant) -> Outcome<(usize, Vec<u32>)> {
        let mut socket = TcpStream::connect(address).await?;
        socket.set_nodelay(true)?;
        let request = format!(
            "GET {} HTTP/1.1\r\nHost: bench.test\r\nUser-Agent: bench\r\nAccept: */*\r\n\r\n",
            self.path
        );
        let (mut buffer, mut latencies, mut total) = (vec![0; 256 * 1024], Vec::with_capacity(1 << 16), 0);
        loop {
            let began = Instant::now();
            if began >= end {
                return Ok((total, latencies));
            }
            socket.write_all(request.as_bytes()).await?;
            self.answer(&mut socket, &mut buffer).await?;
            total += 1;
            if began >= warm {
                latencies.push(u32::try_from(began.elapsed().as_micros()).unwrap_or(u32::MAX));
            }
        }
    }

    async fn answer(&self, socket: &mut TcpStream, buffer: &mut [u8]) -> Outcome<()> {
        let mut filled = 0;
        let head = loop {
            let count = socket.read(&mut buffer[filled..]).await?;
            filled += count;
            if count == 0 {
                return Err("a server closed its connection".into());
            }
            if let Some(end) = buffer[..filled].windows(4).position(|window| window == b"\r\n\r\n") {
                break end + 4;
            }
        };
        if !buffer.starts_with(b"HTTP/1.1 200 ") {
            return Err(format!("a server answered {}", String::from_utf8_lossy(&buffer[..head])).into());
        }
        let mut left = (head + self.size).checked_sub(filled).ok_or("a server sent more than the file")?;
        while left > 0 {
            let count = socket.read(buffer).await?;
            left = left.checked_sub(count).filter(|_| count > 0).ok_or("a server sent another length")?;
        }
        Ok(())
    }
}
