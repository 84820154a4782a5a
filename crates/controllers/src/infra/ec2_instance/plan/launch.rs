//! How a machine is made.

use api::infra::{BlockDeviceMapping, EC2Instance, EC2InstanceStatus, Tags, VolumeType};
use api::secret::Sealed;
use ports::aws::{Launch, Machine, NewDisk, Volume};
use sha2::{Digest, Sha256};

use super::Found;
use super::identity::lives;

/// How much of a digest is in a token: AWS takes 64 letters.
const TOKEN_BYTES: usize = 24;

/// All that the spec asks for, in one call.
pub(super) fn launch(instance: &EC2Instance, tags: &Tags, token: String) -> Launch {
    let spec = &instance.spec;
    Launch {
        token,
        image_id: spec.image_id.clone(),
        instance_type: spec.instance_type.clone(),
        key_name: spec.key_name.clone(),
        subnet_id: spec.subnet_id.clone(),
        groups: spec.security_group_ids.clone(),
        profile: spec.iam_instance_profile.clone(),
        user_data: spec.user_data.clone().map(Sealed::new),
        disks: spec.block_device_mappings.iter().map(disk).collect(),
        monitoring: spec.monitoring,
        protected: spec.disable_api_termination,
        ebs_optimized: spec.ebs_optimized,
        tags: tags.clone(),
    }
}

fn disk(mapping: &BlockDeviceMapping) -> NewDisk {
    let volume = mapping.ebs.as_ref().map(|ebs| Volume {
        id: String::new(),
        size_gib: ebs.volume_size,
        volume_type: word(ebs.volume_type).to_owned(),
        iops: ebs.iops,
        encrypted: ebs.encrypted,
        kms_key_id: ebs.kms_key_id.clone(),
    });
    let goes = mapping.ebs.as_ref().is_none_or(|ebs| ebs.delete_on_termination);
    NewDisk { device: mapping.device_name.clone(), volume, delete_on_termination: goes }
}

/// AWS's word for a kind of disk.
fn word(kind: VolumeType) -> &'static str {
    match kind {
        VolumeType::Gp2 => "gp2",
        VolumeType::Gp3 => "gp3",
        VolumeType::Io1 => "io1",
        VolumeType::Io2 => "io2",
        VolumeType::St1 => "st1",
        VolumeType::Sc1 => "sc1",
        VolumeType::Standard => "standard",
    }
}

/// The token that the next machine is asked for with, and the machine before it, if it can still be seen.
///
/// It changes when a machine has ended, and only then: with the old one AWS would say that it is gone. The last one may have
/// ended before the status could tell of it; then it is known by its own token.
pub(super) fn token<'a>(
    uid: &str,
    status: &EC2InstanceStatus,
    found: &'a Found,
) -> (String, Option<&'a Machine>) {
    let ended: Vec<&Machine> =
        found.marked.iter().chain(&found.others).filter(|machine| !lives(machine)).collect();
    let known = status.instance_id.as_deref();
    let mut before = ended.iter().copied().find(|machine| Some(machine.id.as_str()) == known);
    let mut token = spelled(uid, known);
    // No machine is passed twice: its id is in the token after it.
    for _ in 0..ended.len() {
        let Some(next) = ended.iter().copied().find(|machine| machine.client_token.as_ref() == Some(&token))
        else {
            break;
        };
        before = Some(next);
        token = spelled(uid, Some(&next.id));
    }
    (token, before)
}

fn spelled(uid: &str, before: Option<&str>) -> String {
    let digest = Sha256::digest(format!("{uid} {}", before.unwrap_or_default()));
    let digest: String = digest.iter().take(TOKEN_BYTES).map(|byte| format!("{byte:02x}")).collect();
    format!("terrace-{digest}")
}
