"""A small operator: every Kettle has a ConfigMap with its recipe, warms up by a timer, and says farewell."""

import kopf
import kubernetes

KETTLES = ("story.example.com", "v1", "kettles")


@kopf.on.startup()
def configure(settings, **_):
    kubernetes.config.load_kube_config()
    settings.posting.loggers = True
    settings.persistence.finalizer = "story.example.com/kettle"


@kopf.on.create(*KETTLES)
def brew(spec, name, namespace, body, **_):
    recipe = {"metadata": {"name": f"recipe-{name}"}, "data": {"water": str(spec["water"])}}
    kopf.adopt(recipe)
    kubernetes.client.CoreV1Api().create_namespaced_config_map(namespace, recipe)
    kopf.info(body, reason="Filled", message=f"{spec['water']} cups of water")
    return {"cups": spec["water"]}


@kopf.on.update(*KETTLES, field="spec.water")
def refill(old, new, name, namespace, **_):
    patch = {"data": {"water": str(new), "before": str(old)}}
    kubernetes.client.CoreV1Api().patch_namespaced_config_map(f"recipe-{name}", namespace, patch)


@kopf.on.delete(*KETTLES)
def pour_out(name, namespace, **_):
    farewell = {"metadata": {"name": f"farewell-{name}"}}
    kubernetes.client.CoreV1Api().create_namespaced_config_map(namespace, farewell)


@kopf.timer(*KETTLES, interval=0.2)
def warm(status, patch, **_):
    heat = status.get("heat", 0)
    if heat < 3:
        patch.status["heat"] = heat + 1
