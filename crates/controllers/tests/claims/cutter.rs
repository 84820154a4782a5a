//! Somebody between a controller and its server who cuts the line at one message.

use std::io;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;

/// When a line is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// The server never hears the message.
    Before,
    /// The server has done what the message says, and nobody hears of it.
    After,
}

impl Moment {
    pub const ALL: [Self; 2] = [Self::Before, Self::After];
}

/// Where a server is reached through somebody who counts what is said to it.
pub struct Cutter {
    pub port: u16,
    book: Arc<Mutex<Book>>,
    task: AbortHandle,
}

#[derive(Default)]
struct Book {
    heard: usize,
    armed: Option<(usize, Moment)>,
    cut: Option<String>,
}

impl Cutter {
    pub async fn new(server: u16) -> Self {
        let door = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = door.local_addr().expect("an address").port();
        let book = Arc::new(Mutex::new(Book::default()));
        let shared = book.clone();
        let task = tokio::spawn(async move {
            while let Ok((near, _)) = door.accept().await {
                let book = shared.clone();
                // An end of either side is the end of the line.
                tokio::spawn(async move { carry(near, server, &book).await });
            }
        });
        Self { port, book, task: task.abort_handle() }
    }

    /// Cuts at the n-th message from now on; the first is 1.
    pub fn arm(&self, nth: usize, moment: Moment) {
        *self.book.lock() = Book { armed: Some((nth, moment)), ..Book::default() };
    }

    /// What was cut since this was asked last.
    pub fn take_cut(&self) -> Option<String> {
        self.book.lock().cut.take()
    }
}

impl Drop for Cutter {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Book {
    /// Notes a message, and says whether the line is cut at it.
    fn enter(&mut self, said: &Said) -> Option<Moment> {
        self.heard += 1;
        let count = self.heard;
        let (_, moment) = self.armed.take_if(|(nth, _)| *nth == count)?;
        self.cut = Some(format!("message {count}, cut {moment:?}: {}", said.words));
        Some(moment)
    }
}

/// What a client says at once.
struct Said {
    bytes: Vec<u8>,
    /// What it is in words, if it counts: a login, a statement, or a question with its values.
    words: String,
    counts: bool,
}

async fn carry(mut near: TcpStream, server: u16, book: &Mutex<Book>) -> io::Result<()> {
    let mut far = TcpStream::connect(("127.0.0.1", server)).await?;
    near.set_nodelay(true)?;
    far.set_nodelay(true)?;
    let (mut from_near, mut from_far) = (Vec::new(), Vec::new());
    let mut begun = false;
    loop {
        tokio::select! {
            read = near.read_buf(&mut from_near) => {
                if read? == 0 {
                    return Ok(());
                }
                while let Some(said) = take(&mut from_near, begun) {
                    let cut = if said.counts { book.lock().enter(&said) } else { None };
                    if cut == Some(Moment::Before) {
                        return Ok(());
                    }
                    far.write_all(&said.bytes).await?;
                    if cut == Some(Moment::After) {
                        return answered(&mut far, begun).await;
                    }
                    begun = true;
                }
            }
            read = far.read_buf(&mut from_far) => {
                if read? == 0 {
                    return Ok(());
                }
                near.write_all(&from_far).await?;
                from_far.clear();
            }
        }
    }
}

/// The next thing that was said whole. The messages of a question are one, up to their `Sync`.
fn take(bytes: &mut Vec<u8>, begun: bool) -> Option<Said> {
    let length = |at: usize| {
        let digits: [u8; 4] = bytes.get(at..at + 4)?.try_into().ok()?;
        usize::try_from(u32::from_be_bytes(digits)).ok()
    };
    if !begun {
        let end = length(0).filter(|end| *end <= bytes.len())?;
        return Some(Said { bytes: bytes.drain(..end).collect(), words: "login".to_owned(), counts: true });
    }
    let (mut end, mut words) = (0, String::new());
    loop {
        let kind = *bytes.get(end)?;
        let next = end + 1 + length(end + 1)?;
        let message = bytes.get(end..next)?;
        if kind == b'Q' || kind == b'P' {
            words = String::from_utf8_lossy(&message[5..]).split_whitespace().collect::<Vec<_>>().join(" ");
            words = words.chars().take(160).collect();
        }
        end = next;
        match kind {
            b'P' | b'B' | b'D' | b'E' | b'C' => {}
            other => {
                let counts = other == b'Q' || other == b'S';
                return Some(Said { bytes: bytes.drain(..end).collect(), words, counts });
            }
        }
    }
}

/// Waits until the server has done what it was told: it is ready for more, or asks for a password, or is gone.
async fn answered(far: &mut TcpStream, begun: bool) -> io::Result<()> {
    loop {
        let kind = far.read_u8().await?;
        let length = far.read_u32().await?.saturating_sub(4);
        let mut rest = vec![0; usize::try_from(length).unwrap_or_default()];
        far.read_exact(&mut rest).await?;
        if kind == b'Z' || !begun {
            return Ok(());
        }
    }
}
