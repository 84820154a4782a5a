//! Volumes: directories and files below the pod's directory.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use api::secret::Sealed;
use k8s_openapi::api::core::v1::{Container, KeyToPath, Pod, Volume};
use ports::homes::{Home, stays_inside};

use super::{References, Scene, all_containers};

/// Everything that a pod reads from Secrets and ConfigMaps.
pub(in super::super) fn references(pod: &Pod) -> References {
    let mut found = References::default();
    for one in all_containers(pod) {
        for source in one.env.iter().flatten().filter_map(|variable| variable.value_from.as_ref()) {
            found.secrets.extend(source.secret_key_ref.as_ref().map(|secret| secret.name.clone()));
            found.config_maps.extend(source.config_map_key_ref.as_ref().map(|map| map.name.clone()));
        }
        for source in one.env_from.iter().flatten() {
            found.secrets.extend(source.secret_ref.as_ref().map(|secret| secret.name.clone()));
            found.config_maps.extend(source.config_map_ref.as_ref().map(|map| map.name.clone()));
        }
    }
    for volume in pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten()) {
        found.secrets.extend(volume.secret.as_ref().and_then(|secret| secret.secret_name.clone()));
        found.config_maps.extend(volume.config_map.as_ref().map(|map| map.name.clone()));
    }
    found
}

/// Where each mount of a container lies below the pod's directory. A container runtime puts it where it is wanted;
/// without one, only a path that is relative can be honoured.
pub(super) fn mounts(one: &Container, runtime: bool) -> Result<Vec<(String, PathBuf, String)>, String> {
    let mut found = Vec::new();
    for mount in one.volume_mounts.iter().flatten() {
        let path = Path::new(&mount.mount_path);
        let place = if runtime {
            Path::new("volumes").join(&mount.name)
        } else if stays_inside(path) {
            path.to_owned()
        } else {
            return Err(format!(
                "volume {} cannot be mounted at {}: programs on one machine share its files; choose a path without a \
                 leading slash, which is made below the pod's directory ($HOME)",
                mount.name, mount.mount_path
            ));
        };
        found.push((mount.name.clone(), place, mount.mount_path.clone()));
    }
    Ok(found)
}

/// The pod's directory with the volumes of one container.
pub(super) fn home(scene: &Scene<'_>, one: &Container, runtime: bool) -> Result<Home, String> {
    let mut home = Home {
        uid: scene.uid().to_owned(),
        user: scene.world.user.filter(|_| !runtime),
        directories: vec!["tmp".into()],
        files: BTreeMap::new(),
    };
    for (name, place, _) in mounts(one, runtime)? {
        let volumes = scene.spec.volumes.as_deref().unwrap_or_default();
        let volume = volumes.iter().find(|volume| volume.name == name);
        let Some(volume) = volume else { return Err(format!("volume {name} is not declared")) };
        for (file, held) in contents(scene, volume)? {
            home.files.insert(place.join(file), held);
        }
        home.directories.push(place);
    }
    Ok(home)
}

fn contents(scene: &Scene<'_>, volume: &Volume) -> Result<BTreeMap<PathBuf, Sealed<Vec<u8>>>, String> {
    if volume.empty_dir.is_some() {
        return Ok(BTreeMap::new());
    }
    if let Some(secret) = &volume.secret {
        let name = secret.secret_name.as_deref().unwrap_or_default();
        let data = scene.world.supplies.secrets.get(name).cloned().flatten();
        return match data {
            Some(data) => chosen(data, secret.items.as_deref()),
            None if secret.optional == Some(true) => Ok(BTreeMap::new()),
            None => Err(format!("secret \"{name}\" not found")),
        };
    }
    if let Some(map) = &volume.config_map {
        let data = scene.world.supplies.config_maps.get(&map.name).cloned().flatten();
        let sealed = |data: BTreeMap<String, Vec<u8>>| {
            data.into_iter().map(|(key, value)| (key, Sealed::new(value))).collect()
        };
        return match data {
            Some(data) => chosen(sealed(data), map.items.as_deref()),
            None if map.optional == Some(true) => Ok(BTreeMap::new()),
            None => Err(format!("configmap \"{}\" not found", map.name)),
        };
    }
    Err(format!(
        "volume {} is of a kind that one machine does not have; use emptyDir, configMap or secret",
        volume.name
    ))
}

/// All keys as files, or those that are named, under their paths.
fn chosen(
    data: BTreeMap<String, Sealed<Vec<u8>>>,
    items: Option<&[KeyToPath]>,
) -> Result<BTreeMap<PathBuf, Sealed<Vec<u8>>>, String> {
    let Some(items) = items else {
        return Ok(data.into_iter().map(|(key, value)| (PathBuf::from(key), value)).collect());
    };
    let one = |item: &KeyToPath| match data.get(&item.key) {
        Some(value) => Ok((PathBuf::from(&item.path), value.clone())),
        None => Err(format!("references non-existent key: {}", item.key)),
    };
    items.iter().map(one).collect()
}
