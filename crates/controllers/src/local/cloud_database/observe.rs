use api::foreign::cloud_database::CloudDatabaseClaim;
use api::foreign::cnpg::Cluster;
use api::secret::Sealed;
use k8s_openapi::api::core::v1::Secret;
use kit::{Fault, Name, Object, Reader};
use kube::ResourceExt;

use super::SUPERUSER_SUFFIX;
use super::plan::{Held, Login, World};

/// Looks at the Cluster of the claim's name, at the login of its superuser, and at what lies where that is copied to.
pub(super) async fn observe(claim: &CloudDatabaseClaim, reader: &Reader) -> Result<World, Fault> {
    let Name { namespace, name } = Name::of(claim);
    let cluster = reader.get::<Cluster>(&namespace, &name).await?;
    let superuser = reader.get::<Secret>(&namespace, &format!("{name}{SUPERUSER_SUFFIX}")).await?;
    let uid = cluster.as_ref().and_then(|cluster| cluster.uid());
    let superuser = superuser.filter(|secret| controlled_by(&**secret, uid.as_deref()));
    let secret = match &claim.spec.write_connection_secret_to_ref {
        Some(named) => reader.get::<Secret>(&namespace, &named.name).await?,
        None => None,
    };
    let secret = match secret {
        None => Held::Nothing,
        Some(secret) if controlled_by(&*secret, claim.uid().as_deref()) => Held::Ours,
        Some(_) => Held::Foreign,
    };
    Ok(World { cluster, login: superuser.and_then(|secret| login(&secret)), secret })
}

fn controlled_by<K: Object>(object: &K, uid: Option<&str>) -> bool {
    let controller = object.owner_references().iter().find(|owner| owner.controller == Some(true));
    controller.is_some_and(|owner| Some(owner.uid.as_str()) == uid)
}

/// The login in a superuser's Secret, if it is whole.
fn login(secret: &Secret) -> Option<Login> {
    let text = |key: &str| {
        let value = secret.data.as_ref().and_then(|data| data.get(key));
        value.and_then(|value| String::from_utf8(value.0.clone()).ok()).filter(|text| !text.is_empty())
    };
    Some(Login {
        username: text("username")?,
        password: Sealed::new(text("password")?),
        endpoint: text("host")?,
        port: text("port")?,
    })
}
