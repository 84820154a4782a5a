"""kopf runs a small operator on a kind of its own: created, updated, warmed by a timer, deleted."""

import pathlib
import subprocess
import sys
import time
import uuid

from kubernetes import client, config
from kubernetes.client.rest import ApiException

DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "kettles.story.example.com"},
    "spec": {
        "group": "story.example.com",
        "scope": "Namespaced",
        "names": {"plural": "kettles", "singular": "kettle", "kind": "Kettle"},
        "versions": [{
            "name": "v1",
            "served": True,
            "storage": True,
            "subresources": {"status": {}},
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                "spec": {"type": "object", "properties": {"water": {"type": "integer"}}},
                "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            }}},
        }],
    },
}

config.load_kube_config()
core = client.CoreV1Api()
custom = client.CustomObjectsApi()
namespace = "kitchen-" + uuid.uuid4().hex[:8]
kettles = ("story.example.com", "v1", namespace, "kettles")


def eventually(fact):
    """What the fact gives as soon as it is true; a story that waits twenty seconds has failed."""
    until = time.monotonic() + 20
    while True:
        try:
            found = fact()
            if found:
                return found
        except ApiException as error:
            if error.status != 404:
                raise
        assert time.monotonic() < until, f"never came true: {fact.__doc__ or fact.__name__}"
        assert operator is None or operator.poll() is None, "the operator ended"
        time.sleep(0.05)


def kettle():
    return custom.get_namespaced_custom_object(*kettles, "tea")


def recipe():
    return core.read_namespaced_config_map("recipe-tea", namespace)


def gone(read):
    try:
        read()
        return False
    except ApiException as error:
        return error.status == 404


operator = None
client.ApiextensionsV1Api().create_custom_resource_definition(DEFINITION)
core.create_namespace(client.V1Namespace(metadata=client.V1ObjectMeta(name=namespace)))
eventually(lambda: custom.list_namespaced_custom_object(*kettles)["kind"] == "KettleList")

script = pathlib.Path(__file__).with_name("kettle_operator.py")
command = [sys.executable, "-B", "-m", "kopf", "run", "--standalone", "-n", namespace, str(script)]
operator = subprocess.Popen(command)
try:
    body = {"apiVersion": "story.example.com/v1", "kind": "Kettle", "metadata": {"name": "tea"}, "spec": {"water": 2}}
    made = custom.create_namespaced_custom_object(*kettles, body)

    owner = eventually(recipe).metadata.owner_references[0]
    assert (owner.kind, owner.uid, owner.controller) == ("Kettle", made["metadata"]["uid"], True), owner
    assert recipe().data == {"water": "2"}
    warm = eventually(lambda: kettle() if kettle().get("status", {}).get("heat") == 3 else None)
    assert warm["metadata"]["finalizers"] == ["story.example.com/kettle"], warm["metadata"]
    assert eventually(lambda: kettle()["status"].get("brew")) == {"cups": 2}
    assert kettle()["metadata"]["generation"] == 1, "a status moves no generation"
    print("created and warmed", flush=True)

    custom.patch_namespaced_custom_object(*kettles, "tea", {"spec": {"water": 5}})
    eventually(lambda: recipe().data == {"water": "5", "before": "2"})
    assert kettle()["metadata"]["generation"] == 2
    print("updated", flush=True)

    def events():
        found = core.list_namespaced_event(namespace, field_selector="involvedObject.name=tea").items
        return {(event.reason, event.message) for event in found}

    eventually(lambda: ("Filled", "2 cups of water") in events())
    eventually(lambda: any("brew" in message and "succeeded" in message for _, message in events()))
    print("told by events", flush=True)

    custom.delete_namespaced_custom_object(*kettles, "tea")
    eventually(lambda: core.read_namespaced_config_map("farewell-tea", namespace))
    eventually(lambda: gone(kettle))
    eventually(lambda: gone(recipe))
    print("deleted, and the recipe with it", flush=True)
finally:
    operator.terminate()
    code = operator.wait(timeout=20)
assert code == 0, f"the operator ended with {code}"
