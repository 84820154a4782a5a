"""The official Python client: objects, patches, watches, the dynamic client, server-side apply, errors."""

import base64
import json
import threading
import uuid

from kubernetes import client, config, dynamic, utils, watch
from kubernetes.client.rest import ApiException

config.load_kube_config()
core = client.CoreV1Api()
NAMESPACE = "python-" + uuid.uuid4().hex[:8]


def config_map(name, data=None, **metadata):
    return client.V1ConfigMap(metadata=client.V1ObjectMeta(name=name, **metadata), data=data)


def refused(call, status, reason):
    """The call is refused with this code and this reason; gives the message."""
    try:
        call()
    except ApiException as error:
        body = json.loads(error.body)
        assert (error.status, body["reason"]) == (status, reason), error
        assert body["kind"] == "Status" and body["code"] == status, body
        return body["message"]
    raise AssertionError(f"expected {status} {reason}")


def objects_live():
    core.create_namespace(client.V1Namespace(metadata=client.V1ObjectMeta(name=NAMESPACE)))
    made = core.create_namespaced_config_map(NAMESPACE, config_map("one", {"a": "1"}, labels={"lot": "x"}))
    assert made.metadata.uid and made.metadata.resource_version and made.metadata.creation_timestamp

    made.data["a"] = "2"
    updated = core.replace_namespaced_config_map("one", NAMESPACE, made)
    assert updated.data == {"a": "2"}
    assert updated.metadata.resource_version != made.metadata.resource_version

    again = core.replace_namespaced_config_map("one", NAMESPACE, updated)
    assert again.metadata.resource_version == updated.metadata.resource_version, "a write of nothing changes nothing"

    core.create_namespaced_secret(
        NAMESPACE,
        client.V1Secret(metadata=client.V1ObjectMeta(name="door"), string_data={"code": "1234"}),
    )
    secret = core.read_namespaced_secret("door", NAMESPACE)
    assert base64.b64decode(secret.data["code"]) == b"1234" and secret.string_data is None

    dry = core.create_namespaced_config_map(NAMESPACE, config_map("ghost"), dry_run="All")
    assert dry.metadata.uid
    refused(lambda: core.read_namespaced_config_map("ghost", NAMESPACE), 404, "NotFound")


def patches_do_what_they_say():
    core.patch_namespaced_config_map("one", NAMESPACE, {"data": {"a": None, "b": "1"}})
    assert core.read_namespaced_config_map("one", NAMESPACE).data == {"b": "1"}
    core.patch_namespaced_config_map("one", NAMESPACE, [{"op": "replace", "path": "/data/b", "value": "2"}])
    assert core.read_namespaced_config_map("one", NAMESPACE).data == {"b": "2"}
    for content_type in ("application/merge-patch+json", "application/strategic-merge-patch+json"):
        core.patch_namespaced_config_map(
            "one", NAMESPACE, {"data": {content_type[12:17]: "yes"}}, _content_type=content_type
        )
    assert set(core.read_namespaced_config_map("one", NAMESPACE).data) == {"b", "merge", "strat"}

    apps = client.AppsV1Api()
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": "web:1"}]}}
    body = {
        "metadata": {"name": "web"},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "template": template},
    }
    apps.create_namespaced_deployment(NAMESPACE, body)
    added = {"spec": {"template": {"spec": {"containers": [{"name": "side", "image": "side:1"}]}}}}
    deployment = apps.patch_namespaced_deployment("web", NAMESPACE, added)
    assert {c.name for c in deployment.spec.template.spec.containers} == {"web", "side"}
    assert deployment.metadata.generation == 2

    scale = apps.patch_namespaced_deployment_scale("web", NAMESPACE, {"spec": {"replicas": 3}})
    assert scale.spec.replicas == 3 and apps.read_namespaced_deployment("web", NAMESPACE).spec.replicas == 3

    status = apps.patch_namespaced_deployment_status("web", NAMESPACE, {"status": {"replicas": 2}})
    assert status.status.replicas == 2 and status.metadata.generation == 3


def lists_come_in_pages():
    for number in range(7):
        core.create_namespaced_config_map(NAMESPACE, config_map(f"page-{number}", labels={"book": "yes"}))
    names, token, pages = [], None, 0
    while True:
        page = core.list_namespaced_config_map(NAMESPACE, label_selector="book=yes", limit=3, _continue=token)
        names += [item.metadata.name for item in page.items]
        pages += 1
        if pages == 1:
            core.create_namespaced_config_map(NAMESPACE, config_map("page-late", labels={"book": "yes"}))
        token = page.metadata._continue
        if not token:
            break
    assert (names, pages) == ([f"page-{n}" for n in range(7)], 3), "the pages are of one moment"

    one = core.list_namespaced_config_map(NAMESPACE, field_selector="metadata.name=page-3")
    assert [item.metadata.name for item in one.items] == ["page-3"]
    core.delete_collection_namespaced_config_map(NAMESPACE, label_selector="book=yes")
    assert core.list_namespaced_config_map(NAMESPACE, label_selector="book=yes").items == []


def watches_miss_nothing():
    start = core.list_namespaced_config_map(NAMESPACE).metadata.resource_version
    writer = threading.Thread(target=write_forty)
    writer.start()
    seen = []
    version = start
    # Each watch is dropped after a few events, and the next one goes on where it stopped.
    while len(seen) < 40:
        watching = watch.Watch()
        stream = watching.stream(
            core.list_namespaced_config_map, NAMESPACE,
            label_selector="lot=watch", resource_version=version, timeout_seconds=20,
        )
        for count, event in enumerate(stream, 1):
            seen.append((event["type"], event["object"].metadata.name))
            version = event["object"].metadata.resource_version
            if count == 7 or len(seen) == 40:
                watching.stop()
                break
    writer.join()
    expected = [(kind, f"w-{number}") for number in range(20) for kind in ("ADDED", "DELETED")]
    assert seen == expected, seen

    message = refused(
        lambda: core.list_namespaced_config_map(NAMESPACE, resource_version="1", resource_version_match="Sideways"),
        422, "Invalid",
    )
    assert "resourceVersionMatch" in message, message


def write_forty():
    for number in range(20):
        core.create_namespaced_config_map(NAMESPACE, config_map(f"w-{number}", labels={"lot": "watch"}))
        core.delete_namespaced_config_map(f"w-{number}", NAMESPACE)


def errors_have_reasons():
    read = lambda: core.read_namespaced_config_map("nothing", NAMESPACE)
    assert refused(read, 404, "NotFound") == 'configmaps "nothing" not found'
    create = lambda: core.create_namespaced_config_map(NAMESPACE, config_map("one"))
    assert refused(create, 409, "AlreadyExists") == 'configmaps "one" already exists'
    stale = config_map("one", resource_version="1")
    assert "modified" in refused(lambda: core.replace_namespaced_config_map("one", NAMESPACE, stale), 409, "Conflict")
    refused(lambda: core.create_namespaced_config_map(NAMESPACE, config_map("Not A Name")), 422, "Invalid")
    refused(lambda: core.create_namespaced_config_map("nowhere", config_map("x")), 404, "NotFound")
    wrong = client.V1Preconditions(uid="11111111-2222-3333-4444-555555555555")
    delete = lambda: core.delete_namespaced_config_map("one", NAMESPACE, body={"preconditions": wrong})
    refused(delete, 409, "Conflict")

    typo = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "typo"}, "dota": {}}
    maps = dynamic.DynamicClient(client.ApiClient()).resources.get(api_version="v1", kind="ConfigMap")
    create = lambda: maps.create(typo, namespace=NAMESPACE, query_params=[("fieldValidation", "Strict")])
    assert 'unknown field "dota"' in refused(create, 400, "BadRequest")

    guest = client.ApiClient()
    guest.set_default_header("Impersonate-User", "guest")
    listing = lambda: client.CoreV1Api(guest).list_namespaced_secret(NAMESPACE)
    assert 'User "guest" cannot list resource "secrets"' in refused(listing, 403, "Forbidden")


def dynamic_client_finds_what_is_served():
    api = dynamic.DynamicClient(client.ApiClient())
    maps = api.resources.get(api_version="v1", kind="ConfigMap")
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "applied"}, "data": {"a": "1", "b": "1"}}
    maps.server_side_apply(body=body, name="applied", namespace=NAMESPACE, field_manager="alice")
    other = {**body, "data": {"a": "2"}}
    try:
        maps.server_side_apply(body=other, name="applied", namespace=NAMESPACE, field_manager="bob")
        raise AssertionError("bob should be refused")
    except ApiException as error:
        cause = json.loads(error.body)["details"]["causes"][0]
        assert error.status == 409 and cause["reason"] == "FieldManagerConflict", error
        assert cause["field"] == ".data.a" and 'conflict with "alice"' in cause["message"], cause
    forced = maps.server_side_apply(
        body=other, name="applied", namespace=NAMESPACE, field_manager="bob", force_conflicts=True
    )
    assert forced.data.to_dict() == {"a": "2", "b": "1"}
    assert {entry.manager for entry in forced.metadata.managedFields} == {"alice", "bob"}

    definition = {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{NAMESPACE}s.story.example.com"},
        "spec": {
            "group": "story.example.com", "scope": "Namespaced",
            "names": {"plural": f"{NAMESPACE}s", "singular": NAMESPACE, "kind": "Thing" + NAMESPACE[-8:]},
            "versions": [{
                "name": "v1", "served": True, "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "properties": {"size": {"type": "integer", "default": 3}}}}}},
            }],
        },
    }
    utils.create_from_dict(client.ApiClient(), definition)
    custom = client.CustomObjectsApi()
    extensions = client.ApiextensionsV1Api()
    watching = watch.Watch()
    for event in watching.stream(extensions.list_custom_resource_definition, timeout_seconds=20):
        found = event["object"]
        conditions = found.status.conditions or [] if found.status else []
        established = any(c.type == "Established" and c.status == "True" for c in conditions)
        if found.metadata.name == definition["metadata"]["name"] and established:
            watching.stop()
    thing = {
        "apiVersion": "story.example.com/v1", "kind": definition["spec"]["names"]["kind"],
        "metadata": {"name": "t"}, "spec": {},
    }
    made = custom.create_namespaced_custom_object("story.example.com", "v1", NAMESPACE, f"{NAMESPACE}s", thing)
    assert made["spec"] == {"size": 3}
    thing["spec"] = {"size": "large"}
    thing["metadata"] = {"name": "u"}
    create = lambda: custom.create_namespaced_custom_object(
        "story.example.com", "v1", NAMESPACE, f"{NAMESPACE}s", thing)
    assert "spec.size" in refused(create, 422, "Invalid")
    extensions.delete_custom_resource_definition(definition["metadata"]["name"])


def tokens_are_good_for_their_account():
    core.create_namespaced_service_account(
        NAMESPACE, client.V1ServiceAccount(metadata=client.V1ObjectMeta(name="robot")))
    request = client.AuthenticationV1TokenRequest(
        spec=client.V1TokenRequestSpec(audiences=[], expiration_seconds=600))
    token = core.create_namespaced_service_account_token("robot", NAMESPACE, request).status.token
    review = client.AuthenticationV1Api().create_token_review(
        client.V1TokenReview(spec=client.V1TokenReviewSpec(token=token)))
    assert review.status.authenticated
    assert review.status.user.username == f"system:serviceaccount:{NAMESPACE}:robot"
    forged = client.AuthenticationV1Api().create_token_review(
        client.V1TokenReview(spec=client.V1TokenReviewSpec(token=token[:-4] + "AAAA")))
    assert not forged.status.authenticated


for tale in (
    objects_live,
    patches_do_what_they_say,
    lists_come_in_pages,
    watches_miss_nothing,
    errors_have_reasons,
    dynamic_client_finds_what_is_served,
    tokens_are_good_for_their_account,
):
    tale()
    print(tale.__name__, "holds", flush=True)
