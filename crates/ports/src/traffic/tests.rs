use super::*;

/// What every gateway does.
fn contract(traffic: &impl Traffic) {
    let backend: SocketAddr = ([127, 0, 0, 1], 9).into();
    assert_eq!(*traffic.followed(), Table::default(), "it begins with an empty table");
    assert_eq!(traffic.in_flight(backend), 0, "a backend that is not known is idle");
    let route = Route {
        host: "shop.localhost".into(),
        path_prefix: String::new(),
        exact: false,
        priority: 1,
        doors: Doors::BOTH,
        backends: vec![backend],
        name: "default/shop".into(),
    };
    let table = Arc::new(Table { routes: vec![route], ..Table::default() });
    traffic.follow(table.clone());
    assert_eq!(traffic.followed(), table, "it tells which table it follows");
    traffic.follow(Arc::default());
    assert_eq!(*traffic.followed(), Table::default(), "the last table counts");
}

#[test]
fn a_fake_gateway_follows_its_table() {
    let fake = Fake::default();
    contract(&fake);
    assert_eq!(fake.told(), 2);
    let backend: SocketAddr = ([127, 0, 0, 1], 9).into();
    fake.serve(backend, 3);
    assert_eq!(fake.in_flight(backend), 3);
}

#[test]
fn the_gateway_follows_its_table() {
    contract(&Live::new(gateway::Gateway::new(gateway::Settings::default())));
}
