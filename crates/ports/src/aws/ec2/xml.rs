//! Answers of EC2, which are XML.

use api::infra::Tags;
use api::secret::Sealed;
use aws_smithy_types::base64;
use aws_smithy_types::error::metadata::ErrorMetadata;
use aws_smithy_xml::decode::{Document, ScopedDecoder, XmlDecodeError, try_data};

use super::{Console, Disk, Machine, Power, Profile, Volume};

type Read<T> = Result<T, XmlDecodeError>;

/// Reads a whole document. One that was cut short would look like one with less in it.
pub(super) fn read<T>(body: &[u8], read: fn(ScopedDecoder<'_, '_>) -> Read<T>) -> Read<T> {
    let text = std::str::from_utf8(body).map_err(XmlDecodeError::unhandled)?;
    let mut document = Document::new(text);
    let root = document.root_element()?;
    let end = format!("</{}>", root.start_el().local());
    let empty = text.trim_end().ends_with("/>");
    if !text.trim_end().ends_with(&end) && !empty {
        return Err(XmlDecodeError::custom("it ends too early"));
    }
    read(root)
}

/// `<Response><Errors><Error><Code>…</Code><Message>…</Message></Error></Errors></Response>`
pub(super) fn refusal(mut root: ScopedDecoder<'_, '_>) -> Read<ErrorMetadata> {
    let mut told = ErrorMetadata::builder();
    while let Some(mut errors) = root.next_tag() {
        while let Some(mut error) = errors.next_tag() {
            while let Some(mut field) = error.next_tag() {
                match field.start_el().local() {
                    "Code" => told = told.code(text(&mut field)?),
                    "Message" => told = told.message(text(&mut field)?),
                    _ => {}
                }
            }
        }
    }
    Ok(told.build())
}

/// One page of a list, and where the next begins.
#[derive(Debug)]
pub(super) struct Page<T> {
    pub(super) items: Vec<T>,
    pub(super) next: Option<String>,
}

/// `<reservationSet><item><instancesSet><item>…`
pub(super) fn machines(mut root: ScopedDecoder<'_, '_>) -> Read<Page<Machine>> {
    let mut page = Page { items: Vec::new(), next: None };
    while let Some(mut field) = root.next_tag() {
        match field.start_el().local() {
            "reservationSet" => {
                while let Some(reservation) = field.next_tag() {
                    page.items.extend(launched(reservation)?);
                }
            }
            "nextToken" => page.next = filled(text(&mut field)?),
            _ => {}
        }
    }
    Ok(page)
}

/// The machines of one launch.
fn launched(mut reservation: ScopedDecoder<'_, '_>) -> Read<Vec<Machine>> {
    let mut all = Vec::new();
    while let Some(part) = reservation.next_tag() {
        if part.start_el().local() == "instancesSet" {
            all.extend(items(part, machine)?);
        }
    }
    Ok(all)
}

fn machine(mut item: ScopedDecoder<'_, '_>) -> Read<Machine> {
    let mut machine = Machine::default();
    while let Some(mut field) = item.next_tag() {
        match field.start_el().local() {
            "instanceId" => machine.id = text(&mut field)?,
            "imageId" => machine.image_id = text(&mut field)?,
            "instanceType" => machine.instance_type = text(&mut field)?,
            "keyName" => machine.key_name = filled(text(&mut field)?),
            "subnetId" => machine.subnet_id = filled(text(&mut field)?),
            "clientToken" => machine.client_token = filled(text(&mut field)?),
            "launchTime" => machine.launch_time = text(&mut field)?.parse().ok(),
            "privateIpAddress" => machine.private_ip = filled(text(&mut field)?),
            "ipAddress" => machine.public_ip = filled(text(&mut field)?),
            "privateDnsName" => machine.private_dns = filled(text(&mut field)?),
            "dnsName" => machine.public_dns = filled(text(&mut field)?),
            "ebsOptimized" => machine.ebs_optimized = text(&mut field)? == "true",
            "instanceState" => machine.power = Power::from(child(field, "name")?.as_str()),
            "stateReason" => machine.state_reason = filled(child(field, "message")?),
            "placement" => machine.zone = filled(child(field, "availabilityZone")?),
            "monitoring" => machine.monitoring = on(&child(field, "state")?),
            "iamInstanceProfile" => machine.profile = filled(child(field, "arn")?),
            "groupSet" => {
                machine.groups = items(field, |group| child(group, "groupId"))?.into_iter().collect();
            }
            "tagSet" => machine.tags = tags(field)?,
            "blockDeviceMapping" => machine.disks = items(field, disk)?,
            _ => {}
        }
    }
    Ok(machine)
}

/// What is being switched on is on.
fn on(word: &str) -> bool {
    matches!(word, "enabled" | "pending")
}

fn disk(mut item: ScopedDecoder<'_, '_>) -> Read<Disk> {
    let mut disk = Disk::default();
    while let Some(mut field) = item.next_tag() {
        match field.start_el().local() {
            "deviceName" => disk.device = text(&mut field)?,
            "ebs" => {
                while let Some(mut part) = field.next_tag() {
                    match part.start_el().local() {
                        "volumeId" => disk.volume = text(&mut part)?,
                        "deleteOnTermination" => disk.delete_on_termination = text(&mut part)? == "true",
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    Ok(disk)
}

/// `<disableApiTermination><value>true</value></disableApiTermination>`
pub(super) fn protected(mut root: ScopedDecoder<'_, '_>) -> Read<bool> {
    while let Some(field) = root.next_tag() {
        if field.start_el().local() == "disableApiTermination" {
            return Ok(child(field, "value")? == "true");
        }
    }
    Err(XmlDecodeError::custom("it does not say whether termination is disabled"))
}

/// `<userData><value>IyEvYmluL3No</value></userData>`
pub(super) fn user_data(mut root: ScopedDecoder<'_, '_>) -> Read<Option<Sealed<Vec<u8>>>> {
    while let Some(field) = root.next_tag() {
        if field.start_el().local() == "userData" {
            let value = filled(child(field, "value")?);
            return value.map(|value| decoded(&value).map(Sealed::new)).transpose();
        }
    }
    Ok(None)
}

/// `<iamInstanceProfileAssociationSet><item>…`
pub(super) fn profiles(mut root: ScopedDecoder<'_, '_>) -> Read<Vec<Profile>> {
    while let Some(field) = root.next_tag() {
        if field.start_el().local() == "iamInstanceProfileAssociationSet" {
            return items(field, profile);
        }
    }
    Ok(Vec::new())
}

fn profile(mut item: ScopedDecoder<'_, '_>) -> Read<Profile> {
    let mut profile = Profile::default();
    while let Some(mut field) = item.next_tag() {
        match field.start_el().local() {
            "associationId" => profile.association = text(&mut field)?,
            "state" => profile.state = text(&mut field)?,
            "iamInstanceProfile" => profile.arn = child(field, "arn")?,
            _ => {}
        }
    }
    Ok(profile)
}

/// `<output>W…</output><timestamp>2026-01-01T00:00:00.000Z</timestamp>`
pub(super) fn console(mut root: ScopedDecoder<'_, '_>) -> Read<Console> {
    let mut console = Console::default();
    while let Some(mut field) = root.next_tag() {
        match field.start_el().local() {
            // Lines of Base64 are broken.
            "output" => console.text = decoded(&text(&mut field)?.replace(char::is_whitespace, ""))?,
            "timestamp" => console.at = text(&mut field)?.parse().ok(),
            _ => {}
        }
    }
    Ok(console)
}

/// `<volumeSet><item>…`
pub(super) fn volumes(mut root: ScopedDecoder<'_, '_>) -> Read<Vec<Volume>> {
    while let Some(field) = root.next_tag() {
        if field.start_el().local() == "volumeSet" {
            return items(field, volume);
        }
    }
    Ok(Vec::new())
}

fn volume(mut item: ScopedDecoder<'_, '_>) -> Read<Volume> {
    let mut volume = Volume::default();
    while let Some(mut field) = item.next_tag() {
        match field.start_el().local() {
            "volumeId" => volume.id = text(&mut field)?,
            "size" => volume.size_gib = text(&mut field)?.parse().unwrap_or_default(),
            "volumeType" => volume.volume_type = text(&mut field)?,
            "iops" => volume.iops = text(&mut field)?.parse().ok(),
            "encrypted" => volume.encrypted = text(&mut field)? == "true",
            "kmsKeyId" => volume.kms_key_id = filled(text(&mut field)?),
            _ => {}
        }
    }
    Ok(volume)
}

fn tags(mut set: ScopedDecoder<'_, '_>) -> Read<Tags> {
    let mut tags = Tags::new();
    while let Some(mut item) = set.next_tag() {
        let (mut key, mut value) = (String::new(), String::new());
        while let Some(mut field) = item.next_tag() {
            match field.start_el().local() {
                "key" => key = text(&mut field)?,
                "value" => value = text(&mut field)?,
                _ => {}
            }
        }
        tags.insert(key, value);
    }
    Ok(tags)
}

/// Every item of a set.
fn items<T>(mut set: ScopedDecoder<'_, '_>, read: fn(ScopedDecoder<'_, '_>) -> Read<T>) -> Read<Vec<T>> {
    let mut all = Vec::new();
    while let Some(item) = set.next_tag() {
        all.push(read(item)?);
    }
    Ok(all)
}

/// The text of a field within a field; empty, if it is not there.
fn child(mut field: ScopedDecoder<'_, '_>, name: &str) -> Read<String> {
    while let Some(mut part) = field.next_tag() {
        if part.start_el().local() == name {
            return text(&mut part);
        }
    }
    Ok(String::new())
}

fn text(field: &mut ScopedDecoder<'_, '_>) -> Read<String> {
    try_data(field).map(|text| text.into_owned())
}

fn filled(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}

fn decoded(text: &str) -> Read<Vec<u8>> {
    base64::decode(text).map_err(XmlDecodeError::unhandled)
}
