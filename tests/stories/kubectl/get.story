# kubectl get, in every form it knows.

$ kubectl create namespace shop
namespace/shop created

$ kubectl -n shop create configmap settings --from-literal=color=blue --from-literal=size=3
> kubectl -n shop create secret generic door --from-literal=code=1234
> kubectl -n shop create service clusterip web --tcp=80:8080
> kubectl -n shop label configmap settings tier=front
configmap/settings created
secret/door created
service/web created
configmap/settings labeled

$ kubectl get namespace shop
NAME   STATUS   AGE
shop   Active   <age>

$ kubectl get namespace shop --show-labels
NAME   STATUS   AGE   LABELS
shop   Active   <age>   kubernetes.io/metadata.name=shop

$ kubectl -n shop get configmap settings
NAME   DATA   AGE
settings   2   <age>

$ kubectl -n shop get configmap/settings secret/door
NAME   DATA   AGE
configmap/settings   2   <age>

NAME   TYPE   DATA   AGE
secret/door   Opaque   1   <age>

$ kubectl -n shop get configmap settings -L tier
NAME   DATA   AGE   TIER
settings   2   <age>   front

$ kubectl -n shop get configmap settings -o wide
NAME   DATA   AGE
settings   2   <age>

$ kubectl -n shop get service web -o jsonpath='{.spec.ports[0].targetPort} {.spec.selector.app}{"\n"}'
8080 web

$ kubectl -n shop get secret door -o jsonpath='{.data.code}' | base64 -d
1234

@ kubectl >= 1.21
$ kubectl -n shop get configmap settings -o yaml
apiVersion: v1
data:
  color: blue
  size: "3"
kind: ConfigMap
metadata:
  creationTimestamp: "<time>"
  labels:
    tier: front
  name: settings
  namespace: shop
  resourceVersion: "<version>"
  uid: <uid>

@ kubectl >= 1.21
$ kubectl -n shop get configmap settings -o json
{
    "apiVersion": "v1",
    "data": {
        "color": "blue",
        "size": "3"
    },
    "kind": "ConfigMap",
    "metadata": {
        "creationTimestamp": "<time>",
        "labels": {
            "tier": "front"
        },
        "name": "settings",
        "namespace": "shop",
        "resourceVersion": "<version>",
        "uid": "<uid>"
    }
}

$ kubectl -n shop get configmap settings -o name
configmap/settings

$ kubectl -n shop get configmap settings -o custom-columns=NAME:.metadata.name,COLOR:.data.color,NONE:.data.none
NAME   COLOR   NONE
settings   blue   <none>

$ kubectl -n shop get configmap settings -o go-template='{{range $k, $v := .data}}{{$k}}={{$v}};{{end}}'
color=blue;size=3;

# Selectors, by label and by field, in one namespace and in all.

$ kubectl get namespaces -l kubernetes.io/metadata.name=shop -o name
namespace/shop

$ kubectl get namespaces -l 'kubernetes.io/metadata.name in (shop, default), !tier' -o name
namespace/default
namespace/shop

$ kubectl get configmaps -A -l tier=front
NAMESPACE   NAME   DATA   AGE
shop   settings   2   <age>

$ kubectl get namespaces --field-selector metadata.name=shop -o name
namespace/shop

$ kubectl -n shop get secrets --field-selector type=Opaque
NAME   TYPE   DATA   AGE
door   Opaque   1   <age>

$ kubectl -n shop get configmaps --field-selector data.color=blue
Error from server (BadRequest): Unable to find "/v1, Resource=configmaps" that match label selector "", field selector "data.color=blue": "data.color" is not a known field selector: only "metadata.name", "metadata.namespace"
[exit 1]

$ kubectl get --raw '/api/v1/namespaces/shop/configmaps?labelSelector=tier+in'
Error from server (BadRequest): unable to parse requirement: found '' expected: '('
[exit 1]

# Chunks are put together again, and sorting is the client's.

$ for i in 1 2 3 4 5; do kubectl -n shop create configmap page-$i --from-literal=n=$i -o name; done
configmap/page-1
configmap/page-2
configmap/page-3
configmap/page-4
configmap/page-5

$ kubectl -n shop get configmaps -l tier!=front --chunk-size=2 -o name | grep page
configmap/page-1
configmap/page-2
configmap/page-3
configmap/page-4
configmap/page-5

$ kubectl -n shop get configmaps --sort-by=.data.n -o name | tail -5
configmap/page-1
configmap/page-2
configmap/page-3
configmap/page-4
configmap/page-5

# What is not there.

$ kubectl -n shop get pods
No resources found in shop namespace.

$ kubectl -n shop get configmap nothing
Error from server (NotFound): configmaps "nothing" not found
[exit 1]

$ kubectl -n shop get configmap nothing --ignore-not-found

$ kubectl get gadgets
error: the server doesn't have a resource type "gadgets"
[exit 1]

$ kubectl -n nowhere get configmaps
No resources found in nowhere namespace.

$ kubectl get --raw /healthz
ok

$ kubectl get --raw /api/v1/namespaces/shop/configmaps/nothing
Error from server (NotFound): configmaps "nothing" not found
[exit 1]

$ kubectl get --raw /apis/none.example.com/v1
Error from server (NotFound): the server could not find the requested resource
[exit 1]
