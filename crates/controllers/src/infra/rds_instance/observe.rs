use api::foreign::cnpg::{Backup, Cluster};
use api::infra::RDSInstance;
use api::secret::Sealed;
use k8s_openapi::api::core::v1::{Secret, Service};
use kit::{Dice, Fault, Name, Reader, Room};
use kube::ResourceExt;

use super::RDSInstances;
use super::plan::{
    Here, Password, Site, World, connection_secret, final_snapshot, generated_secret, identifier,
    login_secret, marked,
};
use crate::infra::desk::Visitor;
use crate::infra::provider::{self, Provider};

/// Letters of a password: they mean nothing in a DSN, a URI or a shell, and RDS takes all of them.
const LETTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// Letters that one throw gives: 62¹⁰ is a little less than 2⁶⁴.
const LETTERS_A_THROW: usize = 10;
/// Throws for a password: together more than 170 bits, in fewer letters than any engine allows.
const THROWS: usize = 3;
/// Key of a drawn password in its Secret.
const PASSWORD: &str = "password";

/// Looks for the server where its provider is, and for its password.
pub(super) async fn observe(
    room: &RDSInstances,
    instance: &RDSInstance,
    reader: &Reader,
) -> Result<World, Fault> {
    let name = Name::of(instance);
    let going = instance.metadata.deletion_timestamp.is_some();
    let reference = &instance.spec.provider_ref;
    let now = reader.now();
    let site = match provider::find(reader, (&name, going), reference, &room.desk.aws).await? {
        Provider::Local => Site::Here(here(instance, reader).await?),
        provider @ (Provider::Ready(..) | Provider::Unusable(..)) => {
            let visitor = Visitor {
                room: RDSInstances::NAME,
                name: name.clone(),
                going,
                bell: &room.bell,
                provider: reference,
            };
            let (aws, id) = (&room.desk.aws, identifier(instance));
            let ask = async |account: std::sync::Arc<_>| aws.database(&account, &id).await;
            Site::Cloud(Box::new(room.desk.look_into(provider, now, visitor, ask).await?))
        }
    };
    let drawn = match going || draws(instance) {
        true => reader.get::<Secret>(&name.namespace, &generated_secret(instance)).await?,
        false => None,
    };
    let connection = reader.get::<Secret>(&name.namespace, &connection_secret(instance)).await?;
    let ours = connection.filter(|secret| controlled(secret, instance));
    Ok(World {
        now,
        site,
        password: match drawn.as_deref().filter(|_| draws(instance)) {
            Some(secret) => kept(secret),
            None => given(instance, reader).await?,
        },
        drawn: drawn.is_some_and(|secret| marked(&*secret, instance)),
        applied: ours.and_then(|secret| text(&secret, PASSWORD)),
        spare: password(reader.dice()),
    })
}

/// Whether nobody gives a password.
fn draws(instance: &RDSInstance) -> bool {
    let spec = &instance.spec;
    let plain = spec.master_user_password.as_ref().is_some_and(|plain| !plain.is_empty());
    !plain && spec.master_user_password_secret_ref.is_none()
}

/// The password in the Secret that it was drawn into.
fn kept(secret: &Secret) -> Password {
    let missing = || format!("Secret {} has no key {PASSWORD}", Name::of(secret));
    text(secret, PASSWORD).map_or_else(|| Password::Missing(missing()), Password::Known)
}

/// The password that the spec gives, or names.
async fn given(instance: &RDSInstance, reader: &Reader) -> Result<Password, Fault> {
    let plain = instance.spec.master_user_password.as_ref().filter(|plain| !plain.is_empty());
    if let Some(plain) = plain {
        return Ok(Password::Known(plain.seal()));
    }
    let Some(named) = &instance.spec.master_user_password_secret_ref else { return Ok(Password::Undrawn) };
    let name = Name::new(Name::of(instance).namespace, named.name.as_str());
    let Some(secret) = reader.get::<Secret>(&name.namespace, &name.name).await? else {
        let message = format!("Secret {name} with the administrator's password does not exist");
        return Ok(Password::Missing(message));
    };
    let key = named.key.as_str();
    Ok(match text(&secret, key) {
        Some(password) => Password::Known(password),
        None => {
            Password::Missing(format!("Secret {name} with the administrator's password has no key {key}"))
        }
    })
}

/// What stands for the server beside the object.
async fn here(instance: &RDSInstance, reader: &Reader) -> Result<Here, Fault> {
    let namespace = Name::of(instance).namespace;
    let id = identifier(instance);
    let cluster = reader.get::<Cluster>(&namespace, &id).await?;
    let service = match &cluster {
        Some(_) => reader.get::<Service>(&namespace, &format!("{id}-rw")).await?,
        None => None,
    };
    let address = service.and_then(|service| service.spec.as_ref()?.cluster_ip.clone());
    let backup = match final_snapshot(instance) {
        Some(name) => reader.get::<Backup>(&namespace, &name).await?,
        None => None,
    };
    let login = reader.get::<Secret>(&namespace, &login_secret(instance)).await?;
    Ok(Here {
        served: cluster.is_some() || reader.served::<Cluster>().await?,
        cluster,
        address: address.filter(|address| !address.is_empty() && address != "None"),
        login_version: login.as_ref().and_then(|secret| secret.resource_version()),
        backup,
    })
}

fn controlled(secret: &Secret, instance: &RDSInstance) -> bool {
    let controller = secret.owner_references().iter().find(|owner| owner.controller == Some(true));
    controller.is_some_and(|owner| Some(&owner.uid) == instance.metadata.uid.as_ref())
}

/// A value of a Secret. The end of a line that a file brought along does not count.
fn text(secret: &Secret, key: &str) -> Option<Sealed<String>> {
    let value = secret.data.as_ref().and_then(|data| data.get(key));
    let value = value.and_then(|value| String::from_utf8(value.0.clone()).ok());
    let value = value.map(|value| value.trim_end_matches(['\r', '\n']).to_owned());
    value.filter(|value| !value.is_empty()).map(Sealed::new)
}

/// A password that nobody guesses.
fn password(dice: &Dice) -> Sealed<String> {
    let mut text = String::with_capacity(THROWS * LETTERS_A_THROW);
    for _ in 0..THROWS {
        let mut throw = dice.roll();
        for _ in 0..LETTERS_A_THROW {
            let at = usize::try_from(throw % LETTERS.len() as u64).unwrap_or_default();
            text.push(char::from(LETTERS[at]));
            throw /= LETTERS.len() as u64;
        }
    }
    Sealed::new(text)
}
