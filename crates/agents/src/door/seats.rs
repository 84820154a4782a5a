//! Open connections: how many there may be, which of them only sit there, and who has to leave when it is full.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// All open connections.
pub(super) struct Seats {
    most: usize,
    taken: Mutex<Taken>,
}

#[derive(Default)]
struct Taken {
    next: u64,
    places: HashMap<u64, Place>,
}

/// What one connection is doing.
struct Place {
    /// Requests under way, and lines.
    busy: usize,
    /// Whether it has ever brought a request.
    served: bool,
    /// When it came, or was last busy.
    since: Instant,
    end: CancellationToken,
}

impl Seats {
    pub(super) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { most, taken: Mutex::default() })
    }

    /// A seat for one more connection. When all are taken, whoever has only sat there for longest has to leave, before
    /// all others those who have never asked for anything; when everybody is busy, there is none.
    pub(super) fn take(self: &Arc<Self>) -> Option<Arc<Seat>> {
        let mut taken = self.taken.lock();
        if taken.places.len() >= self.most {
            let idle = taken.places.iter().filter(|(_, place)| place.busy == 0);
            let (number, _) = idle.min_by_key(|(_, place)| (place.served, place.since))?;
            let number = *number;
            if let Some(place) = taken.places.remove(&number) {
                place.end.cancel();
            }
        }
        let (number, end) = (taken.next, CancellationToken::new());
        taken.next += 1;
        let place = Place { busy: 0, served: false, since: Instant::now(), end: end.clone() };
        taken.places.insert(number, place);
        Some(Arc::new(Seat { seats: self.clone(), number, end }))
    }

    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.taken.lock().places.len()
    }
}

/// The seat of one connection. It is free when the last holder is gone.
pub(super) struct Seat {
    seats: Arc<Seats>,
    number: u64,
    end: CancellationToken,
}

impl Seat {
    /// Begins something that the connection must not be ended in the middle of.
    pub(super) fn begin(self: &Arc<Self>) -> Busy {
        if let Some(place) = self.seats.taken.lock().places.get_mut(&self.number) {
            place.busy += 1;
            place.served = true;
        }
        Busy(self.clone())
    }

    /// Returns when the connection has to end: it has sat there for too long, or another needs the seat.
    pub(super) async fn spent(&self, head: Duration, idle: Duration) {
        loop {
            let look = match self.seats.taken.lock().places.get(&self.number) {
                None => return,
                Some(place) if place.busy > 0 => Instant::now() + head.min(idle),
                Some(place) if place.served => place.since + idle,
                Some(place) => place.since + head,
            };
            if look <= Instant::now() {
                return;
            }
            tokio::select! { () = tokio::time::sleep_until(look) => {}, () = self.end.cancelled() => return }
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.seats.taken.lock().places.remove(&self.number);
    }
}

/// Something that is under way on a connection.
pub(super) struct Busy(Arc<Seat>);

impl Drop for Busy {
    fn drop(&mut self) {
        if let Some(place) = self.0.seats.taken.lock().places.get_mut(&self.0.number) {
            place.busy -= 1;
            place.since = Instant::now();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn whoever_only_sits_there_leaves_when_others_come() {
        let seats = Seats::new(3);
        let quiet = seats.take().expect("a seat");
        let known = seats.take().expect("a seat");
        drop(known.begin());
        let busy = seats.take().expect("a seat");
        let work = busy.begin();
        let fourth = seats.take().expect("the seat of the one that never asked");
        assert!(quiet.end.is_cancelled() && !known.end.is_cancelled());
        let _fourth = fourth.begin();
        let fifth = seats.take().expect("the seat of the one that waits");
        assert!(known.end.is_cancelled() && !busy.end.is_cancelled());
        let _fifth = fifth.begin();
        assert!(seats.take().is_none(), "everybody is busy");
        drop(quiet);
        assert_eq!(seats.count(), 3, "who was sent away has no seat to give back");
        drop(work);
        assert!(seats.take().is_some());
    }
}
