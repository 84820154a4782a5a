//! All wishes made one table.

use std::cmp::Reverse;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use k8s_openapi::api::core::v1::Secret;
use ports::traffic::{Certificate, Route, Table};

use super::backends::Directory;
use super::rule::Requests;
use super::wish::{Origin, Wish};
use super::{World, ingress, ingress_route};

/// The table, and what is to be said of routes that are not in it.
pub(super) fn table(world: &World) -> (Table, BTreeSet<String>) {
    let mut skipped = BTreeSet::new();
    let wishes = granted(world, &mut skipped);
    let directory = Directory::of(world);
    let mut routes = Vec::with_capacity(wishes.len());
    for wish in &wishes {
        match route(&directory, wish) {
            Ok(route) => routes.push(route),
            Err(why) => {
                skipped.insert(format!("{}: a route is skipped: {why}", wish.origin));
            }
        }
    }
    // One order whatever order the objects came in, so that tables can be compared.
    routes.sort_unstable_by(|one: &Route, other: &Route| {
        let key = |route: &Route| (Reverse(route.priority), route.doors.http, route.doors.https);
        let place = |route: &Route| (route.exact, key(route));
        (&one.host, &one.path_prefix, place(one), &one.name, &one.backends).cmp(&(
            &other.host,
            &other.path_prefix,
            place(other),
            &other.name,
            &other.backends,
        ))
    });
    let certificates = certificates(world, &wishes, &mut skipped);
    (Table { routes, certificates }, skipped)
}

/// The wishes that can be met, the oldest first: of two namespaces that want the same host and path, the older object's
/// has it.
fn granted<'a>(world: &'a World, skipped: &mut BTreeSet<String>) -> Vec<Wish<'a>> {
    let routes = world.ingress_routes.iter().map(|object| ingress_route::wishes(object));
    let ingresses = world.ingresses.iter().map(|object| ingress::wishes(object));
    let mut wishes = Vec::new();
    for (wished, told) in routes.chain(ingresses) {
        wishes.extend(wished);
        skipped.extend(told);
    }
    wishes.sort_by_key(|wish| wish.origin);
    let mut holders: HashMap<Requests, Origin<'a>> = HashMap::with_capacity(wishes.len());
    wishes.retain(|wish| match holders.entry(wish.requests.clone()) {
        Entry::Vacant(place) => {
            place.insert(wish.origin);
            true
        }
        Entry::Occupied(holder) if holder.get().namespace == wish.origin.namespace => true,
        Entry::Occupied(holder) => {
            let (Requests { host, path, .. }, origin, holder) = (&wish.requests, wish.origin, holder.get());
            skipped.insert(format!(
                "{origin}: {host}{path} is taken by {holder}, which is older; choose another host or path"
            ));
            false
        }
    });
    wishes
}

fn route(directory: &Directory<'_>, wish: &Wish<'_>) -> Result<Route, String> {
    let mut backends = Vec::new();
    for target in &wish.targets {
        backends.extend(directory.backends(wish.origin.namespace, *target)?);
    }
    backends.sort_unstable();
    backends.dedup();
    let Requests { host, path, exact } = wish.requests.clone();
    let (priority, doors) = (wish.priority, wish.doors);
    Ok(Route { host, path_prefix: path, exact, priority, doors, backends, name: wish.origin.application() })
}

/// The certificates of hosts. The oldest wish whose Secret is there counts; one that is not there yet is waited for.
fn certificates(
    world: &World,
    wishes: &[Wish<'_>],
    skipped: &mut BTreeSet<String>,
) -> BTreeMap<String, Certificate> {
    let mut secrets = HashMap::with_capacity(world.secrets.len());
    for secret in &world.secrets {
        let meta = &secret.metadata;
        let key = (meta.namespace.as_deref().unwrap_or_default(), meta.name.as_deref().unwrap_or_default());
        secrets.insert(key, &**secret);
    }
    let mut found = BTreeMap::new();
    for wish in wishes {
        let Some(name) = wish.secret else { continue };
        let Some(secret) = secrets.get(&(wish.origin.namespace, name)) else { continue };
        if found.contains_key(&wish.requests.host) {
            continue;
        }
        let Some(certificate) = certificate(secret) else {
            skipped.insert(format!("{}: Secret {name} holds no tls.crt and tls.key", wish.origin));
            continue;
        };
        found.insert(wish.requests.host.clone(), certificate);
    }
    found
}

fn certificate(secret: &Secret) -> Option<Certificate> {
    let data = secret.data.as_ref()?;
    let text = |key| data.get(key).and_then(|bytes| String::from_utf8(bytes.0.clone()).ok());
    Some(Certificate { chain_pem: text("tls.crt")?, key_pem: text("tls.key")? })
}
