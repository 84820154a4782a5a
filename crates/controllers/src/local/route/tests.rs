use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::networking::v1::IngressClass;
use kit::testing::{self, Bench, Gate, Scenario};
use kit::{Do, House, Name, Outcome};
use ports::traffic::{Fake, Table, Traffic};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::plan::{Step, World, plan};
use super::*;

fn class(name: &str, controller: &str) -> Value {
    json!({ "apiVersion": "networking.k8s.io/v1", "kind": "IngressClass", "metadata": { "name": name },
            "spec": { "controller": controller } })
}

fn meta(place: &str, second: u8) -> Value {
    let (namespace, name) = place.split_once('/').expect("a namespace and a name");
    json!({ "namespace": namespace, "name": name, "creationTimestamp": format!("2026-01-01T00:00:{second:02}Z") })
}

/// An IngressRoute to port 80 of the Service of its own name.
fn route(place: &str, second: u8, rule: &str) -> Value {
    let name = place.rsplit('/').next();
    json!({ "apiVersion": "traefik.io/v1alpha1", "kind": "IngressRoute", "metadata": meta(place, second), "spec": {
        "routes": [{ "match": rule, "kind": "Rule", "services": [{ "name": name, "port": 80 }] }],
    } })
}

fn ingress(place: &str, second: u8, spec: Value) -> Value {
    json!({ "apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": meta(place, second), "spec": spec })
}

fn service(place: &str) -> Value {
    let ports = json!([{ "name": "http", "port": 80 }, { "name": "admin", "port": 81 }]);
    json!({ "apiVersion": "v1", "kind": "Service", "metadata": meta(place, 0), "spec": { "ports": ports } })
}

/// A slice of a Service with one endpoint on loopback.
fn slice(place: &str, port: u16, conditions: Value) -> Value {
    let (namespace, service) = place.split_once('/').expect("a namespace and a name");
    let labels = json!({ "kubernetes.io/service-name": service });
    let ports = json!([{ "name": "http", "port": port }, { "name": "admin", "port": port + 1 }]);
    json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
        "metadata": { "namespace": namespace, "name": format!("{service}-{port}"), "labels": labels },
        "ports": ports, "endpoints": [{ "addresses": ["127.0.0.1"], "conditions": conditions }],
    })
}

/// A Secret whose certificate is its own name.
fn secret(place: &str) -> Value {
    let data = json!({ "tls.crt": "Y2VydA==", "tls.key": "a2V5" });
    json!({ "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "metadata": meta(place, 0), "data": data })
}

/// The same with some fields of its spec set.
fn with(mut object: Value, fields: Value) -> Value {
    let spec = object["spec"].as_object_mut().expect("a spec");
    spec.extend(fields.as_object().expect("fields").clone());
    object
}

fn ready() -> Value {
    json!({ "ready": true, "serving": true, "terminating": false })
}

fn world(objects: &[Value]) -> World {
    let mut world = World::default();
    for object in objects {
        let object = object.clone();
        let kind = object["kind"].as_str().expect("a kind").to_owned();
        match kind.as_str() {
            "IngressRoute" => world.ingress_routes.push(Arc::new(read(object))),
            "Ingress" => world.ingresses.push(Arc::new(read(object))),
            "Service" => world.services.push(Arc::new(read(object))),
            "EndpointSlice" => world.slices.push(Arc::new(read(object))),
            _ => world.secrets.push(Arc::new(read(object))),
        }
    }
    world
}

fn read<K: serde::de::DeserializeOwned>(object: Value) -> K {
    serde_json::from_value(object).expect("an object of its kind")
}

/// One line per route: `host/path*=ports@doors^priority`, then certificates, then what was skipped.
fn told(objects: &[Value]) -> String {
    let plan = plan(&read(class(CLASS, CONTROLLER)), &world(objects));
    let mut words = Vec::new();
    for step in plan.steps {
        match step {
            Do::Outside(Step::Follow(table)) => words.push(shown(&table)),
            Do::Outside(Step::Say(skipped)) => {
                words.extend(skipped.iter().map(|message| format!("! {message}")))
            }
            other => words.push(other.to_string()),
        }
    }
    words.join("\n")
}

fn shown(table: &Table) -> String {
    let routes = table.routes.iter().map(|route| {
        let ports: Vec<String> = route.backends.iter().map(|backend| backend.port().to_string()).collect();
        let star = if route.exact { "" } else { "*" };
        let doors = [(route.doors.http, "h"), (route.doors.https, "s")];
        let doors: String = doors.iter().filter(|(open, _)| *open).map(|(_, door)| *door).collect();
        let (host, path, priority, name) = (&route.host, &route.path_prefix, route.priority, &route.name);
        format!("{host}{path}{star}={}@{doors}^{priority} {name}", ports.join("+"))
    });
    let certificates = table.certificates.keys().map(|host| format!("cert {host}"));
    routes.chain(certificates).collect::<Vec<_>>().join("\n")
}

#[test]
fn every_ingress_route_has_its_place_in_the_table() {
    let shop = || route("a/shop", 1, "Host(`shop.localhost`)");
    let there = || [service("a/shop"), slice("a/shop", 9000, ready())];
    let table: Vec<(&str, Vec<Value>, &str)> = vec![
        ("nothing", vec![], ""),
        ("no Service yet", vec![shop()], "shop.localhost*=@hs^22 a/shop"),
        ("nobody answers yet", vec![shop(), service("a/shop")], "shop.localhost*=@hs^22 a/shop"),
        ("one answers", [vec![shop()], there().to_vec()].concat(), "shop.localhost*=9000@hs^22 a/shop"),
        (
            "two answer, of four",
            vec![
                shop(),
                service("a/shop"),
                slice("a/shop", 9030, json!({ "ready": true, "serving": true, "terminating": true })),
                slice("a/shop", 9020, json!({})),
                slice("a/shop", 9010, json!({ "ready": false, "serving": false })),
                slice("a/shop", 9000, ready()),
            ],
            "shop.localhost*=9000+9020@hs^22 a/shop",
        ),
        (
            "endpoints of another namespace",
            vec![shop(), service("a/shop"), slice("b/shop", 9000, ready())],
            "shop.localhost*=@hs^22 a/shop",
        ),
        (
            "doors",
            [vec![with(shop(), json!({ "entryPoints": ["websecure"] }))], there().to_vec()].concat(),
            "shop.localhost*=9000@s^22 a/shop",
        ),
        (
            "a door that is not there",
            vec![with(shop(), json!({ "entryPoints": ["mqtt"] }))],
            "! IngressRoute a/shop: the route \"Host(`shop.localhost`)\" is skipped: its entry points are not known here; web and websecure are",
        ),
        (
            "a certificate, and one that is not issued yet",
            vec![
                with(
                    route("a/shop", 1, "Host(`a.b`) || Host(`c.d`) && Path(`/x`)"),
                    json!({ "tls": { "secretName": "shop-tls" } }),
                ),
                with(route("a/late", 2, "Host(`e.f`)"), json!({ "tls": { "secretName": "late-tls" } })),
                secret("a/shop-tls"),
                secret("b/late-tls"),
            ],
            "a.b*=@hs^40 a/shop\nc.d/x=@hs^40 a/shop\ne.f*=@hs^11 a/late\ncert a.b\ncert c.d",
        ),
        (
            "one bad route does not take the others with it",
            vec![route("a/bad", 1, "Host(`x`) && !Path(`/y`)"), route("a/good", 2, "Host(`x`)")],
            "x*=@hs^9 a/good\n! IngressRoute a/bad: the route \"Host(`x`) && !Path(`/y`)\" is skipped: `!` is not known here",
        ),
        (
            "the older of two namespaces has the host",
            vec![
                route("a/young", 2, "Host(`x`) && PathPrefix(`/`)"),
                route("b/old", 1, "Host(`x`)"),
                route("a/other", 3, "Host(`x`) && PathPrefix(`/other`)"),
            ],
            "x*=@hs^9 b/old\nx/other*=@hs^33 a/other\n! IngressRoute a/young: x is taken by IngressRoute b/old, which is older; choose another host or path",
        ),
        (
            "one namespace may say it twice",
            vec![
                with(route("a/one", 1, "Host(`x`)"), json!({ "entryPoints": ["web"] })),
                with(route("a/two", 2, "Host(`x`)"), json!({ "entryPoints": ["websecure"] })),
            ],
            "x*=@s^9 a/two\nx*=@h^9 a/one",
        ),
    ];
    for (what, objects, want) in table {
        assert_eq!(told(&objects), want, "{what}");
    }
}

#[test]
fn every_service_port_is_found() {
    let to = |services: Value| {
        let mut object = route("a/shop", 1, "Host(`x`)");
        object["spec"]["routes"][0]["services"] = services;
        vec![
            object,
            service("a/shop"),
            service("a/more"),
            slice("a/shop", 9000, ready()),
            slice("a/more", 9100, ready()),
        ]
    };
    let skipped = |why: &str| format!("! IngressRoute a/shop: {why}");
    let rule = "the route \"Host(`x`)\" is skipped: ";
    let table = [
        (json!([{ "name": "shop", "port": 81 }]), "x*=9001@hs^9 a/shop".to_owned()),
        (json!([{ "name": "shop", "port": "admin" }]), "x*=9001@hs^9 a/shop".to_owned()),
        (json!([{ "name": "shop", "port": "80" }]), "x*=9000@hs^9 a/shop".to_owned()),
        (json!([{ "name": "shop", "namespace": "a", "port": 80 }]), "x*=9000@hs^9 a/shop".to_owned()),
        (
            json!([{ "name": "shop", "port": 80 }, { "name": "more", "port": 80 }]),
            "x*=9000+9100@hs^9 a/shop".to_owned(),
        ),
        (json!([{ "name": "shop", "port": 82 }]), skipped("a route is skipped: Service shop has no port 82")),
        (
            json!([{ "name": "shop" }]),
            skipped("a route is skipped: Service shop has no port that is the only one"),
        ),
        (json!([]), skipped(&format!("{rule}it names no Service"))),
        (
            json!([{ "name": "shop", "namespace": "b", "port": 80 }]),
            skipped(&format!(
                "{rule}Service b/shop is in another namespace; a route leads to Services of its own"
            )),
        ),
    ];
    for (services, want) in table {
        assert_eq!(told(&to(services.clone())), want, "{services}");
    }
    let mut named = vec![route("a/shop", 1, "Host(`x`)"), slice("a/shop", 80, ready())];
    named.push(
        json!({ "kind": "Service", "metadata": meta("a/shop", 0), "spec": { "type": "ExternalName" } }),
    );
    assert_eq!(told(&named), "x*=80@hs^9 a/shop", "a Service that speaks of no ports");
}

#[test]
fn every_ingress_has_its_place_in_the_table() {
    let to = |name: &str, port: Value| json!({ "service": { "name": name, "port": port } });
    let web = || to("shop", json!({ "number": 80 }));
    let path = |path: &str, kind: &str| json!({ "path": path, "pathType": kind, "backend": web() });
    let host = |host: &str, paths: Vec<Value>| json!({ "host": host, "http": { "paths": paths } });
    let shop =
        |spec: Value| vec![ingress("a/shop", 1, spec), service("a/shop"), slice("a/shop", 9000, ready())];
    let plain = || json!({ "rules": [host("X.test", vec![path("/", "Prefix")])] });
    let line = "x.test*=9000@hs^33 a/shop";
    let classed = |name: &str| with(ingress("a/shop", 1, plain()), json!({ "ingressClassName": name }));
    let table: Vec<(&str, Vec<Value>, String)> = vec![
        ("no class", shop(plain()), line.into()),
        ("our class", vec![classed("terrace")], line.replace("9000", "")),
        ("another class", vec![classed("nginx")], String::new()),
        (
            "paths: the exact one wins over the prefix",
            shop(json!({ "rules": [host("x", vec![path("/a/", "Prefix"), path("/a", "Exact"), path("/b", "ImplementationSpecific")])] })),
            "x/a*=9000@hs^30 a/shop\nx/a=9000@hs^30 a/shop\nx/b*=9000@hs^29 a/shop".into(),
        ),
        (
            "a default backend answers last, also for a rule that leads nowhere",
            shop(json!({ "defaultBackend": web(), "rules": [{ "host": "x" }] })),
            "*=9000@hs^-2147483648 a/shop\nx*=9000@hs^-2147483648 a/shop".into(),
        ),
        (
            "a port by name",
            shop(json!({ "defaultBackend": to("shop", json!({ "name": "admin" })) })),
            "*=9001@hs^-2147483648 a/shop".into(),
        ),
        (
            "certificates go to the hosts that their section names",
            vec![
                ingress("a/shop", 1, json!({
                    "tls": [{ "hosts": ["*.b.c"], "secretName": "one" }, { "hosts": ["d.e"], "secretName": "two" }],
                    "rules": [host("a.b.c", vec![path("/", "Prefix")]), host("d.e", vec![path("/", "Prefix")]), host("f.g", vec![path("/", "Prefix")])],
                })),
                secret("a/one"),
                secret("a/two"),
            ],
            "a.b.c*=@hs^32 a/shop\nd.e*=@hs^30 a/shop\nf.g*=@hs^30 a/shop\ncert a.b.c\ncert d.e".into(),
        ),
        (
            "what leads to no Service",
            vec![ingress("a/shop", 1, json!({ "defaultBackend": { "resource": { "kind": "Bucket", "name": "b" } }, "rules": [{ "host": "a b" }] }))],
            "! Ingress a/shop: a rule is skipped: \"a b\" is not a host\n! Ingress a/shop: a rule is skipped: its backend is not a Service".into(),
        ),
    ];
    for (what, objects, want) in table {
        assert_eq!(told(&objects), want, "{what}");
    }
}

#[test]
fn only_what_differs_is_done_and_only_for_our_class() {
    let objects = [route("a/shop", 1, "Host(`x`)"), route("a/bad", 1, "Host(")];
    let mut world = world(&objects);
    let steps = |class: Value, world: &World| -> Vec<String> {
        plan(&read(class), world).steps.iter().map(ToString::to_string).collect()
    };
    let first = steps(class(CLASS, CONTROLLER), &world);
    assert_eq!(first, ["follow 1 routes and 0 certificates", "tell of 1 routes that cannot be followed"]);
    assert!(steps(class(CLASS, "traefik.io/ingress-controller"), &world).is_empty(), "another controller");
    assert!(steps(class("nginx", CONTROLLER), &world).is_empty(), "another name");
    for step in plan(&read(class(CLASS, CONTROLLER)), &world).steps {
        match step {
            Do::Outside(Step::Follow(table)) => world.followed = table,
            Do::Outside(Step::Say(skipped)) => world.said = skipped,
            other => panic!("{other}"),
        }
    }
    assert!(steps(class(CLASS, CONTROLLER), &world).is_empty(), "all is so already");
    world.ingress_routes.reverse();
    assert!(steps(class(CLASS, CONTROLLER), &world).is_empty(), "the order of objects says nothing");
}

fn some_shop(_: &Gate) -> Scenario<Routes<Arc<Fake>>> {
    let traffic = Arc::new(Fake::default());
    let seen = traffic.clone();
    let tls = json!({ "tls": { "secretName": "shop-tls" } });
    Scenario::new(Routes::new(traffic), class(CLASS, CONTROLLER))
        .given(with(route("default/shop", 1, "Host(`shop.localhost`)"), tls))
        .given(service("default/shop"))
        .given(slice("default/shop", 9000, ready()))
        .given(secret("default/shop-tls"))
        .outside(move || shown(&seen.followed()))
        // The gateway goes on with what it has.
        .keeps_something()
}

#[tokio::test]
async fn the_table_converges_and_nothing_is_written_to_the_class() {
    let bench = testing::converge(some_shop).await;
    let class = bench.get::<IngressClass>("", CLASS).await.expect("the class is there");
    assert!(
        class.metadata.managed_fields.unwrap_or_default().iter().all(|entry| entry.subresource.is_none())
    );
    assert!(bench.gate().writes().is_empty());
}

#[tokio::test]
async fn the_table_survives_any_broken_call() {
    testing::sweep(some_shop).await;
}

#[tokio::test]
async fn whatever_speaks_of_routes_wakes_the_table() {
    let bench = Bench::start().await;
    let (traffic, stop) = (Arc::new(Fake::default()), CancellationToken::new());
    let house = House::new(bench.client().clone(), stop.clone()).room(Routes::new(traffic.clone()));
    let house = tokio::spawn(house.run());
    let expect = |want: &'static str| {
        let traffic = traffic.clone();
        async move {
            let found = traffic.until(|table| shown(table) == want);
            let found = tokio::time::timeout(Duration::from_secs(30), found).await;
            found.unwrap_or_else(|_| panic!("expected {want:?}, found {:?}", shown(&traffic.followed())));
        }
    };
    bench.create(class(CLASS, CONTROLLER)).await;
    let tls = json!({ "tls": { "secretName": "shop-tls" } });
    bench.create(with(route("default/shop", 1, "Host(`x`)"), tls)).await;
    expect("x*=@hs^9 default/shop").await;
    bench.create(service("default/shop")).await;
    bench.create(slice("default/shop", 9000, ready())).await;
    expect("x*=9000@hs^9 default/shop").await;
    bench.create(secret("default/shop-tls")).await;
    expect("x*=9000@hs^9 default/shop\ncert x").await;
    bench.delete::<api::foreign::traefik::IngressRoute>(&Name::new("default", "shop")).await;
    expect("").await;
    let backend = json!({ "service": { "name": "shop", "port": { "number": 81 } } });
    bench.create(ingress("default/shop", 1, json!({ "defaultBackend": backend }))).await;
    expect("*=9001@hs^-2147483648 default/shop").await;
    stop.cancel();
    house.await.expect("the house closes");
}

#[tokio::test]
async fn a_class_of_somebody_else_is_left_alone() {
    let bench = Bench::start().await;
    let traffic = Arc::new(Fake::default());
    bench.create(class("nginx", "k8s.io/ingress-nginx")).await;
    bench.create(route("default/shop", 1, "Host(`x`)")).await;
    let outcome = bench.pass(&Routes::new(traffic.clone()), &Name::new("", "nginx")).await.expect("a pass");
    assert_eq!((outcome, traffic.told()), (Outcome::OnChange, 0));
}
