//! Machines.

use std::collections::HashMap;

use api::annotations::INSTANCE_ID;
use api::infra::{
    BlockDeviceMapping, EC2Instance, EC2InstanceSpec, EbsBlockDevice, InstanceDeletionPolicy, ProviderRef,
    VolumeType,
};
use api::secret::Sealed;
use kube::ResourceExt;
use ports::aws::{Account, Aws, Disk, Error, Machine, Search, Volume};

use super::{Seen, name, tags};
use crate::infra::ec2_instance::{NAME, RESTART, lives};

/// Longest script that a spec takes, in letters.
const SCRIPT_MAX: usize = 16_384;
/// Fewest operations a second that a spec can ask for.
const IOPS_MIN: i32 = 100;

/// The machines of an account, each as the object that asks for what is there.
pub(super) async fn found(
    aws: &Aws,
    account: &Account,
    provider: &ProviderRef,
) -> Result<Vec<Seen<EC2Instance>>, Error> {
    let mut all = aws.machines(account, Search::All).await?;
    all.retain(lives);
    all.sort_by(|one, other| one.id.cmp(&other.id));
    let mut shared: HashMap<String, usize> = HashMap::new();
    all.iter().for_each(|machine| *shared.entry(name(called(machine))).or_default() += 1);
    let mut found = Vec::new();
    for machine in all {
        let spec = spec(aws, account, &machine, provider).await?;
        let own = name(called(&machine));
        let own = if shared.get(&own) == Some(&1) { own } else { machine.id.clone() };
        let mut instance = EC2Instance::new(&own, spec);
        instance.annotations_mut().insert(INSTANCE_ID.to_owned(), machine.id.clone());
        found.push(Seen { resource: machine.id, tags: machine.tags, object: instance });
    }
    Ok(found)
}

/// What a machine is called: one without a name by its id.
fn called(machine: &Machine) -> &str {
    machine.tags.get(NAME).filter(|name| !name.is_empty()).unwrap_or(&machine.id)
}

async fn spec(
    aws: &Aws,
    account: &Account,
    machine: &Machine,
    provider: &ProviderRef,
) -> Result<EC2InstanceSpec, Error> {
    let profile = match machine.profile {
        Some(_) => aws.machine_profile(account, &machine.id).await?,
        None => None,
    };
    let script = aws.machine_user_data(account, &machine.id).await?.map(Sealed::into_open);
    // What is no text cannot stand in a spec, and what does not stand there is not compared.
    let script = script.and_then(|script| String::from_utf8(script).ok());
    let volumes = aws.machine_volumes(account, &machine.id).await?;
    let mut tags = tags(&machine.tags);
    tags.retain(|key, _| key != NAME && key != RESTART);
    Ok(EC2InstanceSpec {
        provider_ref: provider.clone(),
        instance_name: called(machine).to_owned(),
        instance_type: machine.instance_type.clone(),
        image_id: machine.image_id.clone(),
        key_name: machine.key_name.clone(),
        subnet_id: machine.subnet_id.clone(),
        security_group_ids: machine.groups.iter().cloned().collect(),
        iam_instance_profile: profile.map(|profile| profile.arn),
        user_data: script.filter(|script| script.chars().count() <= SCRIPT_MAX),
        block_device_mappings: machine.disks.iter().filter_map(|disk| mapping(disk, &volumes)).collect(),
        monitoring: machine.monitoring,
        disable_api_termination: aws.machine_protected(account, &machine.id).await?,
        ebs_optimized: machine.ebs_optimized,
        tags,
        // What somebody else made is not deleted because an object of ours is.
        deletion_policy: InstanceDeletionPolicy::Retain,
        enable_console_output: false,
    })
}

fn mapping(disk: &Disk, volumes: &[Volume]) -> Option<BlockDeviceMapping> {
    let volume = volumes.iter().find(|volume| volume.id == disk.volume)?;
    let volume_type = kind(&volume.volume_type)?;
    // Other kinds tell their operations, too, but nobody can ask for them.
    let asked = matches!(volume_type, VolumeType::Gp3 | VolumeType::Io1 | VolumeType::Io2);
    let ebs = EbsBlockDevice {
        volume_size: volume.size_gib,
        volume_type,
        iops: volume.iops.filter(|iops| asked && *iops >= IOPS_MIN),
        delete_on_termination: disk.delete_on_termination,
        encrypted: volume.encrypted,
        kms_key_id: volume.kms_key_id.clone().filter(|_| volume.encrypted),
    };
    Some(BlockDeviceMapping { device_name: disk.device.clone(), ebs: Some(ebs) })
}

fn kind(word: &str) -> Option<VolumeType> {
    Some(match word {
        "gp2" => VolumeType::Gp2,
        "gp3" => VolumeType::Gp3,
        "io1" => VolumeType::Io1,
        "io2" => VolumeType::Io2,
        "st1" => VolumeType::St1,
        "sc1" => VolumeType::Sc1,
        "standard" => VolumeType::Standard,
        _ => return None,
    })
}
