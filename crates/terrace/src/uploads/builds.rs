//! The logs of builds, read as they grow.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use api::foreign::kpack::Image;
use bytes::Bytes;
use control_plane::wire::Body;
use futures::StreamExt;
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use kube::{Api, Client};

/// Header that tells the number of the build.
pub(crate) const NUMBER_HEADER: &str = "terrace-build";
/// How often a growing log is looked at.
const LOOK: Duration = Duration::from_millis(100);
/// How often it is asked whether a silent build has ended.
const ASK: Duration = Duration::from_secs(1);
/// How long a build may take to begin.
const BEGIN_MAX: Duration = Duration::from_secs(120);
/// How long anybody may follow one build.
const FOLLOW_MAX: Duration = Duration::from_secs(2 * 60 * 60);
/// How much is read at once.
const PIECE: usize = 32 * 1024;

/// What is asked of a log.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Asked {
    /// Whether to go on until the build ends.
    pub follow: bool,
    /// Builds up to this number do not count.
    pub after: u64,
    /// Only so many bytes, from the end of what is there.
    pub tail: Option<u64>,
}

impl Asked {
    /// Reads a query. What it does not know it passes over, as the API does.
    pub(super) fn parse(query: &str) -> Self {
        let mut asked = Self::default();
        for (key, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
            match key {
                "follow" => asked.follow = matches!(value, "true" | "1"),
                "after" => asked.after = value.parse().unwrap_or_default(),
                "tailBytes" => asked.tail = value.parse().ok(),
                _ => {}
            }
        }
        asked
    }
}

pub(super) struct Builds {
    dir: PathBuf,
    client: Client,
}

impl Builds {
    pub(super) fn new(dir: PathBuf, client: Client) -> Self {
        Self { dir, client }
    }

    /// Number of the latest build that has a log and comes after `after`.
    pub(super) fn latest(&self, namespace: &str, name: &str, after: u64) -> Option<u64> {
        let numbers = std::fs::read_dir(self.dir.join(namespace)).ok()?.filter_map(|entry| {
            let file = entry.ok()?.file_name();
            number_of(file.to_str()?, name)
        });
        numbers.filter(|number| *number > after).max()
    }

    /// The log of the latest build, and with `follow` what comes until that build has ended.
    pub(super) fn stream(&self, namespace: &str, name: &str, asked: Asked) -> Body {
        let reading = Reading {
            builds: Self { dir: self.dir.clone(), client: self.client.clone() },
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            asked,
            file: None,
            begun: Instant::now(),
            last_asked: Instant::now(),
            ended: false,
        };
        let pieces = futures::stream::unfold(reading, |mut reading| async move {
            let piece = reading.next().await?;
            Some((Ok(Frame::data(piece)), reading))
        });
        StreamBody::new(pieces.boxed()).boxed_unsync()
    }

    fn open(&self, namespace: &str, name: &str, number: u64) -> Option<File> {
        File::open(log_file(&self.dir, namespace, name, number)).ok()
    }

    /// Whether the Image says that its newest build is over. One that cannot be read will not go on.
    async fn over(&self, namespace: &str, name: &str) -> bool {
        let images: Api<Image> = Api::namespaced(self.client.clone(), namespace);
        let Ok(Some(image)) = images.get_opt(name).await else { return true };
        let status = image.status.unwrap_or_default();
        let seen = status.observed_generation >= image.metadata.generation;
        let ready = status.conditions.iter().find(|condition| condition.type_ == "Ready");
        seen && ready.is_some_and(|ready| ready.status != "Unknown")
    }
}

/// Where the log of a build lies.
fn log_file(dir: &Path, namespace: &str, name: &str, number: u64) -> PathBuf {
    dir.join(namespace).join(format!("{name}-{number}.log"))
}

/// The number in `<name>-<number>.log`.
fn number_of(file: &str, name: &str) -> Option<u64> {
    let digits = file.strip_prefix(name)?.strip_prefix('-')?.strip_suffix(".log")?;
    digits.parse().ok().filter(|_| digits.bytes().all(|b| b.is_ascii_digit()))
}

/// A log on its way to a reader.
struct Reading {
    builds: Builds,
    namespace: String,
    name: String,
    asked: Asked,
    file: Option<File>,
    begun: Instant,
    last_asked: Instant,
    /// The build is over: what is there is all.
    ended: bool,
}

impl Reading {
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(piece) = self.piece() {
                return Some(piece);
            }
            if !self.asked.follow || self.ended || self.begun.elapsed() > FOLLOW_MAX {
                return None;
            }
            if self.file.is_none() && self.begun.elapsed() > BEGIN_MAX {
                return None;
            }
            tokio::time::sleep(LOOK).await;
            if self.file.is_some() && self.last_asked.elapsed() > ASK {
                self.last_asked = Instant::now();
                // Read once more after this: the last lines may have come since.
                self.ended = self.builds.over(&self.namespace, &self.name).await;
            }
        }
    }

    fn piece(&mut self) -> Option<Bytes> {
        if self.file.is_none() {
            let number = self.builds.latest(&self.namespace, &self.name, self.asked.after)?;
            let mut file = self.builds.open(&self.namespace, &self.name, number)?;
            if let Some(tail) = self.asked.tail {
                let size = file.metadata().ok()?.len();
                file.seek(SeekFrom::Start(size.saturating_sub(tail))).ok()?;
            }
            self.file = Some(file);
        }
        let mut buffer = vec![0; PIECE];
        let read = self.file.as_mut()?.read(&mut buffer).ok().filter(|read| *read > 0)?;
        buffer.truncate(read);
        Some(buffer.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_belongs_to_one_application() {
        let table = [
            ("shop-3.log", "shop", Some(3)),
            ("shop-12.log", "shop", Some(12)),
            ("shop-1-3.log", "shop", None),
            ("shop-1-3.log", "shop-1", Some(3)),
            ("shop-.log", "shop", None),
            ("shop-+3.log", "shop", None),
            ("shop-3.txt", "shop", None),
            ("shop3.log", "shop", None),
        ];
        for (file, name, want) in table {
            assert_eq!(number_of(file, name), want, "{file} of {name}");
        }
    }

    #[test]
    fn a_query_says_what_is_asked() {
        let table = [
            ("", Asked::default()),
            ("follow=true&after=7", Asked { follow: true, after: 7, tail: None }),
            ("follow=1", Asked { follow: true, ..Asked::default() }),
            ("tailBytes=100", Asked { tail: Some(100), ..Asked::default() }),
            ("follow=no&after=x&tailBytes=-1&else=1", Asked::default()),
        ];
        for (query, want) in table {
            assert_eq!(Asked::parse(query), want, "{query}");
        }
    }
}
