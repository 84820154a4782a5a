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

/// Puts a component with a JSON descriptor of the newer schema under a tag.
fn put(fake: &Fake, name: &str, version: &str, spec: &str) {
    let place = format!("team/component-descriptors/{name}");
    let says = format!(r#"{{"metadata":{{"name":"{name}","version":"{version}"}},"spec":{spec}}}"#);
    let layer = fake.put_blob(HOST, &place, says);
    let manifest = format!(r#"{{"layers":[{{"mediaType":"{YAML}","digest":"{layer}"}}]}}"#);
    fake.put_manifest(
        HOST,
        &place,
        &tag_of(version),
        ("application/vnd.oci.image.manifest.v1+json", manifest),
    );
}

fn registry() -> Registry {
    Registry::parse("fake.example/team", false).expect("an address")
}

fn identity(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

#[tokio::test]
async fn the_newest_version_in_a_range_is_found_among_tags_of_all_sorts() {
    let fake = Fake::default();
    for tag in ["1.0.0", "v1.10.0", "1.9.0", "1.10.0-rc.1", "2.0.0.build-7", "latest", "sha256-abc.sig"] {
        fake.put_manifest(HOST, PLACE, tag, ("application/json", "{}"));
    }
    for (range, want) in [("1.x", Some("v1.10.0")), ("", Some("2.0.0+7")), (">=3", None)] {
        let range = Range::parse(range).expect("a range");
        let found = newest(&fake, &registry(), "example.com/shop", &range).await.expect("an answer");
        assert_eq!(found.as_deref(), want);
    }
    let range = Range::parse("").expect("a range");
    assert_eq!(newest(&fake, &registry(), "example.com/other", &range).await, Ok(None));
}

#[tokio::test]
async fn references_are_followed_to_nested_components() {
    let fake = Fake::default();
    let refers = |name: &str| {
        format!(
            r#"{{"references":[{{"name":"part","componentName":"{name}","version":"1.0.0","extraIdentity":{{"arch":"arm"}}}}]}}"#
        )
    };
    put(&fake, "a.example/top", "1.0.0", &refers("a.example/middle"));
    put(&fake, "a.example/middle", "1.0.0", &refers("a.example/gone"));
    let top = descriptor(&fake, &registry(), "a.example/top", "1.0.0")
        .await
        .expect("an answer")
        .expect("it is there");
    let step = identity(&[("name", "part"), ("arch", "arm")]);
    let at = follow(&fake, &registry(), &top, std::slice::from_ref(&step)).await.expect("it is there");
    assert_eq!(at.name, "a.example/middle");
    let long = follow(&fake, &registry(), &top, &[step.clone(), step]).await;
    assert!(matches!(long, Err(Error::Missing { .. })), "{long:?}");
    for other in [identity(&[("name", "part"), ("arch", "amd")]), identity(&[("arch", "arm")])] {
        let lost = follow(&fake, &registry(), &top, &[other]).await;
        assert!(matches!(lost, Err(Error::Missing { .. })), "{lost:?}");
    }
}

#[tokio::test]
async fn artifacts_are_read_below_the_same_address_alone() {
    let fake = Fake::default();
    let layer = fake.put_blob(HOST, "team/rules", "rules");
    let manifest = format!(r#"{{"layers":[{{"mediaType":"text/plain","digest":"{layer}"}}]}}"#);
    let digest = fake.put_manifest(HOST, "team/rules", "1.0", ("application/json", manifest.clone()));
    fake.put_manifest(HOST, "other/rules", "1.0", ("application/json", manifest));
    let resource = |reference: &str| {
        format!(r#"{{"name":"rules","access":{{"type":"ociArtifact/v1","imageReference":"{reference}"}}}}"#)
    };
    let by_digest = format!("fake.example/team/rules:1.0@{digest}");
    let good = ["fake.example/team/rules:1.0", by_digest.as_str()];
    let bad = [
        "fake.example/other/rules:1.0",
        "evil.example/team/rules:1.0",
        "fake.example/team/../other/rules:1.0",
    ];
    for (reference, readable) in good.map(|good| (good, true)).into_iter().chain(bad.map(|bad| (bad, false)))
    {
        let resources = format!(r#"{{"resources":[{}]}}"#, resource(reference));
        put(&fake, "example.com/shop", "1.0.0", &resources);
        let found = descriptor(&fake, &registry(), "example.com/shop", "1.0.0")
            .await
            .expect("an answer")
            .expect("it");
        let rules = found.resource(&identity(&[("name", "rules")])).expect("the resource");
        let read = content(&fake, &registry(), &found, (rules, 99)).await;
        match readable {
            true => assert_eq!(&read.expect("it is read")[..], b"rules"),
            false => assert!(matches!(read, Err(Error::Invalid { .. })), "{reference}: {read:?}"),
        }
    }
}

#[tokio::test]
async fn compressed_resources_are_unpacked_and_not_without_end() {
    use std::io::Write as _;
    let fake = Fake::default();
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    packer.write_all(&[b'x'; 5000]).expect("it is packed");
    let blob = fake.put_blob(HOST, PLACE, packer.finish().expect("it is whole"));
    let spec = format!(
        r#"{{"resources":[{{"name":"big","access":{{"type":"localBlob","localReference":"{blob}"}}}}]}}"#
    );
    put(&fake, "example.com/shop", "1.0.0", &spec);
    let found =
        descriptor(&fake, &registry(), "example.com/shop", "1.0.0").await.expect("an answer").expect("it");
    let read = content(&fake, &registry(), &found, (&found.resources[0], 5000)).await.expect("it fits");
    assert_eq!(read.len(), 5000);
    let bomb = content(&fake, &registry(), &found, (&found.resources[0], 4999)).await;
    assert!(matches!(bomb, Err(Error::TooLarge { .. })), "{bomb:?}");
}

const PRODUCT: &str = "
apiVersion: prod.mpas.ocm.software/v1alpha1
kind: ProductDescription
metadata: { name: shop }
spec:
  description: A shop.
  pipelines:
  - name: web
    source: { name: manifests, version: 1.0.0 }
    targetRoleName: edge
    schema: { name: schema, referencePath: [{ name: part }] }
    configuration:
      rules: { name: config }
      readme: { name: readme }
  targetRoles:
  - name: edge
    type: kubernetes
    selector: { matchLabels: { zone: edge } }
";

#[tokio::test]
async fn a_product_is_read_with_what_its_parts_refer_to() {
    let fake = Fake::default();
    let blob = |place: &str, bytes: &str, name: &str, kind: &str| {
        let digest = fake.put_blob(HOST, &format!("team/component-descriptors/{place}"), bytes.to_owned());
        format!(
            r#"{{"name":"{name}","type":"{kind}","version":"1.0.0","access":{{"type":"localBlob","localReference":"{digest}"}}}}"#
        )
    };
    let schema = blob("a.example/part", "{}", "schema", "json");
    put(&fake, "a.example/part", "2.0.0", &format!(r#"{{"resources":[{schema}]}}"#));
    let described = |text: &str| {
        let product = blob("a.example/shop", text, "product", PRODUCT_DESCRIPTION);
        let readme = blob("a.example/shop", "Read me.", "readme", "text");
        let refers = r#"[{"name":"part","componentName":"a.example/part","version":"2.0.0"}]"#;
        put(
            &fake,
            "a.example/shop",
            "1.0.0",
            &format!(r#"{{"resources":[{product},{readme}],"references":{refers}}}"#),
        );
    };
    described(PRODUCT);
    let read = || async {
        let found = descriptor(&fake, &registry(), "a.example/shop", "1.0.0").await.expect("an answer");
        product(&fake, &registry(), &found.expect("it is there")).await
    };
    let found = read().await.expect("it is read").expect("it is a product");
    assert_eq!(found.description, "A shop.");
    let [web] = found.parts.as_slice() else { panic!("one part: {found:?}") };
    assert_eq!((web.name.as_str(), web.readme.as_deref()), ("web", Some("Read me.")));
    assert_eq!(web.schema.as_deref(), Some(&b"{}"[..]));
    assert_eq!(web.role.selector.match_labels.as_ref().expect("labels")["zone"], "edge");
    let changes = [
        ("targetRoleName: edge", "targetRoleName: none"),
        ("kind: ProductDescription", "kind: Other"),
        ("kind: ProductDescription", "- ["),
        ("name: readme", "name: lost"),
    ];
    for (old, new) in changes {
        described(&PRODUCT.replace(old, new));
        let refused = read().await;
        assert!(matches!(refused, Err(Error::Garbled { .. } | Error::Missing { .. })), "{new}: {refused:?}");
    }
}
