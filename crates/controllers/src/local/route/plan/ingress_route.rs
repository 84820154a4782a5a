//! What an `IngressRoute` wishes.

use api::foreign::traefik::{IngressRoute, Route, RouteService};

use super::rule;
use super::wish::{Origin, Port, Target, Wish, doors};

/// Its wishes, and what cannot be followed.
pub(super) fn wishes(object: &IngressRoute) -> (Vec<Wish<'_>>, Vec<String>) {
    let origin = Origin::of("IngressRoute", object);
    let (mut wishes, mut skipped) = (Vec::new(), Vec::new());
    for route in &object.spec.routes {
        match of_route(object, origin, route) {
            Ok(found) => wishes.extend(found),
            Err(why) => skipped.push(format!("{origin}: the route {:?} is skipped: {why}", route.match_)),
        }
    }
    (wishes, skipped)
}

fn of_route<'a>(
    object: &'a IngressRoute,
    origin: Origin<'a>,
    route: &'a Route,
) -> Result<Vec<Wish<'a>>, String> {
    let meant = rule::parse(&route.match_)?;
    let entry_points = object.spec.entry_points.iter().map(String::as_str);
    let doors = doors(entry_points).ok_or("its entry points are not known here; web and websecure are")?;
    if route.services.is_empty() {
        return Err("it names no Service".into());
    }
    let targets = route.services.iter().map(|service| target(origin, service));
    let targets = targets.collect::<Result<Vec<_>, String>>()?;
    // As Traefik has it: without a priority, or with zero, the longest rule wins.
    let length = i64::try_from(route.match_.len()).unwrap_or(i64::MAX);
    let priority = route.priority.filter(|priority| *priority != 0).unwrap_or(length);
    let secret = object.spec.tls.as_ref().and_then(|tls| tls.secret_name.as_deref());
    let wish = |requests| Wish { origin, requests, priority, doors, targets: targets.clone(), secret };
    Ok(meant.into_iter().map(wish).collect())
}

fn target<'a>(origin: Origin<'a>, service: &'a RouteService) -> Result<Target<'a>, String> {
    match service.namespace.as_deref() {
        Some(other) if !other.is_empty() && other != origin.namespace => {
            let name = &service.name;
            Err(format!(
                "Service {other}/{name} is in another namespace; a route leads to Services of its own"
            ))
        }
        _ => Ok(Target { service: &service.name, port: Port::of(service.port.as_ref()) }),
    }
}
