use api::annotations::INSTANCE_ID;
use api::infra::EC2Instance;
use kit::{Fault, Name, Reader, Room};
use kube::ResourceExt;
use ports::aws::{Account, Aws, Error, Machine, Search};

use super::EC2Instances;
use super::plan::{Details, Found, NAME, Who, lives, moving, who};
use crate::infra::desk::{Visitor, World};
use crate::infra::tags::OWNER;

/// Looks for the machine in the account of its provider.
pub(super) async fn observe(
    room: &EC2Instances,
    instance: &EC2Instance,
    reader: &Reader,
) -> Result<World<Found>, Fault> {
    let visitor = Visitor {
        room: EC2Instances::NAME,
        name: Name::of(instance),
        going: instance.metadata.deletion_timestamp.is_some(),
        bell: &room.bell,
        provider: &instance.spec.provider_ref,
    };
    let aws = &room.desk.aws;
    room.desk.look(reader, visitor, async |account| found(aws, &account, instance).await.map(Some)).await
}

async fn found(aws: &Aws, account: &Account, instance: &EC2Instance) -> Result<Found, Error> {
    let own = Name::of(instance).to_string();
    let marked = aws.machines(account, Search::Tag(OWNER, &own)).await?;
    let mut found = Found { marked, ..Found::default() };
    if !found.marked.iter().any(lives) {
        found.others = others(aws, account, instance, &found.marked).await?;
    }
    let going = instance.metadata.deletion_timestamp.is_some();
    let details = match who(instance, &found) {
        Who::One(machine) if going || !moving(&machine.power) => {
            Some(details(aws, account, instance, machine).await?)
        }
        Who::One(_) | Who::Nobody | Who::Several(_) | Who::Lost(_) => None,
    };
    Ok(Found { details, ..found })
}

/// Without a machine that carries our mark: the one that the status names, or the one that is meant.
async fn others(
    aws: &Aws,
    account: &Account,
    instance: &EC2Instance,
    marked: &[Machine],
) -> Result<Vec<Machine>, Error> {
    let known = instance.status.as_ref().and_then(|status| status.instance_id.as_deref());
    let known = known.filter(|id| !marked.iter().any(|machine| machine.id == *id));
    let mut others = match known {
        Some(id) => aws.machines(account, Search::Id(id)).await?,
        None => Vec::new(),
    };
    if instance.metadata.deletion_timestamp.is_some() || others.iter().any(lives) {
        return Ok(others);
    }
    if let Some(id) = instance.annotations().get(INSTANCE_ID) {
        others.extend(aws.machines(account, Search::Id(id)).await?);
        return Ok(others);
    }
    let called = aws.machines(account, Search::Tag(NAME, &instance.spec.instance_name)).await?;
    // Those that other objects made may be called alike.
    let nobodys = |machine: &Machine| lives(machine) && !machine.tags.contains_key(OWNER);
    others.extend(called.into_iter().filter(nobodys));
    Ok(others)
}

/// What a list does not say.
async fn details(
    aws: &Aws,
    account: &Account,
    instance: &EC2Instance,
    machine: &Machine,
) -> Result<Details, Error> {
    let (spec, id) = (&instance.spec, machine.id.as_str());
    let mut details = Details { protected: aws.machine_protected(account, id).await?, ..Details::default() };
    if instance.metadata.deletion_timestamp.is_some() {
        return Ok(details);
    }
    if machine.profile.is_some() {
        details.profile = aws.machine_profile(account, id).await?;
    }
    if spec.user_data.is_some() {
        details.user_data = aws.machine_user_data(account, id).await?;
    }
    if spec.enable_console_output {
        details.console = Some(aws.machine_console(account, id).await?);
    }
    Ok(details)
}
