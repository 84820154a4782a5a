//! How a machine differs from its spec, field by field, and what mends it.

use std::collections::BTreeSet;

use api::drift::Drift;
use api::infra::{EC2InstanceSpec, Tags};
use api::secret::Sealed;
use ports::aws::{Machine, MachineSetting, Power};
use sha2::{Digest, Sha256};

use super::call::Call;
use super::identity::Details;
use crate::infra::course::{Mend, field};
use crate::infra::tags;

/// How much of the digest of a script is shown: enough to tell two apart.
const DIGEST_BYTES: usize = 6;

/// What mends a machine.
#[derive(Default)]
pub(super) struct Mends {
    /// Whether it runs or not.
    pub(super) easy: Vec<Mend<Call>>,
    /// While it is stopped only.
    pub(super) hard: Vec<Mend<Call>>,
}

/// Fields that differ and that nobody can change on a machine.
pub(super) fn fixed(spec: &EC2InstanceSpec, live: &Machine) -> Vec<Drift> {
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let asked = [
        ("imageID", Some(spec.image_id.clone()), live.image_id.clone()),
        ("keyName", spec.key_name.clone(), text(&live.key_name)),
        ("subnetID", spec.subnet_id.clone(), text(&live.subnet_id)),
    ];
    let differing = asked.into_iter().filter_map(|(name, wanted, actual)| Some((name, wanted?, actual)));
    differing.filter(|(_, wanted, actual)| wanted != actual).map(|(name, w, a)| field(name, w, a)).collect()
}

/// How a machine differs. Without details only what the list says is compared.
pub(super) fn mends(
    spec: &EC2InstanceSpec,
    live: &Machine,
    details: Option<&Details>,
    (wanted, held): (&Tags, &[String]),
) -> Mends {
    let mut all = Mends { easy: retag(live, wanted, held), hard: hard(spec, live, details) };
    let set = |fields, setting| Mend { fields, call: Call::Set { id: live.id.clone(), setting } };
    let asked: BTreeSet<&String> = spec.security_group_ids.iter().collect();
    let there: BTreeSet<&String> = live.groups.iter().collect();
    if !asked.is_empty() && asked != there {
        let fields = vec![field("securityGroupIDs", joined(&asked), joined(&there))];
        all.easy.push(set(fields, MachineSetting::Groups(spec.security_group_ids.clone())));
    }
    if spec.monitoring != live.monitoring {
        let fields = vec![field("monitoring", spec.monitoring, live.monitoring)];
        all.easy.push(Mend { fields, call: Call::Monitor { id: live.id.clone(), on: spec.monitoring } });
    }
    for mapping in &spec.block_device_mappings {
        let Some(ebs) = &mapping.ebs else { continue };
        let Some(disk) = live.disks.iter().find(|disk| disk.device == mapping.device_name) else { continue };
        let value = ebs.delete_on_termination;
        if value != disk.delete_on_termination {
            let name = format!("blockDeviceMappings[{}].ebs.deleteOnTermination", disk.device);
            let setting = MachineSetting::DeleteOnTermination { device: disk.device.clone(), value };
            all.easy.push(set(vec![field(&name, value, disk.delete_on_termination)], setting));
        }
    }
    if let Some(details) = details {
        if spec.disable_api_termination != details.protected {
            let fields =
                vec![field("disableApiTermination", spec.disable_api_termination, details.protected)];
            all.easy.push(set(fields, MachineSetting::Protected(spec.disable_api_termination)));
        }
        all.easy.extend(profile(spec, live, details));
    }
    all
}

fn retag(live: &Machine, wanted: &Tags, held: &[String]) -> Vec<Mend<Call>> {
    let retag = tags::compare(&live.tags, wanted, held);
    let (added, removed) = retag.split();
    let id = || live.id.clone();
    let tag = Mend { fields: added, call: Call::Tag { id: id(), tags: retag.set } };
    let untag = Mend { fields: removed, call: Call::Untag { id: id(), keys: retag.remove } };
    [tag, untag].into_iter().filter(|mend| !mend.fields.is_empty()).collect()
}

fn hard(spec: &EC2InstanceSpec, live: &Machine, details: Option<&Details>) -> Vec<Mend<Call>> {
    let set = |fields, setting| Mend { fields, call: Call::Set { id: live.id.clone(), setting } };
    let mut all = Vec::new();
    if spec.instance_type != live.instance_type {
        let fields = vec![field("instanceType", &spec.instance_type, &live.instance_type)];
        all.push(set(fields, MachineSetting::InstanceType(spec.instance_type.clone())));
    }
    if spec.ebs_optimized != live.ebs_optimized {
        let fields = vec![field("ebsOptimized", spec.ebs_optimized, live.ebs_optimized)];
        all.push(set(fields, MachineSetting::EbsOptimized(spec.ebs_optimized)));
    }
    if let (Some(details), Some(script)) = (details, &spec.user_data) {
        let there = details.user_data.as_ref().map_or(&[][..], |there| there.open());
        if script.as_bytes() != there {
            let fields = vec![field("userData", shown(script.as_bytes()), shown(there))];
            all.push(set(fields, MachineSetting::UserData(Sealed::new(script.clone()))));
        }
    }
    all
}

/// A machine has the rights that its spec names, and no others.
fn profile(spec: &EC2InstanceSpec, live: &Machine, details: &Details) -> Vec<Mend<Call>> {
    let asked = spec.iam_instance_profile.as_ref();
    let there = details.profile.as_ref();
    let text = |value: Option<&String>| value.cloned().unwrap_or_default();
    let fields = || vec![field("iamInstanceProfile", text(asked), text(there.map(|there| &there.arn)))];
    let give = |profile: &String| Call::GiveProfile { id: live.id.clone(), profile: profile.clone() };
    match (asked, there) {
        (None, None) => Vec::new(),
        (Some(asked), Some(there)) if same_profile(asked, &there.arn) => Vec::new(),
        (Some(asked), None) => vec![Mend { fields: fields(), call: give(asked) }],
        (None, Some(there)) => {
            let call = Call::TakeProfile { association: there.association.clone() };
            vec![Mend { fields: fields(), call }]
        }
        // Only on a machine that runs can one profile take the place of another.
        (Some(asked), Some(there)) if live.power == Power::Stopped => {
            let take = Call::TakeProfile { association: there.association.clone() };
            vec![Mend { fields: fields(), call: take }, Mend { fields: Vec::new(), call: give(asked) }]
        }
        (Some(asked), Some(there)) => {
            let association = there.association.clone();
            let call = Call::SwapProfile { association, profile: asked.clone() };
            vec![Mend { fields: fields(), call }]
        }
    }
}

/// A profile is named by its ARN or by the last part of it.
fn same_profile(asked: &str, arn: &str) -> bool {
    asked == arn || arn.rsplit('/').next() == Some(asked)
}

fn joined(all: &BTreeSet<&String>) -> String {
    all.iter().map(|one| one.as_str()).collect::<Vec<_>>().join(", ")
}

/// A script may hold what nobody should see: it is told by its digest and length.
fn shown(script: &[u8]) -> String {
    if script.is_empty() {
        return String::new();
    }
    let digest: String =
        Sha256::digest(script).iter().take(DIGEST_BYTES).map(|byte| format!("{byte:02x}")).collect();
    format!("sha256 {digest}, {} bytes", script.len())
}
