//! What the status tells of a machine.

use api::infra::EC2InstanceStatus;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use ports::aws::{Machine, Power};

use super::identity::Details;

/// How much of the end of a console is shown, in letters: a screen or two.
const CONSOLE_MAX: usize = 8192;

/// Tells how a machine stands.
pub(super) fn report(machine: &Machine, details: Option<&Details>, status: &mut EC2InstanceStatus) {
    status.instance_id = Some(machine.id.clone());
    status.instance_state = Some(machine.power.as_str().to_owned());
    status.private_ip = machine.private_ip.clone();
    status.public_ip = machine.public_ip.clone();
    status.private_dns = machine.private_dns.clone();
    status.public_dns = machine.public_dns.clone();
    status.availability_zone = machine.zone.clone();
    status.launch_time = machine.launch_time.map(Time);
    let Some(details) = details else { return };
    let shown = details.console.as_ref().map(|console| (end(&console.text), console.at));
    match shown.filter(|(text, _)| !text.is_empty()) {
        // AWS dates each look; what did not change is not written again.
        Some((text, _)) if status.console_output.as_ref() == Some(&text) => {}
        Some((text, at)) => {
            status.console_output = Some(text);
            status.console_output_timestamp = at.map(Time);
        }
        None => {
            status.console_output = None;
            status.console_output_timestamp = None;
        }
    }
}

/// Tells that there is none any more. Its id stays: the next one is asked for with it.
pub(super) fn gone(status: &mut EC2InstanceStatus) {
    if status.instance_id.is_some() {
        status.instance_state = Some(Power::Terminated.as_str().to_owned());
    }
    status.private_ip = None;
    status.public_ip = None;
    status.private_dns = None;
    status.public_dns = None;
}

/// The end of a console, from the beginning of a line, without what would play with a terminal.
fn end(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let plain: String =
        text.chars().filter(|letter| matches!(letter, '\n' | '\t') || !letter.is_control()).collect();
    let letters = plain.chars().count();
    if letters <= CONSOLE_MAX {
        return plain;
    }
    let tail: String = plain.chars().skip(letters - CONSOLE_MAX).collect();
    // The first line is cut, mostly.
    match tail.split_once('\n') {
        Some((_, rest)) if !rest.is_empty() => rest.to_owned(),
        Some(_) | None => tail,
    }
}
