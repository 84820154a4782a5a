//! How many passes one outside system may keep busy: one that is slow delays its own objects and no others.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use parking_lot::Mutex;

use crate::address::Name;
use crate::time::Bell;

/// Passes that one system may keep busy. A database server has four connections from us, and each pass needs one at a time;
/// of AWS, one service of one account is a system.
const PASSES: usize = 8;
/// Passes of all systems together. Eight of them have to hang before a ninth is delayed.
pub const ALL_PASSES: usize = 64;

/// Who is on which system. Clones are the same.
#[derive(Clone, Default)]
pub struct Lanes(Arc<Mutex<HashMap<String, Lane>>>);

#[derive(Default)]
struct Lane {
    busy: usize,
    waiting: VecDeque<(&'static str, Name, Bell)>,
}

/// A place on a system, until it is let go; then whoever waits longest is woken.
pub struct Place {
    lanes: Lanes,
    system: String,
}

impl std::fmt::Debug for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a place on {}", self.system)
    }
}

impl Lanes {
    /// A place on a system; if there is none, the bell rings for the object when there is.
    pub fn enter(&self, system: &str, (room, name): (&'static str, &Name), bell: &Bell) -> Option<Place> {
        let mut lanes = self.0.lock();
        let lane = lanes.entry(system.to_owned()).or_default();
        if lane.busy < PASSES {
            lane.busy += 1;
            return Some(Place { lanes: self.clone(), system: system.to_owned() });
        }
        if !lane.waiting.iter().any(|(of, waiting, _)| *of == room && waiting == name) {
            lane.waiting.push_back((room, name.clone(), bell.clone()));
        }
        None
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut lanes = self.lanes.0.lock();
        let Some(lane) = lanes.get_mut(&self.system) else { return };
        lane.busy -= 1;
        let next = lane.waiting.pop_front();
        if lane.busy == 0 && next.is_none() {
            lanes.remove(&self.system);
        }
        drop(lanes);
        if let Some((_, name, bell)) = next {
            bell.ring(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_full_system_wakes_whoever_waits_longest_and_no_other_system_minds() {
        let (lanes, bell) = (Lanes::default(), Bell::default());
        let mut rings = bell.listen();
        let name = |number: usize| Name::new("default", format!("claim-{number}"));
        let mut places: Vec<_> = (0..PASSES)
            .map(|number| lanes.enter("one", ("claim", &name(number)), &bell).expect("room"))
            .collect();
        for number in [20, 21, 20] {
            assert!(lanes.enter("one", ("claim", &name(number)), &bell).is_none(), "it is full");
        }
        assert!(lanes.enter("other", ("claim", &name(22)), &bell).is_some());
        places.pop();
        assert_eq!(rings.recv().await.expect("a ring"), Some(name(20)));
        places.pop();
        assert_eq!(rings.recv().await.expect("a ring"), Some(name(21)));
        drop(places);
        assert!(rings.try_recv().is_err(), "nobody waits any more");
        assert!(lanes.0.lock().is_empty(), "nothing is kept of a system that nobody is on");
    }
}
