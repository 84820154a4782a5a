use super::super::Fake;
use super::*;

const HOST: &str = "fake.example";
const PLACE: &str = "team/component-descriptors/example.com/shop";
const YAML: &str = "application/vnd.ocm.software.component-descriptor.v2+yaml";

/// A registry with one version of a component, whose descriptor says this, and how it reads.
async fn read(kind: &str, says: impl Fn(&str) -> Vec<u8>) -> Result<(Fake, Registry, Descriptor), Error> {
    let fake = Fake::default();
    let blob = fake.put_blob(HOST, PLACE, "kind: ProductDescription");
    let layer = fake.put_blob(HOST, PLACE, says(&blob));
    let manifest = format!(r#"{{"layers":[{{"mediaType":"{kind}","digest":"{layer}"}}]}}"#);
    fake.put_manifest(HOST, PLACE, "1.0.0.build-7", ("application/vnd.oci.image.manifest.v1+json", manifest));
    let registry = Registry::parse("fake.example/team", false)?;
    let found = descriptor(&fake, &registry, "example.com/shop", "1.0.0+7").await?;
    Ok((fake, registry, found.expect("it is there")))
}

fn v2(digest: &str) -> Vec<u8> {
    format!(
        "meta:\n  schemaVersion: v2\ncomponent:\n  name: example.com/shop\n  version: 1.0.0+7\n  resources:\n  - name: product\n    version: 1.0.0\n    type: productdescription.mpas.ocm.software\n    access:\n      type: localBlob\n      localReference: {digest}\n  - name: image\n    access:\n      type: ociArtifact\n      imageReference: x.example/y:1\n"
    )
    .into_bytes()
}

fn v3(digest: &str) -> Vec<u8> {
    format!(
        r#"{{"apiVersion":"ocm.software/v3alpha1","metadata":{{"name":"example.com/shop","version":"1.0.0+7"}},"spec":{{"resources":[{{"name":"product","access":{{"type":"localOciBlob/v1","digest":"{digest}"}}}}]}}}}"#
    )
    .into_bytes()
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_size(bytes.len() as u64);
    header.set_mode(0o644);
    archive.append_data(&mut header, "component-descriptor.yaml", bytes).expect("it is packed");
    archive.into_inner().expect("it is whole")
}

#[tokio::test]
async fn descriptors_are_read_in_both_schemas_packed_and_plain() {
    let tar = format!("{YAML}+tar");
    let found = [
        read(YAML, v2).await.expect("v2"),
        read(&tar, |digest| packed(&v2(digest))).await.expect("v2 in an archive"),
        read("application/vnd.ocm.software.component-descriptor.v3+json", v3).await.expect("v3"),
    ];
    for (fake, registry, descriptor) in found {
        let product = &descriptor.resources[0];
        let bytes = local_blob(&fake, &registry, &descriptor, (product, 99)).await.expect("it is there");
        assert_eq!(&bytes[..], b"kind: ProductDescription");
        if let Some(image) = descriptor.resources.get(1) {
            let refused = local_blob(&fake, &registry, &descriptor, (image, 99)).await.expect_err("no blob");
            assert!(matches!(refused, Error::Invalid { .. }), "{refused}");
        }
    }
}

#[tokio::test]
async fn a_descriptor_of_another_component_is_not_believed() {
    let other = |digest: &str| {
        String::from_utf8(v2(digest))
            .expect("text")
            .replace("example.com/shop", "example.com/evil")
            .into_bytes()
    };
    for broken in [read(YAML, other).await, read(YAML, |_| b"[".to_vec()).await] {
        assert!(matches!(broken.err(), Some(Error::Garbled { .. })));
    }
}

#[test]
fn versions_become_tags_and_tags_versions() {
    assert_eq!(tag_of("1.0.0+7"), "1.0.0.build-7");
    assert_eq!(version_of("1.0.0.build-7"), "1.0.0+7");
}
