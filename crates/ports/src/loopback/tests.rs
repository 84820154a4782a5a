//! What both kinds of ports keep.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, TcpListener};

use super::{Fake, Live, Loopback, RANGE};

fn contract(ports: &impl Loopback) {
    let none = BTreeSet::new();
    let first = ports.free(&none, 7).expect("some port is free");
    assert!(RANGE.contains(&first));
    let taken: BTreeSet<u16> = RANGE.filter(|port| *port != 25_001).collect();
    let left = ports.free(&taken, 7);
    assert!(left.is_none_or(|port| port == 25_001), "{left:?} was taken");
    assert_eq!(ports.free(&RANGE.collect(), 7), None);
}

#[test]
fn a_port_is_free_and_not_taken() {
    contract(&Fake);
    contract(&Live::default());
}

#[test]
fn a_port_is_given_once_and_never_while_somebody_listens() {
    let ports = Live::default();
    let first = ports.free(&BTreeSet::new(), 99).expect("some port is free");
    let second = ports.free(&BTreeSet::new(), 99).expect("some port is free");
    assert_ne!(first, second);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, second)).expect("a free port can be listened on");
    let third = Live::default().free(&BTreeSet::new(), u64::from(second - RANGE.start));
    assert_ne!(third, Some(second));
    drop(listener);
}
